"""Options that several commands take, and what they mean to the library."""
