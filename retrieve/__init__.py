"""A pure function from a snapshot and a resolved query to a result. Spec: retrieval."""
