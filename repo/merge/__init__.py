"""Merging: the three-way merge of roots, the merge base of two commits, and operations built on
them.

Spec: merge.
"""
