"""Drafts: the nodes for a source, with their ids, before anything is written.

A document's id is derived from its path; a section's from the document, the headings above it and
its index among equal ones; a passage's from the document, the digest of its text and its index
among equal ones. No id depends on a position, so inserting text above a passage changes neither the
passage nor its id.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field

from ibidem.ingest.group import group
from ibidem.ingest.outline import Outline, Passage, Section
from ibidem.objects.child import Child
from ibidem.objects.codec import Value
from ibidem.objects.derive import node_id
from ibidem.objects.ids import NodeId
from ibidem.objects.location import DOCUMENT, PASSAGE, SECTION, size_of
from ibidem.objects.record import record
from ibidem.objects.text import text_digest

HEADER_DIGEST = "header_sha256"
"""The property of a passage that has the header of its table as context sentence."""


@record
class Draft:
    """A node that is to be written; the fields are those of `Node` that ingest owns."""

    id: NodeId
    ntype: str
    namespace: str
    key: Value
    summary: str
    props: Mapping[str, Value]
    children: tuple[Child, ...] = ()
    tail: str = ""
    header: str = ""
    """Of the table that a passage continues: its context sentence."""


def header_digest(header: str) -> str:
    """Returns the digest of a header, by which a later ingest tells it from the context sentence of
    another writer."""
    return hashlib.sha256(header.encode()).hexdigest()


def document_id(path: str) -> NodeId:
    """Returns the id of the document that is ingested under `path`."""
    return node_id(DOCUMENT, path)


def drafts(path: str, outlined: Outline, *, title: str, props: Mapping[str, Value]) -> list[Draft]:
    """Returns the nodes of one document, every child before its parent, the document last."""
    drafting = _Drafting(document_id(path))
    children = drafting.children(outlined.children, (), 0)
    document = Draft(
        drafting.document, "Document", DOCUMENT, path, title, props, children, outlined.tail
    )
    return [*drafting.made, document]


@record
class _Item:
    """A child before its parent exists: the data that the parent records about it."""

    child: Child
    level: int


@record(frozen=False)
class _Drafting:
    document: NodeId
    made: list[Draft] = field(default_factory=list)
    _passages: Counter[bytes] = field(default_factory=Counter)
    _sections: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def children(
        self, parts: Sequence[tuple[str, Passage | Section]], above: tuple[str, ...], level: int
    ) -> tuple[Child, ...]:
        items = [
            _Item(
                self._passage(lead, part)
                if isinstance(part, Passage)
                else self._section(lead, part, above),
                level,
            )
            for lead, part in parts
        ]
        return tuple(item.child for item in group(items, lambda item: item.child.id, self._join))

    def _passage(self, lead: str, part: Passage) -> Child:
        digest = text_digest(part.text)
        key: Value = [self.document.raw, digest, self._passages[digest]]
        self._passages[digest] += 1
        props: dict[str, Value] = {"format": part.format}
        if part.language is not None:
            props["language"] = part.language
        if part.targets:
            props["targets"] = list(part.targets)
        if part.header:
            props[HEADER_DIGEST] = header_digest(part.header)
        draft = Draft(
            node_id(PASSAGE, key), "Passage", PASSAGE, key, part.text, props, header=part.header
        )
        self.made.append(draft)
        return Child(draft.id, lead, *size_of(part.text))

    def _section(self, lead: str, part: Section, above: tuple[str, ...]) -> Child:
        path = (*above, part.heading)
        key: Value = [self.document.raw, list(path), self._sections[path]]
        self._sections[path] += 1
        children = self.children(part.children, path, part.level)
        return self._container(lead, key, part.heading, part.level, children, part.tail)

    def _join(self, items: Sequence[_Item]) -> _Item:
        """Joins a run of items into a section without heading; its lead is that of its first
        child."""
        first, *rest = (item.child for item in items)
        inner = (Child(first.id, "", first.size_bytes, first.size_lines), *rest)
        key: Value = [self.document.raw, first.id.raw]
        level = items[0].level
        return _Item(self._container(first.lead, key, "", level, inner, ""), level)

    def _container(
        self,
        lead: str,
        key: Value,
        heading: str,
        level: int,
        children: tuple[Child, ...],
        tail: str,
    ) -> Child:
        draft = Draft(
            node_id(SECTION, key),
            "Section",
            SECTION,
            key,
            heading,
            {"heading_level": level},
            children,
            tail,
        )
        self.made.append(draft)
        return Child(draft.id, lead, *source_size(children, tail))


def source_size(children: Sequence[Child], tail: str) -> tuple[int, int]:
    """Returns the bytes and line feeds of a parent's whole source."""
    size_bytes, size_lines = size_of(tail)
    for child in children:
        lead_bytes, lead_feeds = size_of(child.lead)
        size_bytes += lead_bytes + child.size_bytes
        size_lines += lead_feeds + child.size_lines
    return size_bytes, size_lines
