"""Prolly trees: sorted maps from fixed-width keys to CIDs, in blocks.

The tree depends only on the set of its entries, not on the order of writing, the history of edits
or the process. An edit rewrites the path to it and little else, whatever the keys are.

Spec: format 6.
"""

from ibidem.objects.tree.block import EMPTY_TREE, EMPTY_TREE_BLOCK
from ibidem.objects.tree.build import build, build_arrays
from ibidem.objects.tree.diff import Change, diff
from ibidem.objects.tree.merge import Resolve, merge
from ibidem.objects.tree.mutate import mutate
from ibidem.objects.tree.read import Tree
from ibidem.objects.tree.verify import verify

__all__ = [
    "EMPTY_TREE",
    "EMPTY_TREE_BLOCK",
    "Change",
    "Resolve",
    "Tree",
    "build",
    "build_arrays",
    "diff",
    "merge",
    "mutate",
    "verify",
]
