"""Reference links: links whose target stands elsewhere in the document, where it is defined.

    Markdown            see [the guide][guide]      [guide]: guide.md
    reStructuredText    see `the guide`_            .. _the guide: guide.rst

Such a link counts in the passage that has it, which does not show where it leads: its target
becomes one of the `targets` of the passage. A definition that is not used is no link. Of several
definitions of one label, the first one counts. Targets on other sites are left out.

A pattern stops at the next bracket, backtick or blank line, and each part of the text is read once,
so the time is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import field, replace

from markdown_it.common.utils import normalizeReference

from ibidem.ingest.mark import Block, Mark
from ibidem.objects.record import record

ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#|\?")
"""How a target begins that is no path: one on another site, or in the same document."""

MARKDOWN_LINKS = re.compile(
    r"""
    \\. | ``[^`]*`` | `[^`]*`
    | !\[(?:[^\[\]\\]|\\.)*\](?:\[[^\[\]]*\])?
    | \[(?!\^)(?P<label>(?:[^\[\]\\]|\\.)+)\](?!\(|\[[^\[\]]+\])
    """,
    re.VERBOSE | re.DOTALL,
)
"""Links in Markdown; what has no label is text, code or an image."""

_PHRASE = r"(?:[^`<>\n]|\n(?![ \t\r]*\n))"
RST_LINKS = re.compile(
    rf"""
    \\. | ``[^`]*``
    | `{_PHRASE}*<(?P<alias>{_PHRASE}+)_>`_
    | `(?P<phrase>{_PHRASE}+)`_(?!_)
    | `(?:[^`\n]|\n(?![ \t\r]*\n))*`
    | (?<![\w.:+`-])(?P<name>[^\W_]+(?:[-_.:+][^\W_]+)*)_(?![\w`])
    """,
    re.VERBOSE | re.DOTALL,
)
"""Links in reStructuredText; what has no group is text or a literal."""

_RST_DEFINITION = re.compile(
    r"^[ \t]*\.\.[ ]+_(?:`([^`\r\n]+)`|((?:\\.|[^\\:`_\r\n])(?:\\.|[^\\:`\r\n])*)):"
    r"[ \t]+([^\s`]*[^\s`_])[ \t\r]*$",
    re.MULTILINE,
)

_TARGETS_PER_CHAR, _TARGETS_CHARS = 8, 256
"""The targets of a passage have together at most 256 characters, and eight for each of its own:
a label of one character could stand for a target of thousands, in every passage."""


@record(frozen=False)
class References:
    """The definitions of one text, and where its links are looked for."""

    targets: dict[str, str] = field(default_factory=dict)
    """By label."""
    texts: list[tuple[int, int]] = field(default_factory=list)
    """Ranges of the text without code, in any order; of two that overlap, both have all of it."""

    def define(self, label: str, target: str) -> None:
        """Notes a definition, unless its target is on another site."""
        if not ELSEWHERE.match(target):
            self.targets.setdefault(normalizeReference(label), target)

    def define_rst(self, source: str) -> None:
        """Notes the definitions in the texts, which are of reStructuredText."""
        for start, stop in self.texts:
            for quoted, plain, target in _RST_DEFINITION.findall(source[start:stop]):
                self.define(quoted or plain, target)

    def with_targets(
        self, source: str, marks: Iterable[Mark], links: re.Pattern[str]
    ) -> Iterable[Mark]:
        """Returns the marks of the text, each block with the targets of its reference links.

        Args:
            links: `MARKDOWN_LINKS` or `RST_LINKS`.
        """
        return _with_targets(marks, list(self._links(source, links))) if self.targets else marks

    def _links(self, source: str, links: re.Pattern[str]) -> Iterator[tuple[int, str]]:
        """Yields where each link stands, ascending, and its target."""
        done = 0
        for start, stop in sorted(self.texts):
            for match in links.finditer(source, max(start, done), stop):
                if match.lastgroup is not None:
                    target = self.targets.get(normalizeReference(match[match.lastgroup]))
                    if target is not None:
                        yield match.start(), target
            done = max(done, stop)


def _with_targets(marks: Iterable[Mark], links: list[tuple[int, str]]) -> Iterator[Mark]:
    for mark in marks:
        if isinstance(mark, Block):
            first, last = (bisect_left(links, (at, "")) for at in (mark.start, mark.stop))
            size = _TARGETS_CHARS + _TARGETS_PER_CHAR * (mark.stop - mark.start)
            own = []
            for target in dict.fromkeys(target for _, target in links[first:last]):
                size -= len(target)
                if size < 0:
                    break
                own.append(target)
            if own:
                mark = replace(mark, targets=(*mark.targets, *own))
        yield mark
