"""Python source to marks: one passage per function or method, under the names that enclose it.

The start and end of a definition follow from indentation, brackets and strings alone, so the source
is scanned, not parsed: each version of Python has an `ast` for a different language, and the cuts
of a document must be the same on every machine. Source that cannot be scanned (a string or bracket
is never closed) is cut at blank lines like any other program.

A definition is a section without source of its own: its name is the heading, and the passage has
`def`, decorators, docstring and the comment above. Attributes and docstring of a class are a
passage before its methods. Functions inside functions are not cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ibidem.ingest.mark import Heading, Mark, SectionEnd, trim
from ibidem.ingest.plain import code_marks, source_blocks
from ibidem.objects.record import record

LANGUAGE = "python"
NAME_CHARS_MAX = 256
CLASS_DEPTH_MAX = 16

_TOKEN = re.compile(
    r"""
    (?P<skip> \#[^\r\n]* | \\(?:\r\n|[\s\S])
      | "(?!"")(?:[^"\\\r\n]|\\(?:\r\n|[\s\S]))*+" | '(?!'')(?:[^'\\\r\n]|\\(?:\r\n|[\s\S]))*+' )
    | (?P<quotes> \"{3} | '{3} ) | (?P<opens> [(\[{] ) | (?P<closes> [)\]}] )
    | (?P<line> \r\n|\r|\n ) | (?P<broken> ["'] )
    """,
    re.VERBOSE,
)
_ENDS = {quotes: re.compile(rf"\\[\s\S]|{quotes}") for quotes in ('"""', "'''")}
"""What is looked at in a text between three quotation marks. It has a pattern of its own: before
Python 3.11.5, one that fails within a repetition without backtracking (`*+`) loses its place."""
_START = re.compile(r"([ \t\f]*)([^ \t\f\r\n#\\]?)")
_DEFINITION = re.compile(r"(?:(class)|(?:async[ \t]+)?def)[ \t]+([^ \t\r\n\f\\(:\[#]+)", re.ASCII)


@record
class _Statement:
    """A logical line, from the start of its first physical line to the end of its last."""

    start: int
    stop: int
    indent: int
    code: int
    """The offset of its first character that is not indentation."""


def python_marks(source: str, start: int = 0) -> Iterator[Mark]:
    """Yields sections for classes, functions and methods, and passages for all source."""
    statements = _statements(source, start)
    if statements is None:
        yield from code_marks(source, LANGUAGE, start)
        return
    yield from _body(source, statements, start, start, len(source), 1)


def _body(
    source: str, statements: Sequence[_Statement], start: int, body: int, stop: int, level: int
) -> Iterator[Mark]:
    """Yields the marks of a module, or of a class whose statements begin at `body`."""
    done, at = start, 0
    while at < len(statements):
        first, at = at, _after(source, statements, at)
        held = statements[first:at]
        definition = _definition(source, held)
        if definition is None:
            continue
        index, match = definition
        begin = statements[first - 1].stop if first else body
        yield from _own(source, done, begin, level)
        done = held[-1].stop
        name_range = trim(source, begin, done)
        assert name_range is not None, "BUG: a definition without text"
        yield Heading(name_range[0], name_range[0], level, match[2][:NAME_CHARS_MAX])
        inner = held[index + 1 :]
        if match[1] and inner and level < CLASS_DEPTH_MAX:
            yield from _body(source, inner, begin, held[index].stop, done, level + 1)
        else:
            yield from source_blocks(source, begin, done, LANGUAGE)
        yield SectionEnd(done, done, level)
    yield from _own(source, done, stop, level)


def _own(source: str, start: int, stop: int, level: int) -> Iterator[Mark]:
    """Yields the source that is not a definition: of a module cut at blank lines, of a class in one
    piece."""
    if level > 1:
        yield from source_blocks(source, start, stop, LANGUAGE)
    else:
        yield from code_marks(source, LANGUAGE, start, stop)


def _after(source: str, statements: Sequence[_Statement], at: int) -> int:
    """Returns the offset after a statement and the lines indented under it, decorators before it
    included."""
    indent = statements[0].indent
    while source[statements[at].code] == "@" and at + 1 < len(statements):
        if statements[at + 1].indent != indent:
            break
        at += 1
    at += 1
    while at < len(statements) and statements[at].indent > indent:
        at += 1
    return at


def _definition(source: str, held: Sequence[_Statement]) -> tuple[int, re.Match[str]] | None:
    """Returns the index of the `class` or `def` among these statements, after decorators, and its
    match."""
    for index, statement in enumerate(held):
        if source[statement.code] != "@":
            match = _DEFINITION.match(source, statement.code)
            return None if match is None else (index, match)
    return None


def _statements(source: str, start: int) -> list[_Statement] | None:
    """Returns the logical lines of a program, None if it cannot be scanned."""
    found: list[_Statement] = []
    depth, line = 0, start
    at = start
    while (match := _TOKEN.search(source, at)) is not None:
        at = match.end()
        if match["broken"]:
            return None
        if quotes := match["quotes"]:
            ends = (end for end in _ENDS[quotes].finditer(source, at) if end[0] == quotes)
            if (end := next(ends, None)) is None:
                return None
            at = end.end()
        elif match["opens"]:
            depth += 1
        elif match["closes"]:
            depth -= 1
            if depth < 0:
                return None
        elif match["line"] and depth == 0:
            _add(source, found, line, match.end())
            line = match.end()
    _add(source, found, line, len(source))
    return None if depth else found


def _add(source: str, found: list[_Statement], start: int, stop: int) -> None:
    match = _START.match(source, start, stop)
    if match is not None and match[2]:
        indent = len(match[1].rpartition("\f")[2].expandtabs(8))
        found.append(_Statement(start, stop, indent, match.start(2)))
