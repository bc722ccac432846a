"""The report of an ingest: counts, and everything that was skipped, failed or needs a warning."""

from __future__ import annotations

from dataclasses import field

from ibidem.objects.record import record


@record(frozen=False)
class IngestReport:
    """Filled while ingest runs. A path is the document's name in the repository if it has one."""

    documents_added: int = 0
    documents_changed: int = 0
    documents_unchanged: int = 0
    documents_removed: int = 0
    nodes_added: int = 0
    nodes_changed: int = 0
    nodes_removed: int = 0
    edges: int = 0
    """Edges that JSON lines stated, new or not."""
    vectors: int = 0
    """Vectors that JSON lines stated, new or not."""
    tombstones: int = 0
    """Tombstones that JSON lines stated, new or not."""
    deleted: list[str] = field(default_factory=list)
    """Documents that were removed because their file is gone."""
    renamed: list[tuple[str, str]] = field(default_factory=list)
    """(before, after): documents whose file has another path now."""
    missing: list[str] = field(default_factory=list)
    """Documents that were kept although their file is gone."""
    behind: list[str] = field(default_factory=list)
    """Documents that were changed in the graph since their file was, and were left alone."""
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """(path, reason), in the order of the walk."""
    errors: list[tuple[str, str]] = field(default_factory=list)
    """(path, error); for JSON lines, the error begins with the line number."""
    warnings: list[tuple[str, str]] = field(default_factory=list)
    """(path, warning)."""


@record
class Progress:
    """Given to `progress` after each file. Standard input counts as a file of 0 bytes."""

    path: str
    files_done: int
    files_count: int
    bytes_done: int
    bytes_count: int
