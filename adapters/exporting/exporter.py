"""Writes the graph of a revision to a file of another format."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ibidem import InvalidInputError
from ibidem.adapters.exporting.records import Graph

if TYPE_CHECKING:
    from ibidem import Repository, RootCid, Viewer, ViewerRepository

_WRITERS: Mapping[str, str] = {
    "ndjson": "ndjson",
    "parquet": "parquet",
    "graphml": "graphml",
    "jsonld": "jsonld",
}
FORMATS = tuple(_WRITERS)
"""The names of all formats."""
_BY_SUFFIX = {
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".parquet": "parquet",
    ".graphml": "graphml",
    ".jsonld": "jsonld",
}


@dataclass(frozen=True)
class ExportReport:
    """What was written."""

    format: str
    root: RootCid
    """The root whose graph it is."""
    node_count: int = 0
    edge_count: int = 0
    vector_count: int = 0
    tombstone_count: int = 0
    omitted: Mapping[str, int] = field(default_factory=dict)
    """By reason, how much of the graph was not written."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as plain data."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            **found,
            "root": str(self.root),
            "omitted": [{"reason": one, "count": count} for one, count in self.omitted.items()],
        }


def export(
    repository: Repository | ViewerRepository,
    target: str | os.PathLike[str] | IO[bytes],
    *,
    format: str | None = None,  # noqa: A002
    at: object = "HEAD",
    label: str | None = None,
    include_tombstoned: bool = False,
    viewer: Viewer | None = None,
) -> ExportReport:
    """Writes the graph of a revision, without its history, to a new file; the same root gives the
    same bytes.

    Args:
        target: the path of the file, for parquet of a folder; or a file open for writing bytes.
        format: one of `adapters.exporting.exporter.FORMATS`; by default by the path's suffix.
        at: the revision.
        label: only nodes of this type, and the edges between them.
        include_tombstoned: also writes what was forgotten, with its tombstones, if the format has
            these.
        viewer: only what this caller may see; required if the revision has a trust policy.

    Raises:
        InvalidInputError: the file exists already, or there is no such format; kind
            `missing-package`.
    """
    name = _format_of(target, format)
    module = import_module(f"ibidem.adapters.exporting.{_WRITERS[name]}")
    write: Callable[[Graph, Any], None] = module.write
    graph = Graph(repository.at(at, viewer=viewer), include_tombstoned, label)
    with (_new_folder if getattr(module, "IS_FOLDER", False) else _new)(target) as opened:
        write(graph, opened)
    counts = graph.counts
    return ExportReport(
        name,
        graph.revision.root_cid,
        counts["nodes"],
        counts["edges"],
        counts["vectors"],
        counts["tombstones"],
        dict(sorted(graph.omitted.items())),
    )


def format_of(path: str | os.PathLike[str]) -> str | None:
    """Returns the format that a path's suffix names, None for none."""
    return _BY_SUFFIX.get(Path(path).suffix.lower())


def _format_of(target: object, name: str | None) -> str:
    if name is None and isinstance(target, str | os.PathLike):
        name = format_of(target)
    if name is None or name not in _WRITERS:
        raise InvalidInputError(
            f"format: got {name!r:.80}, expected one of {', '.join(FORMATS)}",
            hint="car, with the history, is written by repo.sync.export, and by 'repo export'",
        )
    return name


@contextmanager
def _new_folder(target: str | os.PathLike[str] | IO[bytes]) -> Iterator[Path]:
    """Yields a folder that gets its name once it is complete."""
    if not isinstance(target, str | os.PathLike):
        raise InvalidInputError("file: got a stream, expected the path of a folder")
    path = Path(target)
    if path.exists():
        raise InvalidInputError(
            f"file: {path} exists already", hint="choose another name, or remove it"
        )
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
        inner = Path(folder) / path.name
        inner.mkdir()
        yield inner
        inner.rename(path)


@contextmanager
def _new(target: str | os.PathLike[str] | IO[bytes]) -> Iterator[Any]:
    """Yields what a writer writes to: an open file, which is removed after an error."""
    if not isinstance(target, str | os.PathLike):
        yield target
        return
    path = Path(target)
    try:
        stream = path.open("xb")
    except FileExistsError as error:
        raise InvalidInputError(
            f"file: {path} exists already", hint="choose another name, or remove it"
        ) from error
    try:
        with stream:
            yield stream
    except BaseException:
        path.unlink(missing_ok=True)
        raise
