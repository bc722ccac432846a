"""The dense lane: exact nearest vectors, found by scans of codes with proven bounds."""
