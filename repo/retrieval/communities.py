"""The communities of a revision as its caller sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from ibidem.objects import codec
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.repo.argument_checks import check_ids
from ibidem.retrieve.access.restricted_snapshot import batch_loader, loader
from ibidem.retrieve.filter import view_of
from ibidem.retrieve.graph.leiden import Resolution
from ibidem.retrieve.graph.partition import VERSION, Communities, partition, texts_of
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.query import checks

if TYPE_CHECKING:
    from ibidem.index.snapshot import Snapshot
    from ibidem.repo.graph import Graph
    from ibidem.retrieve.access.policy import Viewer

_CACHE = ("communities",)
_NAME_DIGITS = 32


def communities(
    revision: Graph,
    *,
    resolution: Any,
    levels: int,
    groups: Mapping[str, Iterable[NodeId | str]] | None,
) -> Communities:
    """Returns the communities of a graph as its caller sees it. They are kept beside the index of
    the root, and the last ones with the snapshot in memory."""
    core, fraction = revision.core, _resolution(resolution)
    given = None if groups is None else _checked(groups)

    def found(snapshot: Snapshot) -> Communities:
        key = fraction, levels
        cached: dict[Any, Communities] = snapshot.cache.setdefault(_CACHE, {})
        is_before_erasure = revision.generation != core.receipts.generation()
        if given is None and key in cached and not is_before_erasure:
            return cached[key]
        get, get_many = core.store.get, core.store.get_many
        view = view_of(snapshot, include_tombstoned=False)
        source = NodeSource(
            loader(snapshot, lambda cid: Node.decode(get(cid))),
            core.content_of,
            load_many=batch_loader(snapshot, lambda cids: list(map(Node.decode, get_many(cids)))),
        )
        if given is not None:
            return partition(view, source, resolution=fraction, levels=levels, groups=given)
        index, name = core.search_index.current, _name(revision.viewer, fraction, levels)
        data = index.derived(snapshot.root, name)
        if data is not None:
            made = Communities.decode(data, texts_of(view, source))
        else:
            made = partition(view, source, resolution=fraction, levels=levels)
            core.search_index.remember_derived(index, snapshot.root, name, made.encode())
        cached.clear()
        cached[key] = made
        return made

    graph = revision.seen_by(revision.viewer)
    return graph.with_snapshot(found)


def _name(viewer: Viewer | None, resolution: Resolution, levels: int) -> str:
    """Returns the name of what depends on these besides the root."""
    caller = None if viewer is None else viewer.form()
    parts = [VERSION, caller, resolution.numerator, resolution.denominator, levels]
    return blake3(codec.encode(parts)).hexdigest()[:_NAME_DIGITS]


def _checked(groups: object) -> dict[str, list[NodeId]]:
    if not isinstance(groups, Mapping):
        raise InvalidInputError(f"groups: got {groups!r:.80}, expected ids by name")
    return {checks.name("groups", name): check_ids("groups", ids) for name, ids in groups.items()}


def _resolution(given: Any) -> Resolution:
    try:
        found = Fraction(str(given) if isinstance(given, float) else given)
        if isinstance(given, bool):
            raise TypeError
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise InvalidInputError(
            f'resolution: got {given!r:.80}, expected a number above 0, such as 1 or "3/2"'
        ) from None
    return Resolution(found.numerator, found.denominator)
