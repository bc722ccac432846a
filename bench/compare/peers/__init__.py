"""One small adapter a peer."""
