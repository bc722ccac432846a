"""Immutable values, identifiers, their canonical bytes and the trees that hold them."""
