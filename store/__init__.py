"""Bytes by CID, and named cells swapped by compare-and-swap. Knows nothing of graphs."""
