"""Turns one source into drafts: reads or extracts the format, builds the outline, assigns ids.

This module does not access repositories or files. For every format, joining the parts gives the
stored text: the source of a text format, or the extractor's text of any other.
"""

from __future__ import annotations

import hashlib
from dataclasses import field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ibidem.index.analysis import ENGLISH, HOME
from ibidem.ingest.decoded import decoded, is_utf16
from ibidem.ingest.draft import Draft, drafts
from ibidem.ingest.formats import EXTRACTOR_VERSION, MARKDOWN, RST, Format, format_of
from ibidem.ingest.front_matter import FrontMatter, read_front_matter
from ibidem.ingest.language import with_homes
from ibidem.ingest.link import PATH_CHARS_MAX, document_links, written_targets
from ibidem.ingest.mark import BOM, Heading, Mark, introduced, opening_heading, with_gaps
from ibidem.ingest.outline import outline
from ibidem.ingest.sandbox import Sandbox
from ibidem.ingest.split import PASSAGE_CHARS_MAX
from ibidem.objects.codec import Value
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record

if TYPE_CHECKING:
    from ibidem.ingest.extraction import Extraction

TITLE_CHARS_MAX = 2000

EXTRACTION_PROPS = ("extractor", "extractor_version", "source_sha256")
"""Properties that record the extractor of a document, and the hash of its source."""

RESERVED = frozenset(
    {
        "source",
        "media_type",
        "language",
        "links",
        "moved_from",
        HOME,
        *EXTRACTION_PROPS,
        "id",
        "ntype",
        "summary",
        "context_sentence",
        "context",
        "content",
        "key",
    }
)
"""Reserved names for front matter; such an entry is stored as `front_matter_<name>`."""


@record
class Reading:
    """The result of reading one source: its nodes (the document last) and the messages for the
    user."""

    drafts: list[Draft]
    warnings: list[str] = field(default_factory=list)


def read_document(
    path: str,
    source: str | bytes,
    *,
    media_type: str | None = None,
    sandbox: Sandbox | None = None,
    home: str = ENGLISH,
) -> Reading:
    """Returns the nodes of one document.

    Args:
        path: the document's name in the repository, POSIX, relative; it decides the document's id.
        source: bytes, or decoded text with its line endings and byte order mark unchanged. Of bytes
            in UTF-16, the text is stored as of a format that is extracted.
        media_type: by default derived from the name of `path`.
        sandbox: extracts sources that are not text; None uses a temporary one.
        home: the repository's analyser.

    Raises:
        InvalidInputError: the path or the media type is invalid, or the source is not of its format
            or needs a package that is not installed (kind `missing-package`).
    """
    check_path(path)
    source_format = format_of(path, media_type)
    props: dict[str, Value] = {"source": path, "media_type": source_format.media_type}
    if source_format.language is not None:
        props["language"] = source_format.language
    if source_format.is_extracted:
        reading = _extracted(path, source, source_format, props, sandbox)
    else:
        if isinstance(source, bytes) and is_utf16(source):
            props["extractor"], props["extractor_version"] = "ibidem-utf-16", EXTRACTOR_VERSION
            props["source_sha256"] = hashlib.sha256(source).hexdigest()
        text = source if isinstance(source, str) else decoded(source)
        reading = _text(path, text, source_format, props, sandbox)
    return replace(reading, drafts=with_homes(reading.drafts, home))


def _extracted(
    path: str,
    source: str | bytes,
    source_format: Format,
    props: dict[str, Value],
    sandbox: Sandbox | None,
) -> Reading:
    """Reads a source by its extractor, whose text is stored."""
    data = source.encode("utf-8") if isinstance(source, str) else source
    props["extractor"], props["extractor_version"] = source_format.extractor
    props["source_sha256"] = hashlib.sha256(data).hexdigest()
    extraction = _extract(source_format, data, sandbox)
    for name, value in extraction.props.items():
        props[name] = value if isinstance(value, str) else list(value)
    marks = introduced(extraction.text, extraction.marks, PASSAGE_CHARS_MAX)
    made = _drafts(path, extraction.text, 0, list(marks), extraction.title, props)
    return Reading(made, list(extraction.warnings))


