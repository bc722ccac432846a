"""One fact without ceremony: `repo.add("Ada prefers tea")`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ibidem.repo.argument_checks import check_text
from ibidem.repo.transaction.writing import writing
from ibidem.retrieve.records.record import RecordType

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.repo.repository import Repository
    from ibidem.repo.transaction.transaction import Transaction


def add(
    target: Repository | Transaction,
    text: str,
    *,
    label: str = RecordType.SEMANTIC,
    props: Mapping[str, Any] | None = None,
    time: int | datetime | None = None,
    author: str = "",
    message: str = "",
) -> NodeId:
    """Adds one fact and returns its id, which follows from the fact: the same one twice is one.

    A fact of a restricted viewer gets an id of its own, because a shared one would tell whether
    somebody else has added it.

    Args:
        text: the fact.
        label: its node type; `Semantic` makes it a record, which `repo.records` finds.
        props: its properties.
        time: when it was so, as its property `time`; without one, records count from the commit.
            The same text at another time is another fact.
        author: of the commit, as is `message`.
    """
    check_text("text", text)
    fields = dict(props or {})
    if time is not None:
        fields["time"] = target.now(time)
    with writing(target, author=author, message=message or "add a fact") as tx:
        return tx.add_node(str(check_text("label", label)), summary=text, props=fields)
