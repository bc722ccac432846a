"""How answers changed, as HTML: for each question both rankings as a picture with lines from old
ranks to new ones, the texts that differ with their words marked, and the commits that caused it.

A report is one document that stands alone, for a pull request or a mail: it has no script and
requests nothing. `REPORT_CHARACTERS` bounds its size: questions beyond that are only listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import htpy as h
from markupsafe import Markup

from ibidem.objects.printable import one_line
from ibidem.objects.record import record
from ibidem.pages import comparison, html
from ibidem.pages.html import code, facts, plural, table, tag
from ibidem.repo.history.word_diff import changed_words

if TYPE_CHECKING:
    from ibidem.repo.history.answer_change import AnswerChange, TextChange

REPORT_CHARACTERS = 4_000_000
"""Of the questions that a report shows in full."""
RANKS_DRAWN = 50
"""Ranks of a picture; the table has the items beyond."""
QUESTION_CHARACTERS = 200


@record
class Part:
    """One question of a report."""

    title: str
    """The question, or what was checked."""
    verdict: str
    """How it turned out, in a few words."""
    body: str
    """HTML that `section` returned."""


def report(title: str, summary: str, parts: Sequence[Part], *, note: h.Node = None) -> str:
    """Returns a document of several questions, its contents first.

    Args:
        title: of the document.
        summary: its first sentence.
        parts: the questions, in order.
        note: what the document contains, for readers who got it from somebody.
    """
    size, whole = 0, 0
    for part in parts:
        size += len(part.body)
        if size > REPORT_CHARACTERS:
            break
        whole += 1
    rows = [
        (
            html.linked(f"#change-{number}" if number <= whole else None, _short(part.title)),
            one_line(part.verdict),
        )
        for number, part in enumerate(parts, 1)
    ]
    bodies = [
        h.section(id=f"change-{number}")[
            h.h2[f"{number}. {_short(part.title)}"],
            Markup(part.body),  # noqa: S704  # rendered by `section`, which escapes
        ]
        for number, part in enumerate(parts[:whole], 1)
    ]
    more = len(parts) - whole
    return html.document(
        title,
        h.p[summary],
        note,
        table(plural(len(rows), "question"), ("Question", "Result"), rows) if rows else None,
        bodies,
        h.p[f"{plural(more, 'further question')} would make this file too large."]
        if more
        else None,
    )


def section(found: AnswerChange) -> str:
    """Returns one question as HTML, without its heading."""
    return html.render(h.div[tuple(_section(found))])


def text_section(text: str) -> str:
    """Returns a text of several lines as HTML, such as a table of measures."""
    return html.render(h.pre[text])


def _section(found: AnswerChange) -> Iterator[h.Node]:
    yield h.p[f"{found.summary}, from {one_line(found.before)} to {one_line(found.after)}"]
    drawn = [
        move
        for move in found.moves
        if all(one is None or one.rank <= RANKS_DRAWN for one in (move.before, move.after))
    ]
    if drawn:
        picture = comparison.moves_picture(drawn, before=found.before, after=found.after)
        yield h.figure[picture]
    if found.moves:
        yield comparison.moves_table(found.moves)
        more = sum(found.counts.values()) - len(found.moves)
        yield h.p(".muted")[f"and {plural(more, 'more item')}"] if more else None
    if found.texts:
        yield h.section[h.h3["Texts"], h.ul(".items")[map(_text_change, found.texts)]]
    yield h.section[h.h3["Causes"], tuple(_causes(found))]
    yield facts((name, code(value)) for name, value in found.facts)


def _causes(found: AnswerChange) -> Iterator[h.Node]:
    if found.note is not None:
        yield h.p[one_line(found.note)]
    if found.causes:
        yield [comparison.cause(one, lines=found.lines) for one in found.causes]
    else:
        yield [h.p["commit ", code(str(one.cid))] for one in found.caused_by]


def _text_change(found: TextChange) -> h.Element:
    item = found.move.after or found.move.before
    assert item is not None, "BUG: an item of neither answer"
    return h.li[
        tag(str(found.move.kind)),
        f" {one_line(item.label)} ",
        code(str(found.move.id)),
        h.p(".text")[words(found.before, found.after)],
    ]


def words(before: str | None, after: str | None) -> h.Node:
    """Returns a text before and after as one, with what was removed and added marked; None for a
    text that is not there."""
    if before is None and after is None:
        return h.small["the text is not in this repository"]
    if before is None or after is None:
        return _marked(h.del_, before or "") or _marked(h.ins, after or "")
    parts = changed_words(before, after) or [(before, after)]
    return [
        old if old == new else [_marked(h.del_, old), _marked(h.ins, new)] for old, new in parts
    ]


def _marked(element: h.Element, text: str) -> h.Node:
    return element[text] if text else None


def _short(text: str) -> str:
    return one_line(text, width=QUESTION_CHARACTERS) or "(no text)"
