"""Runs of agents: recorded step by step, replayed, compared, copied."""
