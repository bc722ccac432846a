"""A socket in front of a repository: HTTP, on this machine unless told otherwise."""
