"""Snapshots of roots, built of immutable segments; derived data that may be deleted at any time."""
