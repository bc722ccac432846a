"""Signatures of commits: keys, trust, and what must be signed."""
