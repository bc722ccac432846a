"""Memory for people and agents, on top of a repository: conversation, trust, salience, recall."""
