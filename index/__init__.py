"""Derived and disposable: snapshots of roots, made of immutable segments."""
