"""Text to vectors: one small protocol, an exact model that runs offline, and providers behind it.

Nothing here knows a repository, reads the environment or keeps a clock; files come as paths, keys
as arguments.
"""
