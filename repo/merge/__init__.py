"""Merging: the three-way merge of roots, the merge base of two commits, and operations built on
them.

Spec: merge.
"""

from ibidem.repo.merge.base import common_root
from ibidem.repo.merge.three_way import merge_roots, merge_to_commit

__all__ = ["common_root", "merge_roots", "merge_to_commit"]
