"""Erasing: finding every copy of a node, destroying it, and keeping it from coming back."""
