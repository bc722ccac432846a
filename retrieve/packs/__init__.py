"""Packs: hits with what stands around them, no node twice, ready to be read or quoted."""
