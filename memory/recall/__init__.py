"""Recall for agents: the last answer of a session, feedback on answers, and learnt procedures."""
