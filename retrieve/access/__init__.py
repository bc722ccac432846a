"""Access: which nodes of a root a caller may know of, decided before any lane ranks."""
