"""Entities in a question: their names are found word by word, and records related to them boosted.

A name counts only if all its words are adjacent in the question; so "go" is not in "google". Each
record is boosted by its best relation to a named entity, not by the sum of them, so a record that
is related to everything has no advantage.

Spec: memory 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np
from pyroaring import BitMap

from ibidem.index.analysis import UNICODE, analyse
from ibidem.retrieve.protocol import Snapshot
from ibidem.retrieve.records.record import RecordType

WINDOW_MAX = 8
"""The number of words of the longest name that is found."""
RELATIONS_MAX = 10_000
"""The most relations of one entity that are followed, those of the smallest ids."""
CANONICAL, ALIAS, MENTION = 100, 75, 30
RELATED_CANONICAL, RELATED_ALIAS = 60, 45
PREDICATES: Mapping[str, int] = MappingProxyType(
    {
        "mentions_entity": 20,
        "mentioned_in": 20,
        "subject_entity": 25,
        "object_entity": 25,
        "fact_subject_of": 25,
        "fact_object_of": 25,
        "supports": 10,
        "supported_by": 10,
        "depends_on": 10,
        "dependency_of": 10,
    }
)
"""The boost of each type of relation."""


def entity_boosts(
    snapshot: Snapshot, text: str, eligible: BitMap, at: int | None
) -> dict[int, int]:
    """Returns by ordinal the boost of every eligible node that the names in a text lead to.

    Args:
        snapshot: as the caller sees it, so hidden names are not found.
        text: the question.
        eligible: the nodes that may be returned; entities need not be among them.
        at: only relations that hold at this microsecond count; None for all.
    """
    boosts: dict[int, int] = {}

    def boost(ordinal: int, value: int) -> None:
        if ordinal in eligible:
            boosts[ordinal] = max(boosts.get(ordinal, 0), value)

    entities = snapshot.live & snapshot.label(RecordType.ENTITY)
    for window in windows(text):
        for prop, own, related in (
            ("names", CANONICAL, RELATED_CANONICAL),
            ("aliases", ALIAS, RELATED_ALIAS),
        ):
            for ordinal in snapshot.equal(prop, window) & entities:
                boost(ordinal, own)
                for other, etype in _relations(snapshot, ordinal, at):
                    boost(other, related + PREDICATES.get(etype, 0))
        for ordinal in snapshot.equal("mentions", window) & eligible:
            boost(ordinal, MENTION)
    return boosts


def windows(text: str) -> list[str]:
    """Returns every run of up to WINDOW_MAX words, longest first, without repeats."""
    words = analyse(text, UNICODE)
    found = {
        " ".join(words[start : start + size]): None
        for size in range(min(WINDOW_MAX, len(words)), 0, -1)
        for start in range(len(words) - size + 1)
    }
    return list(found)


def _relations(snapshot: Snapshot, ordinal: int, at: int | None) -> Iterator[tuple[int, str]]:
    """Yields (other end, type) of the relations of an entity that hold, in both directions, by the
    other's id."""
    for edges in (snapshot.outgoing(ordinal, at=at), snapshot.incoming(ordinal, at=at)):
        others = np.asarray(edges.neighbours)
        ids = snapshot.node_ids(others).tobytes()
        order = sorted(range(len(others)), key=lambda i: ids[16 * i : 16 * i + 16])
        for index in order[:RELATIONS_MAX]:
            yield int(others[index]), edges.etypes[index]
