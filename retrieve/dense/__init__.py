"""The dense lane: exact nearest vectors, by scans of quantised rows with proven bounds."""
