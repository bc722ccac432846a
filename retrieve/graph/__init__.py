"""The lanes that walk edges: decay, personalised PageRank, communities."""
