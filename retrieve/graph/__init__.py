"""What walks edges: decay, personalised PageRank, communities, and paths."""
