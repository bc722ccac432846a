"""A node that has to be forgotten, and where its bytes would be found."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ibidem.objects.ids import NodeId
from ibidem.repo.repository import Repository

from .conftest import SECRET


def add_secret(repo: Repository, *, key: str = "secret") -> NodeId:
    with repo.transaction(author="ada", message="told") as tx:
        found = tx.add_node(
            "Doc",
            summary=f"about {SECRET}",
            context_sentence=SECRET,
            content=(SECRET * 400).encode(),
            props={"where": [SECRET, {"deep": SECRET}]},
            key=key,
        )
        other = tx.add_node("Doc", summary="harmless", key="harmless")
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
