"""Several processes that answer one question together, each with some segments of the index."""
