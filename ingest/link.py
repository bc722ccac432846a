"""Explicit links: the documents that a passage names in the markup of its format.

A link is a function of the passage's text and the document's path, so equal texts have equal links.
Its target is the path of a document in the repository, whether that exists or not; links to other
places have none. The target of a reference link is one of those that the text does not show
(`reference.py`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

from ibidem.ingest.formats import PLAIN, RST, has_suffix
from ibidem.ingest.reference import ELSEWHERE
from ibidem.objects.codec import Value

PATH_CHARS_MAX = 4096

LINKS_MAX = 1000
"""A document links to at most so many paths: the first ones in its text."""

_MARKDOWN = re.compile(
    r"""
    ``[^`]*`` | `(?P<file>[^`\n]*)`
    | \[\[(?!_?TOC_?\]\])(?P<wiki>[^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\]
    | !\[[^\[\]\n]*\]\([^()\n]*\)
    | \]\([ \t]*(?:<(?P<angle>[^<>\n]*)>|(?P<inline>[^\s()<>]+))
    | <a\s[^<>]*?\bhref\s*=\s*["'](?P<href>[^"'<>\n]*)["']
    """,
    re.VERBOSE | re.IGNORECASE,
)
_RST = re.compile(
    r"""
    ``(?P<file>[^`\n]*)``
    | :doc:`(?:[^`<>]*<)?(?P<doc>[^`<>\n]+)>?`
    | :download:`(?:[^`<>]*<)?(?P<download>[^`<>\n]+)>?`
    | `[^`<>]*<(?P<inline>[^`<>\n]*[^`<>\n_])>`_
    | ^[ \t]*\.\.[ ](?:include|literalinclude)::[ \t]+(?P<included>[^\s]+)
    | ^(?P<margin>[ \t]*)\.\.[ ]toctree::[^\n]*
      (?P<toctree>(?:\n(?P=margin)[ \t]+[^\n]*|\n[ \t\r]*$)*)
    """,
    re.VERBOSE | re.MULTILINE,
)
_FILE = re.compile(r"[\w./-]+")


def links_of(
    path: str, media_type: str, text: str, form: str, targets: Iterable[str] = ()
) -> Iterator[str]:
    """Yields the paths that a passage links to, in the order of its text, with repetitions.

    Args:
        path: of the document.
        media_type: of the document; extracted text is read as Markdown, in which it is written.
        form: the passage's format; code has no links in its text.
        targets: of links that the text does not show, as they are written.
    """
    for written in targets:
        for target in _targets("inline", written):
            found = _resolved(path, target)
            if found is not None and found != path:
                yield found
    if form == "code" or media_type == PLAIN:
        return
    pattern = _RST if media_type == RST else _MARKDOWN
    for match in pattern.finditer(text):
        kind = match.lastgroup
        if kind is not None:
            for target in _targets(kind, match[kind]):
                found = _resolved(path, target)
                if found is not None and found != path:
                    yield found


def document_links(
    path: str, media_type: str, passages: Iterable[tuple[str, str, Iterable[str]]]
) -> list[str]:
    """Returns the paths that a document links to, in text order of paths, at most `LINKS_MAX`.

    Args:
        passages: the text, format and targets of each, in the order of the document.
    """
    found: dict[str, None] = {}
    for text, form, targets in passages:
        for target in links_of(path, media_type, text, form, targets):
            found[target] = None
            if len(found) == LINKS_MAX:
                return sorted(found)
    return sorted(found)


def written_targets(props: Mapping[str, Value]) -> tuple[str, ...]:
    """Returns the property `targets` of a passage; another writer may have set it to anything."""
    found = props.get("targets")
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()


def _targets(kind: str, written: str) -> Iterator[str]:
    """Yields the paths that a link may mean, as it is written or completed."""
    if kind == "toctree":
        for line in map(str.strip, written.split("\n")):
            if line and line[0] != ":" and line != "self" and "*" not in line:
                yield from _targets("doc", line.rpartition("<")[2].rstrip(">"))
        return
    if kind == "file":
        if has_suffix(written) and _FILE.fullmatch(written):
            yield written
            yield f"/{written}"
        return
    if ELSEWHERE.match(written):
        return
    bare = re.split(r"[#?]", written.strip(), maxsplit=1)[0]
    if not bare:
        return
    if kind == "doc":
        bare = bare.removesuffix(".rst").removesuffix(".md")
        yield f"{bare}.rst"
        yield f"{bare}.md"
    elif kind == "wiki":
        names = [bare] if has_suffix(bare) else [f"{bare}.md"]
        for name in names:
            yield name
            yield f"/{name}"
    elif bare.endswith("/"):
        yield f"{bare}README.md"
        yield f"{bare}index.md"
    else:
        yield bare


def _resolved(path: str, target: str) -> str | None:
    """Returns a target as a path from the root of the repository, None if it is none."""
    try:
        decoded = unquote(target, errors="strict")
    except UnicodeDecodeError:
        return None
    if "\0" in decoded:
        return None
    folder = "" if decoded.startswith("/") else posixpath.dirname(path)
    resolved = posixpath.normpath(posixpath.join(folder, decoded.lstrip("/") or "."))
    if (
        resolved in (".", "..")
        or resolved.startswith(("../", "/"))
        or len(resolved) > PATH_CHARS_MAX
    ):
        return None
    return resolved
