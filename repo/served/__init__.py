"""A repository behind a server, with the methods of one that is here."""
