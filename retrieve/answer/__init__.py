"""The result of a retrieval: items, drops, warnings, receipt and explanation."""
