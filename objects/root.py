"""Roots: the state of the graph and nothing else.

No time, no author: the same facts give the same root whatever the order of writing.

Spec: format 5.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

from ibidem.objects.block import EMPTY, Block, Map, empty, frozen, frozen_extra, require, typed_link
from ibidem.objects.cid import RootCid, TreeCid
from ibidem.objects.constants import FORMAT_VERSION
from ibidem.objects.errors import CorruptError, FormatError
from ibidem.objects.record import record

REQUIRES_KNOWN: frozenset[str] = frozenset(("trust",))
"""Features that a root or view may require of its reader and that this program has."""

_TREES = ("nodes", "edges", "tombstones", "conflicts")
_KNOWN = frozenset((*_TREES, "vectors", "sparse", "config", "requires"))


@record(eq=False)
class Root(Block):
    """The trees of one state: from ids to blocks of the kind that the field names."""

    KIND: ClassVar[str] = "root"
    OPTIONAL: ClassVar[frozenset[str]] = frozenset(("vectors", "sparse", "config", "requires"))
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

    def __post_init__(self) -> None:
        for name in _TREES:
            value = getattr(self, name)
            require(type(value) is TreeCid, "root", name, value, "a TreeCid")
        put = object.__setattr__
        for name in ("vectors", "sparse"):
            trees = frozen("root", name, getattr(self, name))
            for model, tree in trees.items():
                require(
                    model and type(tree) is TreeCid,
                    "root",
                    name,
                    (model, tree),
                    "a name and a TreeCid",
                )
            put(self, name, trees)
        put(self, "config", frozen("root", "config", self.config))
        put(self, "requires", checked_requires("root", self.requires))
        put(self, "extra", frozen_extra(Root, _KNOWN, self.extra))

    @property
    def cid(self) -> RootCid:
        """The identity of the state: the hash of its bytes."""
        return RootCid.of(self.encode())

    def to_map(self) -> Map:
        """Returns the block as a map, in canonical order unless there is `extra`."""
        fields: Map = {
            "v": FORMAT_VERSION,
            "kind": "root",
            "edges": self.edges,
            "nodes": self.nodes,
        }
        if self.config:
            fields["config"] = dict(self.config)
        if self.sparse:
            fields["sparse"] = dict(self.sparse)
        if self.vectors:
            fields["vectors"] = dict(self.vectors)
        if self.requires:
            fields["requires"] = self.requires
        fields["conflicts"] = self.conflicts
        fields["tombstones"] = self.tombstones
        fields.update(self.extra)
        return fields

    @classmethod
    def _read(cls, fields: Map) -> Self:
        take = fields.pop
        requires = read_requires("root", take("requires", []))
        return cls(
            **{name: typed_link("root", name, take(name), TreeCid) for name in _TREES},
            vectors=_read_trees("vectors", take("vectors", {})),
            sparse=_read_trees("sparse", take("sparse", {})),
            config=take("config", EMPTY),
            requires=requires,
            extra=fields,
        )


def checked_requires(owner: str, requires: tuple[str, ...]) -> tuple[str, ...]:
    """Returns `requires` as a tuple of ascending, distinct texts, or raises `InvalidInputError`."""
    names = tuple(requires)
    valid = all(type(name) is str and name for name in names) and list(names) == sorted(set(names))
    require(valid, owner, "requires", requires, "distinct texts in ascending order")
    return names


def read_requires(owner: str, value: object) -> tuple[str, ...]:
    """Returns a decoded `requires` list.

    Raises:
        CorruptError: not a list of texts.
        FormatError: it names a feature that this program does not have.
    """
    if type(value) is not list:
        raise CorruptError(f"{owner}.requires: got {value!r:.80}, expected a list of texts")
    names = checked_requires(owner, tuple(value))
    for name in value:
        if name not in REQUIRES_KNOWN:
            raise FormatError(
                f"{owner}.requires: got {name!r:.80}, expected one of {sorted(REQUIRES_KNOWN)}",
                hint="a newer release of ibidem may read it",
            )
    return names


def _read_trees(name: str, value: object) -> dict[str, TreeCid]:
    if type(value) is not dict:
        raise CorruptError(f"root.{name}: got {value!r:.80}, expected a map of links")
    return {
        model: typed_link("root", f"{name}[{model!r:.80}]", tree, TreeCid)
        for model, tree in value.items()
    }
