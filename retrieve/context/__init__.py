"""Context for a hit: what stands around it, no node twice, as packs and prompts."""
