"""A node that has to be forgotten, and where its bytes would be found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ibidem.objects import fields
from ibidem.objects.child import Child
from ibidem.objects.derive import node_id
from ibidem.objects.ids import NodeId
from ibidem.objects.table import Type
from ibidem.repo.repository import Repository

from .conftest import SECRET

_HARMLESS = node_id("", "harmless")
_SAYING: dict[Type, Callable[[str], Any]] = {
    fields.TEXT: lambda text: text,
    fields.CONTENT: lambda text: text.encode(),
    fields.MAP: lambda text: {"where": [text, {"deep": text}]},
    fields.CHILDREN: lambda text: (Child(_HARMLESS, text, len("harmless"), 0),),
    fields.KEY: lambda text: text,
}
"""What says a text in a field of each type, as `Transaction.add_node` takes it; the type of a new
field that may hold words belongs here."""


def said_in_fields(text: str) -> dict[str, Any]:
    """Returns, for each field of a node that may hold words, a value that says a text."""
    return {one.name: _SAYING[one.type](text) for one in fields.NODE.fields if one.text}


def add_secret(repo: Repository, *, key: str = "secret") -> NodeId:
    with repo.transaction(author="ada", message="told") as tx:
        other = tx.add_node("Doc", summary="harmless", key="harmless")
        found = tx.add_node(
            "Doc",
            **said_in_fields(SECRET) | {"content": (SECRET * 400).encode(), "key": key},
        )
        tx.add_edge(other, "cites", found, props={"quote": f"{SECRET} too"})
        tx.set_vector(found, model="m", vector=np.full(4, 0.123456789, np.float32))
        tx.set_vector(other, model="m", vector=np.ones(4, np.float32))
        tx.set_sparse(found, vocab="v", indices=[77_777], weights=[0.987654321])
    return found


def places_of(folder: Path, *needles: bytes) -> list[str]:
    """Returns the files that hold one of the needles, in whatever case."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(needle in path.read_bytes().lower() for needle in needles)
    ]


NEEDLES = (
    SECRET.encode().lower(),
    b"nobody",  # a term in postings
    np.full(4, 0.123456789, "<f4").tobytes(),
    np.array([77_777], "<u4").tobytes(),
)
