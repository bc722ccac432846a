"""Context for a hit: the text around it, no node twice, as packs and prompts."""
