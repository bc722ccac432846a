"""Keeping a repository whole and small: checking every byte, collecting garbage, erasing."""
