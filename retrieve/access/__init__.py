"""Access control: which nodes of a root are visible to a caller, decided before any lane ranks."""
