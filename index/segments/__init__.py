"""Immutable segments: columns in one file, how they are kept, read and merged."""
