"""Stated values: what the returned texts state for what a question asks, where that is certain.

A question is read by a few patterns: the attribute of a subject ("the status of Apollo", "Apollo's
status", "when was Apollo created"), or what a subject is. A node states values in four ways: as
properties of its title; as a block of lines `Name: value` at its beginning; as cells of a table,
whose row is the subject and whose column the attribute, also below a header that only the context
sentence has; and as list items `**subject**: a ...`.
Attribute and subject have to be equal word for word, and the subject symbol for symbol. If the
nodes that were returned state two values, or none, there is no answer: silence is better than a
guess.

Spec: retrieval 9.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ibidem.objects.ids import NodeId
from ibidem.objects.location import document_of
from ibidem.objects.node import Node
from ibidem.objects.plain import fields_of
from ibidem.objects.record import record

VALUE_CHARS_MAX = 500
QUESTION_CHARS_MAX = 200
COLUMNS_MAX = 64

_WORD = re.compile(r"[^\W_]+")
_SYMBOLS = re.compile(r"[^\W_]+|[^\w\s]")
_ARTICLES = ("a", "an", "the")
_OF = re.compile(r"(?:what|which|who) (?:is|was|are|were) the (.+?) of (.+)", re.IGNORECASE)
_OWN = re.compile(r"(?:what|which|who) (?:is|was|are|were) (.+?)['\u2019]s (.+)", re.IGNORECASE)
_WHEN = re.compile(r"when was (.+) (\w+)", re.IGNORECASE)
_HAVE = re.compile(r"(?:what|which) (.+?) does (.+) have", re.IGNORECASE)
_IS = re.compile(r"(?:what|who) (?:is|was|are|were) (.+)|what does (.+) mean", re.IGNORECASE)
_LINE = re.compile(r"([A-Z][\w-]*(?: [\w-]+){0,2}):(?: +(.*))?")
_TITLES = (("title",), ("name",))
_ITEM = re.compile(r"^[*+-] +\*\*([^*\n]+)\*\* ?: +((?:an?|the) .+)$", re.IGNORECASE | re.MULTILINE)
_CLAUSE = re.compile(
    r"[^,;:.()]*?\b(?:(?:that|which|who|whose|where|when|what)\b|"
    r"(is|are|was|were|has|have|had|can|could|will|would|does|do|did|must|should|may|might)\b)",
    re.IGNORECASE,
)
"""The beginning of a text, through its first verb unless that is in a relative clause."""
_SAYING_WHAT = tuple(
    (word,) for word in ("definition", "description", "explanation", "meaning", "name", "purpose")
)
"""Headers of a second column that says what stands in the first."""
_OF_INGEST = frozenset(
    (
        *("title", "source", "media_type", "language", "links", "moved_from", "analyser"),
        *("extractor", "extractor_version", "source_sha256", "heading_level"),
    )
)
"""Properties of documents and sections that say how they were read, not what they are about."""
_BORDER = re.compile(r"^=+(?: +=+)+ *$")
_PARTS = re.compile(r"\n[ \t]*\n")
_MARKUP = re.compile(r"[`*]+")
_NOTHING = re.compile(
    r"[-?.\u2013\u2014\u2026 ]*|(?:n/a|n\.a|tba|tbd|todo|unknown|see (?:above|below))\.?|.*~~.*",
    re.IGNORECASE,
)
"""Values that say nothing, and those of which a part is struck out."""

Words = tuple[str, ...]
_Statement = tuple[str, str, str]


@record
class Stated:
    """A value that a node states for a subject."""

    value: str
    attribute: str
    """As the node names it; empty for what the subject is."""
    subject: str
    node: NodeId

    def to_dict(self) -> dict[str, Any]:
        """Returns it as plain data."""
        return fields_of(self, "value", "attribute", "subject", "node")

    def __str__(self) -> str:
        of = f"{self.attribute} of {self.subject}" if self.attribute else self.subject
        return f"{self.value} ({of}) in {self.node}"


def stated(question: str, nodes: Iterable[Node]) -> Stated | None:
    """Returns the one value that some nodes state for what a question asks, None without one.

    Args:
        nodes: those of the answer, best first, then their documents.
    """
    parsed = _parsed(question)
    if parsed is None:
        return None
    attribute, subject = parsed
    found: dict[str, Stated] = {}
    for node in nodes:
        for named, name, value in _statements(node, attribute, subject):
            shown = _plain(value)
            if _NOTHING.fullmatch(shown) is None:
                one = Stated(shown, _plain(name), _plain(named), node.id)
                found.setdefault(shown.casefold(), one)
    (only,) = found.values() if len(found) == 1 else (None,)
    return only if only is not None and len(only.value) <= VALUE_CHARS_MAX else None


def asks_value(question: str) -> bool:
    """Returns whether a question is one to which a value may be stated.

    >>> asks_value("What is the status of Apollo?"), asks_value("how do retries work")
    (True, False)
    """
    return _parsed(question) is not None


def _parsed(question: str) -> tuple[Words, Words] | None:
    """Returns the attribute and the subject that a question asks for."""
    text = " ".join(question.split()).rstrip("?. ")
    if not text or len(text) > QUESTION_CHARS_MAX:
        return None
    if match := _OF.fullmatch(text) or _HAVE.fullmatch(text):
        attribute, subject = match[1], match[2]
    elif (match := _OWN.fullmatch(text)) or (match := _WHEN.fullmatch(text)):
        attribute, subject = match[2], match[1]
    elif match := _IS.fullmatch(text):
        attribute, subject = "", match[1] or match[2]
    else:
        return None
    if not _words(subject) or (attribute and not _words(attribute)):
        return None
    return _words(attribute), _symbols(subject)


def _statements(node: Node, attribute: Words, subject: Words) -> Iterator[_Statement]:
    """Yields the subject, the attribute and the value of each statement for those of a question."""
    text = node.summary or ""
    if node.ntype != "Passage":
        if "\n" not in text and _symbols(text) == subject:
            is_read = document_of(node) is not None
            for name, value in node.props.items():
                if is_read and name in _OF_INGEST:
                    continue
                if type(value) in (str, int, float) and attribute and _words(name) == attribute:
                    yield text, name, str(value)
        return
    parts = _PARTS.split(text)
    for part in parts:
        lines = part.split("\n")
        yield from _block(lines, attribute, subject)
        yield from _pipes(lines, attribute, subject)
    if node.context_sentence:  # the header of a table that begins in another passage
        header = _PARTS.split(node.context_sentence)[-1]
        yield from _pipes([*header.split("\n"), *parts[0].split("\n")], attribute, subject)
    yield from _columns(text.split("\n"), attribute, subject)
    for match in _ITEM.finditer(text):
        verb = _CLAUSE.match(match[2])
        is_sentence = verb is not None and verb[1] is not None
        if not attribute and not is_sentence and _symbols(match[1]) == subject:
            yield match[1], "", match[2]


def _block(lines: Sequence[str], attribute: Words, subject: Words) -> Iterator[_Statement]:
    """Yields the values of some lines `Name: value`, if all lines are such."""
    pairs: list[tuple[str, str]] = []
    for line in lines:
        if pairs and line[:1].isspace():
            pairs[-1] = pairs[-1][0], f"{pairs[-1][1]} {line.strip()}"
        elif match := _LINE.fullmatch(line):
            pairs.append((match[1], (match[2] or "").strip()))
        else:
            return
    if len(pairs) >= 3:
        titles = [value for name, value in pairs if _words(name) in _TITLES]
        subjects = (" ".join(pairs[0]), *titles)
        named = next((one for one in subjects if _symbols(one) == subject), None)
        for name, value in pairs[1:]:
            if named is not None and _words(name) == attribute:
                yield named, name, value


def _pipes(lines: Sequence[str], attribute: Words, subject: Words) -> Iterator[_Statement]:
    """Yields the cells of some lines, if they are a Markdown table."""
    rows = [line.strip().strip("|").split("|") for line in lines if line.strip()]
    if len(rows) > 2 and all(line.lstrip().startswith("|") for line in lines if line.strip()):
        width = len(rows[0])
        if width <= COLUMNS_MAX and all(set(cell.strip()) <= set(":-") for cell in rows[1]):
            found = [row for row in (rows[0], *rows[2:]) if len(row) == width]
            yield from _cells(found, attribute, subject)


def _columns(lines: Sequence[str], attribute: Words, subject: Words) -> Iterator[_Statement]:
    """Yields the cells of a simple table of reStructuredText, if there is one with one line of
    headers."""
    borders = [at for at, line in enumerate(lines) if _BORDER.match(line)]
    if len(borders) != 3 or borders[1] != borders[0] + 2:
        return
    starts = [match.start() for match in re.finditer("=+", lines[borders[0]])]
    if len(starts) > COLUMNS_MAX:
        return
    rows: list[list[str]] = []
    for line in (lines[borders[0] + 1], *lines[borders[1] + 1 : borders[2]]):
        cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        if any(line[one - 1 : one].strip() for one in starts[1:]):
            return  # a cell stands in two columns
        if cells[0]:
            rows.append(cells)
        elif rows:
            rows[-1] = [" ".join(filter(None, pair)) for pair in zip(rows[-1], cells, strict=True)]
    yield from _cells(rows, attribute, subject)


def _cells(rows: Sequence[Sequence[str]], attribute: Words, subject: Words) -> Iterator[_Statement]:
    if not rows:
        return
    head = rows[0]
    columns = [at for at, name in enumerate(head) if at and attribute and _words(name) == attribute]
    is_short = len(head[0]) <= QUESTION_CHARS_MAX
    for row in rows[1:]:
        names = (row[0], f"{head[0]} {row[0]}") if is_short else (row[0],)
        named = next((one for one in names if _symbols(one) == subject), None)
        if named is not None:
            for at in columns:
                yield named, head[at], row[at]
            if len(row) == 2 and not attribute and _words(head[1]) in _SAYING_WHAT:
                yield named, "", row[1]


def _symbols(text: str) -> Words:
    """Returns the words of a subject and the symbols between them."""
    found = tuple(map(str.casefold, _SYMBOLS.findall(_plain(text).rstrip("?. "))))
    return found[1:] if found[:1] and found[0] in _ARTICLES and len(found) > 1 else found


def _words(text: str) -> Words:
    found = tuple(word.casefold() for word in _WORD.findall(text.replace("_", " ")))
    return found[1:] if found[:1] and found[0] in _ARTICLES and len(found) > 1 else found


def _plain(value: str) -> str:
    return " ".join(_MARKUP.sub("", value).split())
