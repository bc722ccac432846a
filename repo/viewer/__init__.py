"""Restricted viewers: the table of what they may do, and the proxies that enforce it."""