def _text(
    path: str,
    source: str,
    source_format: Format,
    props: dict[str, Value],
    sandbox: Sandbox | None,
) -> Reading:
    """Reads a source that is stored unchanged."""
    warnings = (
        ["byte order mark at the start, kept in the source"] if source.startswith(BOM) else []
    )
    body = len(BOM) if source.startswith(BOM) else 0
    front = FrontMatter()
    if source_format.read is None:
        raise InvalidInputError(
            f"media_type: got {source_format.media_type!r}, expected that of a document"
        )
    if source_format.media_type == MARKDOWN:
        front = read_front_matter(source, body)
        body = front.stop
        _add_front_matter(props, front)
        warnings += front.warnings
        marks = list(source_format.read(source, body))
    elif source_format.entry is not None and source_format.is_installed:
        props["extractor"], props["extractor_version"] = source_format.extractor
        marks = list(_extract(source_format, source.encode("utf-8"), sandbox).marks)
    else:
        marks = list(source_format.read(source, body))
    title = _title(source_format, source, body, front, marks)
    if source_format.language is None:
        marks = list(introduced(source, marks, PASSAGE_CHARS_MAX))
    return Reading(_drafts(path, source, body, marks, title, props), warnings)


def _extract(source_format: Format, data: bytes, sandbox: Sandbox | None) -> Extraction:
    if sandbox is not None:
        return sandbox.extract(source_format, data)
    with Sandbox() as own:
        return own.extract(source_format, data)


def _drafts(
    path: str,
    text: str,
    body: int,
    marks: list[Mark],
    title: str | None,
    props: dict[str, Value],
) -> list[Draft]:
    title = (title or PurePosixPath(path).name)[:TITLE_CHARS_MAX]
    made = drafts(path, outline(text, with_gaps(text, body, marks)), title=title, props=props)
    passages = (
        (each.summary, str(each.props["format"]), written_targets(each.props))
        for each in made
        if each.ntype == "Passage"
    )
    if links := document_links(path, str(props["media_type"]), passages):
        made[-1] = replace(made[-1], props={**props, "links": list(links)})
    return made


def stored_name(name: str) -> str:
    """Returns the name of the property for a front matter entry."""
    return f"front_matter_{name}" if name in RESERVED else name


def check_path(path: str) -> None:
    """Raises InvalidInputError unless `path` is relative, POSIX, normal and inside the root."""
    parts = path.split("/")
    if (
        not path
        or len(path) > PATH_CHARS_MAX
        or any(part in ("", ".", "..") for part in parts)
        or "\0" in path
    ):
        raise InvalidInputError(
            f"path: got {path[:200]!r}, expected a relative POSIX path without '.', '..' or empty "
            f"parts, at most {PATH_CHARS_MAX} characters"
        )
    try:
        path.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"path: got {path[:200]!r}, expected a name that is valid UTF-8"
        ) from error


def _title(
    source_format: Format, source: str, body: int, front: FrontMatter, marks: list[Mark]
) -> str | None:
    """Returns what a text calls itself, None if that is nothing, or it is program source."""
    if source_format.language is not None:
        return None
    if source_format.media_type == RST:
        from ibidem.ingest.rst import rst_title

        return rst_title(source, body, marks)
    tops = (mark for mark in marks if isinstance(mark, Heading) and mark.level == 1)
    heading = next((mark for mark in tops if mark.text), None)
    if source_format.media_type == MARKDOWN:
        title = front.values.get("title")
        if isinstance(title, str) and title.strip():
            return title.strip()
        heading = heading or opening_heading(marks)
    else:
        from ibidem.ingest.titled import titled_title

        if title := titled_title(source_format.name, source, marks):
            return title
    return None if heading is None else heading.text


def _add_front_matter(props: dict[str, Value], front: FrontMatter) -> None:
    for name, value in front.values.items():
        stored = stored_name(name)
        if stored != name:
            front.warnings.append(f"front matter: {name!r} is reserved, stored as {stored!r}")
        props[stored] = list(value) if isinstance(value, list) else value
