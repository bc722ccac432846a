"""Keeping a repository whole and small: checking every byte, mending, collecting garbage."""
