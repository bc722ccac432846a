"""The formats that are read: how each is recognised, and where its reader is.

A reader is imported when it is needed, and its library only by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import cast

from ibidem import IbidemError, InvalidInputError, NotFoundError
from ibidem.adapters.importing import redb
from ibidem.adapters.importing.json_stream import elements, is_archive
from ibidem.adapters.importing.source import Reader, Source, located

_READERS: Mapping[str, str] = {
    "ndjson": "ndjson",
    "chatgpt": "chatgpt",
    "claude": "claude",
    "mem0": "mem0",
    "mnem": "mnem",
    "parquet": "parquet",
    "chroma": "chroma",
    "lancedb": "lancedb",
    "qdrant": "qdrant",
    "graphml": "graphml",
    "rdf": "rdf",
}
FORMATS = tuple(_READERS)
"""The names of all formats."""
BUNDLE = "car"
"""The name of the files of `repo.sync.export`, which have a reader of their own."""
_HEAD_BYTES = 512
_BY_SUFFIX = {
    **dict.fromkeys((".ndjson", ".jsonl"), "ndjson"),
    **dict.fromkeys((".ttl", ".nt", ".nq", ".trig", ".jsonld"), "rdf"),
    ".graphml": "graphml",
}
_CAR_ROOT = b"\xd8\x2a\x58\x25\x00\x01\x71"
"""How the link to a DAG-CBOR block begins; the code of its hash function follows."""
_SHA2_256 = b"\x12"
"""Our own links have BLAKE3."""


def reader_of(name: str) -> Reader:
    """Returns the reader of a format.

    Raises:
        InvalidInputError: there is no such format.
    """
    if name == BUNDLE:
        raise InvalidInputError(
            "format: got a file of `repo export` with its history, expected another format",
            hint="repo.sync.load reads it",
        )
    if name not in _READERS:
        raise InvalidInputError(
            f"format: got {name!r:.80}, expected one of {', '.join(FORMATS)}",
            hint="car, with the history, is read by repo.sync.load, and by 'repo import'",
        )
    module = import_module(f"ibidem.adapters.importing.{_READERS[name]}")
    return cast("Reader", module.read)


def detect(path: Path) -> str:
    """Returns the format of a file or folder, by its content and then by its name.

    Raises:
        NotFoundError: there is none.
        InvalidInputError: it is of no known format.
    """
    if not path.exists():
        raise NotFoundError(f"{path}: there is no such file")
    try:
        found = _of_folder(path) if path.is_dir() else _of_file(path)
    except IbidemError as error:
        raise located(path, error) from error
    if found is None:
        raise InvalidInputError(
            f"{path}: got an unknown format, expected one of {', '.join((BUNDLE, *FORMATS))}",
            hint="name it: format=, or --format",
        )
    return found


def _of_folder(path: Path) -> str | None:
    names = {one.name for one in path.iterdir()}
    if "chroma.sqlite3" in names:
        return "chroma"
    if {"meta.json", "collection"} <= names:
        return "qdrant"
    if path.suffix == ".lance" or any(name.endswith(".lance") for name in names):
        return "lancedb"
    if any(name.endswith(".parquet") for name in names):
        return "parquet"
    return None


def _of_file(path: Path) -> str | None:
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    if head.startswith(redb.MAGIC):
        return "mnem"
    if head.startswith((b"PAR1", b"ARROW1")):
        return "parquet"
    link = head.find(_CAR_ROOT)
    if link >= 0:
        return (
            "mnem"
            if head[link + len(_CAR_ROOT) : link + len(_CAR_ROOT) + 1] == _SHA2_256
            else BUNDLE
        )
    if b"<graphml" in head:
        return "graphml"
    suffix = path.suffix.lower()
    if suffix == ".json" or is_archive(head):
        return _of_json(Source(path))
    return _BY_SUFFIX.get(suffix)


def _of_json(source: Source) -> str | None:
    """Returns the format of JSON by the first of its elements."""
    from ibidem.adapters.importing import chatgpt, claude, mem0

    for part in chatgpt.conversation_parts(source):
        for _, value in elements(source, part):
            if chatgpt.is_conversation(value):
                return "chatgpt"
            if claude.is_conversation(value):
                return "claude"
            return "mem0" if mem0.is_memory(value) else None
    return None
