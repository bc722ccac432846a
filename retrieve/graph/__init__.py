"""Walks along edges: decay, personalised PageRank, communities, and paths."""
