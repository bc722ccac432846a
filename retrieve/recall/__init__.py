"""Recall that learns and explains: factors from time and opinions, direct answers.

Each is a pure function and a stage of its own, which a query requests by name and a receipt
replays.
"""
