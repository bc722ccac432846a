"""All records of a revision, visible or not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.repo.retrieval.records import TIME
from ibidem.retrieve.access.policy import ALL
from ibidem.retrieve.records.record import LAYERS, Record, record_policy

if TYPE_CHECKING:
    from ibidem.repo.revision import Revision


@record
class Records:
    """The records of one revision."""

    found: tuple[Record, ...]
    """By id."""
    unreadable: Mapping[NodeId, str]
    """Nodes with the type of a record that are invalid, by id, with the reason."""
    time: int | None
    """The time of the commit, used for records without a time; None without a commit."""


def read_records(revision: Revision) -> Records:
    """Returns all records of a revision, and the invalid nodes of their types."""
    whole = revision.seen_by(ALL)
    policy = record_policy(whole.config)
    found: list[Record] = []
    unreadable: dict[NodeId, str] = {}
    for node in whole.query(label=[str(one) for one in LAYERS]):
        try:
            found.append(Record.of(node, policy))
        except InvalidInputError as error:
            unreadable[node.id] = str(error)
    return Records(tuple(found), MappingProxyType(unreadable), whole.newest(TIME))
