"""The resolved query: its options, conditions and vectors, each in one canonical form."""
