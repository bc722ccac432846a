"""Signatures of commits and erasures: keys, whom this copy trusts, and what must be signed."""
