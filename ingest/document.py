"""One source to its drafts: decode, read the format, outline, name.

Nothing here touches a repository or a file. The parts joined give the decoded source back, whatever
the format module made of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from pathlib import PurePosixPath

from ibidem.ingest.draft import Draft, drafts
from ibidem.ingest.front_matter import FrontMatter, read_front_matter
from ibidem.ingest.mark import BOM, Heading, Mark, with_gaps
from ibidem.ingest.markdown import markdown_marks
from ibidem.ingest.outline import Outline, outline
from ibidem.ingest.plain import code_marks, plain_marks
from ibidem.objects.codec import Value
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record

MARKDOWN = "text/markdown"
PLAIN = "text/plain"
NDJSON = "application/x-ndjson"
MEDIA_TYPES = (MARKDOWN, PLAIN, NDJSON)

PATH_CHARS_MAX = 4096
TITLE_CHARS_MAX = 2000

RESERVED = frozenset(
    {
        "source",
        "media_type",
        "language",
        "id",
        "ntype",
        "summary",
        "context_sentence",
        "context",
        "content",
        "key",
    }
)
"""Names that front matter may not take; such an entry is stored as `front_matter_<name>`."""

_SUFFIXES = {
    "bash": ".bash",
    "c": ".c .h",
    "cpp": ".cc .cpp .hpp",
    "csharp": ".cs",
    "css": ".css",
    "go": ".go",
    "html": ".html .htm",
    "ini": ".cfg .ini",
    "java": ".java",
    "javascript": ".js .jsx .mjs",
    "json": ".json",
    "kotlin": ".kt",
    "lua": ".lua",
    "perl": ".pl",
    "php": ".php",
    "python": ".py .pyi",
    "r": ".r",
    "ruby": ".rb",
    "rust": ".rs",
    "scala": ".scala",
    "sh": ".sh",
    "sql": ".sql",
    "swift": ".swift",
    "toml": ".toml",
    "typescript": ".ts .tsx",
    "xml": ".xml",
    "yaml": ".yaml .yml",
    "zig": ".zig",
}
_LANGUAGES = {suffix: name for name, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}


@record
class Reading:
    """What one source came to: its nodes (the document last) and what to tell the user."""

    drafts: list[Draft]
    warnings: list[str] = field(default_factory=list)


def media_type_of(path: str) -> str:
    """Returns the media type that a file's name stands for; text of any other kind is plain."""
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in (".md", ".markdown"):
        return MARKDOWN
    return NDJSON if suffix in (".ndjson", ".jsonl") else PLAIN


def read_document(path: str, source: str, *, media_type: str | None = None) -> Reading:
    """Returns the nodes of one document.

    Args:
        path: the document's name in the repository, POSIX, relative; it decides the document's id.
        source: the decoded text, its line endings and byte order mark as they were.
        media_type: `text/markdown` or `text/plain`; by default what the name of `path` says.

    Raises:
        InvalidInputError: the path or the media type is not one.
    """
    check_path(path)
    media_type = media_type or media_type_of(path)
    props: dict[str, Value] = {"source": path, "media_type": media_type}
    warnings = (
        ["byte order mark at the start, kept in the source"] if source.startswith(BOM) else []
    )
    body = len(BOM) if source.startswith(BOM) else 0
    front = FrontMatter()
    if media_type == MARKDOWN:
        front = read_front_matter(source, body)
        marks: list[Mark] = list(markdown_marks(source, front.stop))
        body = front.stop
        _add_front_matter(props, front)
        warnings += front.warnings
    elif media_type == PLAIN:
        language = _LANGUAGES.get(PurePosixPath(path).suffix.lower())
        if language is not None:
            props["language"] = language
        marks = list(plain_marks(source) if language is None else code_marks(source, language))
    else:
        raise InvalidInputError(
            f"media_type: got {media_type!r}, expected {MARKDOWN!r} or {PLAIN!r} for a document"
        )
    outlined: Outline = outline(source, with_gaps(source, body, marks))
    title = (_title(front, marks) or PurePosixPath(path).name)[:TITLE_CHARS_MAX]
    return Reading(drafts(path, outlined, title=title, props=props), warnings)


def stored_name(name: str) -> str:
    """Returns the property that a front matter entry becomes."""
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


def _title(front: FrontMatter, marks: Iterable[Mark]) -> str | None:
    title = front.values.get("title")
    if isinstance(title, str) and title.strip():
        return title.strip()
    for mark in marks:
        if isinstance(mark, Heading) and mark.level == 1 and mark.text:
            return mark.text
    return None


def _add_front_matter(props: dict[str, Value], front: FrontMatter) -> None:
    for name, value in front.values.items():
        stored = stored_name(name)
        if stored != name:
            front.warnings.append(f"front matter: {name!r} is reserved, stored as {stored!r}")
        props[stored] = list(value) if isinstance(value, list) else value
