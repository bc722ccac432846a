"""A transaction: pending changes, the change set, and publishing it as one commit."""
