"""Merging: three ways over roots, common ancestors, and what is built on the two.

Spec: merge.
"""

from ibidem.repo.merge.ancestry import common_root, is_ancestor, merge_bases
from ibidem.repo.merge.three_way import merge_roots, merge_to_commit

__all__ = ["common_root", "is_ancestor", "merge_bases", "merge_roots", "merge_to_commit"]
