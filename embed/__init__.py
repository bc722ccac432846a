"""Text to vectors: one small protocol, an exact model that runs offline, and providers behind it.

This room does not know repositories, read the environment or use a clock; files are passed as
paths, keys as arguments.
"""
