"""Retrieval from a revision: resolves defaults, models and feedback, and records receipts."""
