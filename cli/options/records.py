"""The options of a record, and the output of a change, shared by the commands of `repo memory`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ibidem.cli.options.ids import node_at
from ibidem.cli.render import output
from ibidem.cli.session import Session, parse_level

if TYPE_CHECKING:
    from ibidem.memory.graph.memory import GraphMemory
    from ibidem.objects.ids import NodeId
    from ibidem.repo.repository import Repository
    from ibidem.retrieve.records.record import Record

    Named = Callable[[str], NodeId]
    """Resolves an id or prefix to a record."""

Function = TypeVar("Function", bound=Callable[..., Any])
TYPES = ("Working", "Entity", "Semantic", "Competence", "PlanGraph", "Episodic")
_RECORD = (
    click.option(
        "--type",
        "type_",
        type=click.Choice(TYPES),
        default="Semantic",
        show_default=True,
        help="Type of the record.",
    ),
    click.option("--scope", default="", help="Scope of the record [default: none]."),
    click.option("--level", default="low", show_default=True, help="Sensitivity level."),
    click.option("--confidence", type=float, metavar="SHARE", help="Confidence, from 0 to 1."),
    click.option("--name", "names", multiple=True, help="Name of an entity; repeat for aliases."),
    click.option(
        "--from",
        "sources",
        multiple=True,
        metavar="KIND=REF",
        help="Source of the record, such as observation=URL; may be repeated.",
    ),
)


def record_options(function: Function) -> Function:
    """Adds the options of a record, passed on for `record_of`."""
    for option in reversed(_RECORD):
        function = option(function)
    return function


def memory_of(session: Session, repository: Repository, author: str | None) -> GraphMemory:
    """Returns the memory of a repository, signed by its author."""
    from ibidem.memory.graph.memory import GraphMemory

    return GraphMemory(repository, author=session.author(author))


def revised(
    session: Session,
    author: str | None,
    operation: str,
    change: Callable[[GraphMemory, Named], list[NodeId]],
) -> None:
    """Makes a change and shows the affected records."""
    with session.open() as repository:
        memory = memory_of(session, repository, author)
        named = partial(node_at, session, repository)
        changed(session, repository, operation, change(memory, named))


def changed(
    session: Session, repository: Repository, operation: str, records: list[NodeId]
) -> None:
    """Shows the records affected by a change."""
    head = repository.head
    if session.json:
        commit = None if head is None else str(head)
        body = {"operation": operation, "records": [str(one) for one in records], "commit": commit}
        output.emit("memory", body)
    else:
        output.say(*(str(one) for one in records))
        output.note(f"{operation}: {output.plural(len(records), 'record')}")


def noted(
    session: Session, author: str | None, record: str, say: Callable[[Any, NodeId, str], Any]
) -> None:
    """Writes a note on a record, and shows the new head of the notes."""
    who = session.author(author)
    with session.open() as repository:
        about = node_at(session, repository, record)
        head = say(memory_of(session, repository, author).notes, about, who)
    if session.json:
        output.emit("memory-note", {"notes": str(head)})
    else:
        output.say(f"noted; the notes are at {head}")


def record_of(
    text: str,
    *,
    type_: str,
    scope: str,
    level: str,
    confidence: float | None,
    names: tuple[str, ...],
    sources: tuple[str, ...],
) -> Record:
    """Returns the record that the options describe."""
    from ibidem.retrieve.records.record import Record, RecordType

    payload: dict[str, Any] = {}
    if names:
        payload = {"canonical_name": names[0], "aliases": list(names[1:])}
    given: dict[str, Any] = {} if confidence is None else {"confidence": confidence}
    return Record(
        type=RecordType(type_),
        text=text,
        scope=scope,
        level=parse_level(level),  # type: ignore[arg-type]
        payload=payload,
        provenance=[
            {"kind": kind, "ref": ref} for kind, ref in pairs_of("--from", sources, "KIND=REF")
        ],
        **given,
    )


def pairs_of(flag: str, texts: Iterable[str], form: str) -> list[tuple[str, str]]:
    """Returns the halves of the values of a flag, such as NAME=VALUE; `form` is what the help calls
    them."""
    found = []
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name or not value:
            raise click.UsageError(f"{flag}: got {text!r}, expected {form}")
        found.append((name, value))
    return found
