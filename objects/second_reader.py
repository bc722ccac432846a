"""A second opinion on a block: `dag-cbor`, which shares no code with our codec, reads it too.

Our codec and its optional engine are tested against each other and against `dag-cbor`, but a fault
of a build, of memory or of a library that was upgraded later shows only on real blocks. Two readers
that were written independently are unlikely to make the same mistake. The package is loaded at the
first block; it is written in Python, and some fifty times slower than ours.
"""

from __future__ import annotations

from typing import Any

from ibidem.objects import codec
from ibidem.objects.cid import Cid
from ibidem.objects.errors import CorruptError


def disagreement(block: bytes) -> str | None:
    """Returns where `dag-cbor` reads or writes a DAG-CBOR block differently from our codec, None if
    nowhere.

    Args:
        block: a block that our codec reads; raw blocks have no form to disagree on.

    Raises:
        CorruptError: our codec cannot read it.

    >>> disagreement(codec.encode({"kind": "example", "link": Cid.of(b"")}))
    """
    import dag_cbor

    ours = codec.decode(block)
    try:
        theirs = dag_cbor.decode(block)
        again = dag_cbor.encode(theirs)
    except (ValueError, TypeError, KeyError, RecursionError, CorruptError) as error:
        return f"dag-cbor cannot read it: {str(error).partition(chr(10))[0]}"
    if again != block:
        return "dag-cbor writes it with other bytes"
    path = _difference(ours, theirs, "value")
    return None if path is None else f"dag-cbor reads another {path}"


def _difference(ours: Any, theirs: Any, path: str) -> str | None:
    """Returns the path of the first value that the two read differently."""
    if isinstance(ours, Cid):
        return None if type(theirs).__name__ == "CID" and bytes(theirs) == ours.raw else path
    if type(ours) is not type(theirs):
        return path
    if isinstance(ours, dict):
        if list(ours) != list(theirs):
            return f"{path}, with other keys"
        pairs = ((f"{path}.{key}", ours[key], theirs[key]) for key in ours)
    elif isinstance(ours, list):
        if len(ours) != len(theirs):
            return f"{path}, of another length"
        pairs = ((f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(ours, theirs, strict=True)))
    else:
        return None if ours == theirs else path
    found = (_difference(a, b, inner) for inner, a, b in pairs)
    return next((inner for inner in found if inner is not None), None)
