"""Bytes by CID, and named cells changed by compare-and-swap. Nothing here depends on graphs."""
