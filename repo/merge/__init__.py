"""Merging: three ways over roots, the base of two commits, and what is built on the two.

Spec: merge.
"""

from ibidem.repo.merge.base import common_root
from ibidem.repo.merge.three_way import merge_roots, merge_to_commit

__all__ = ["common_root", "merge_roots", "merge_to_commit"]
