"""Maintenance of a repository: checking every byte, repair, garbage collection."""
