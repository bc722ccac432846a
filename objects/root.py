"""Roots: the state of the graph and nothing else.

No time, no author: the same facts give the same root whatever the order of writing.

Spec: format 5.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from ibidem.objects.block import Block, block_of, empty
from ibidem.objects.cid import RootCid, TreeCid
from ibidem.objects.fields import ROOT


@block_of(ROOT)
class Root(Block):
    """The trees of one state: from ids to blocks of the kind that the field names."""

    CID: ClassVar[type[RootCid]] = RootCid

    nodes: TreeCid
    edges: TreeCid
    tombstones: TreeCid
    conflicts: TreeCid
    vectors: Mapping[str, TreeCid] = field(default_factory=empty)
    """Model name to tree; a tree that is empty is left out by whoever makes the root."""
    sparse: Mapping[str, TreeCid] = field(default_factory=empty)
    """Vocabulary name to tree, likewise."""
    config: Mapping[str, Any] = field(default_factory=empty)
    """What an answer depends on; `config.Config` reads it."""
    requires: tuple[str, ...] = ()
    """Features without which the root must not be read, ascending."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    @property
    def cid(self) -> RootCid:
        """The identity of the state: the hash of its bytes."""
        return RootCid.of(self.encode())
