"""A format 2 and a semantics 2 that only tests have, beside those of the program.

In format 2 a node has its summary as a list of lines. Semantics 2 damps reciprocal ranks otherwise
and has another default of `b`. Run as a program, `two.py FOLDER` replays every kept receipt of a
repository and prints what came of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import ibidem
from ibidem.objects import block
from ibidem.objects.block import block_of
from ibidem.objects.errors import CorruptError
from ibidem.objects.fields import NODE
from ibidem.objects.node import Node
from ibidem.objects.table import Table, texts_in
from ibidem.repo.repository import Repository
from ibidem.repo.transaction import transaction
from ibidem.retrieve import engine, semantics
from ibidem.retrieve.fuse import fuse
from ibidem.retrieve.query.query import Query, resolve


def _lines(owner: str, name: str, value: object) -> str:
    if type(value) is not list or not all(type(line) is str for line in value):
        raise CorruptError(f"{owner}.{name}: got {value!r:.80}, expected a list of lines")
    return "\n".join(value)


def _two() -> type[Node]:
    rows = {one.name: one for one in NODE.fields}
    lines = replace(rows["summary"].type, read=_lines, write=lambda text: text.split("\n"))
    rows["summary"] = replace(rows["summary"], type=replace(lines, texts=texts_in))
    table = Table("node", *rows.values(), version=2)

    @block_of(table)
    class Node2(Node):
        """A node of format 2."""

    return Node2


def resolve_two(config: Any, **given: Any) -> Query:
    """Resolves as version 1 does, but for the default of `b`."""
    return replace(resolve(config, **{"b": 0.25, **given}), semantics=2)


def read_two(form: dict[str, Any]) -> Query:
    """Reads the canonical form, which has the fields of version 1."""
    return replace(Query.from_form({**form, "semantics": 1}), semantics=2)


def fuse_two(tops: Any, fusion: Any) -> Any:
    """Fuses as version 1 does, but for the weight of each rank."""
    return fuse(tops, replace(fusion, k=fusion.k + 1.0))


RULES = replace(engine.RULES, resolve=resolve_two, read_query=read_two, fuse=fuse_two)


@contextmanager
def versions_two() -> Iterator[None]:
    """Registers both; afterwards the program does not know them any more."""
    made = _two()
    semantics.VERSIONS[2] = __name__
    try:
        yield
    finally:
        del semantics.VERSIONS[2]
        del block._CLASSES["node", made.TABLE.version]


@contextmanager
def writing_two() -> Iterator[None]:
    """Makes the program one that writes nodes of format 2."""
    before = transaction.Node
    transaction.Node = block.version_class("node", 2)
    try:
        yield
    finally:
        transaction.Node = before


def replayed(repo: Repository) -> dict[str, str]:
    """Returns the digest of the answer that each kept receipt gives again."""
    return {str(kept.cid): str(repo.receipts.replay(kept.cid).cid) for kept in repo.receipts.list()}


def main() -> None:
    """Prints what every kept receipt of the repository in a folder gives again."""
    with versions_two(), ibidem.open(Path(sys.argv[1])) as repo:
        print(json.dumps(replayed(repo), sort_keys=True))


if __name__ == "__main__":
    main()
