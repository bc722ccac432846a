"""Recall that learns and explains: wider questions, factors from time and opinions, direct answers.

Pure functions, each a stage of its own that a query asks for by name and a receipt repeats.
"""
