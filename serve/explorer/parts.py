"""The parts of a document that hold its text, from a position on."""

from __future__ import annotations

from collections.abc import Iterator

from ibidem import InvalidInputError, Node, Revision, ViewerRevision

BATCH = 50
"""Parts that are read at once."""
CHARACTERS_MAX = 1000
"""Of the text of a position: a document is at most 64 levels deep."""
Position = tuple[int, ...]
"""Of a part in its document: its number in the part above, after the position of that part."""


def position_of(text: str) -> Position:
    """Returns the position that a text names; the empty one is the beginning.

    Raises:
        InvalidInputError: it is not some numbers with points between them.
    """
    parts = text.split(".") if text else []
    if len(text) > CHARACTERS_MAX or not all(one.isascii() and one.isdigit() for one in parts):
        raise InvalidInputError(f"position: got {text!r:.80}, expected numbers such as 3.17")
    return tuple(map(int, parts))


def text_parts(
    revision: Revision | ViewerRevision, top: Node, start: Position
) -> Iterator[tuple[Position, Node]]:
    """Yields the parts below a node that have a text, headings before what is below them, with
    their positions, in order from one of them on; reads neither what is before it nor further than
    asked.
    """
    first = start[0] if start else 0
    for stop in range(first + BATCH, len(top.children) + BATCH, BATCH):
        ids = [child.id for child in top.children[stop - BATCH : stop]]
        known = revision.find_nodes(ids)
        for index, id_ in enumerate(ids, stop - BATCH):
            part = known.get(id_)
            if part is None:
                continue
            inner = start[1:] if index == first else ()
            if part.summary and not inner:
                yield (index,), part
            if part.children:
                for position, leaf in text_parts(revision, part, inner):
                    yield (index, *position), leaf
