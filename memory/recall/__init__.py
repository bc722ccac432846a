"""Recall as a habit: what was asked last, what was useful, which steps worked before."""
