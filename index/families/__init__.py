"""Row families: nodes, edges, vectors and ordinals, and how each of them grows."""
