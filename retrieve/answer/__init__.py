"""What a retrieval returns: items, drops, warnings, receipt and explanation."""
