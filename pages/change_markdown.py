"""How answers changed, as Markdown for a comment of a pull request.

Text from a repository stands in code spans and fenced blocks alone, whose fences are longer than
any run of backticks in them: there nothing is a link, an image, markup, or the name of somebody to
notify.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ibidem.objects.printable import moment, one_line, printable
from ibidem.repo.history.compare import MoveKind

if TYPE_CHECKING:
    from ibidem.objects.commit import Commit
    from ibidem.pages.change import Part
    from ibidem.repo.history.answer_change import AnswerChange, TextChange

COMMENT_CHARACTERS = 60_000
"""GitHub refuses comments of more than 65,536 characters."""
ITEMS_SHOWN, TEXTS_SHOWN, LINES_SHOWN = 15, 5, 5
TEXT_CHARACTERS = 400
SUMMARY_CHARACTERS = 100


def report(title: str, summary: str, parts: Sequence[Part], *, note: str | None = None) -> str:
    """Returns the Markdown of several questions; those for which there is no room are counted.

    Args:
        title: the heading.
        summary: its first sentence.
        parts: the questions, in order; their bodies are those of `section`.
        note: what the report contains, for readers who got it from somebody.
    """
    found = [f"### {title}\n\n{summary}\n", *([f"\n{note}\n"] if note else [])]
    room = COMMENT_CHARACTERS - sum(map(len, found)) - 100
    for number, part in enumerate(parts):
        text = (
            f"\n<details><summary>{number + 1}. {_plain(part.verdict)}</summary>\n\n"
            f"{span(part.title, width=SUMMARY_CHARACTERS)}\n\n{part.body}\n</details>\n"
        )
        room -= len(text)
        if room < 0:
            found.append(f"\nand {len(parts) - number:,} more, for which there is no room here\n")
            break
        found.append(text)
    return "".join(found)


def section(found: AnswerChange) -> str:
    """Returns one question as Markdown, without its heading."""
    return "\n".join(_lines(found)) + "\n"


def text_section(text: str) -> str:
    """Returns a text of several lines as Markdown."""
    return block(text)


def span(text: str, *, width: int | None = None) -> str:
    """Returns a text as a code span on one line.

    >>> span("a `b` @c")
    '`` a `b` @c ``'
    """
    flat = one_line(text, width=width) or " "
    fence = "`" * (_longest_run(flat) + 1)
    edge = " " if "`" in flat else ""
    return f"{fence}{edge}{flat}{edge}{fence}"


def block(text: str, *, language: str = "text") -> str:
    """Returns a text as a fenced block."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{printable(text)}\n{fence}\n"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _plain(text: str) -> str:
    """Returns words of this program without what could be markup, for a line of HTML."""
    return re.sub(r"[^\w ,.;:()'-]", " ", one_line(text, width=SUMMARY_CHARACTERS))


def _lines(found: AnswerChange) -> Iterator[str]:
    different = [move for move in found.moves if move.kind is not MoveKind.SAME]
    if different:
        yield "| change | rank | item |"
        yield "|---|---|---|"
    for move in different[:ITEMS_SHOWN]:
        item = move.after or move.before
        assert item is not None, "BUG: an item of neither answer"
        ranks = ("-" if one is None else str(one.rank) for one in (move.before, move.after))
        # Only in a table, a stroke ends a code span, and is written so.
        title = span(item.title or item.label, width=SUMMARY_CHARACTERS).replace("|", "\\|")
        yield f"| {move.kind} | {' → '.join(ranks)} | {title} |"
    more = sum(found.counts.values()) - found.counts[MoveKind.SAME]
    more -= len(different[:ITEMS_SHOWN])
    if more:
        yield f"\nand {more:,} more"
    for change in found.texts[:TEXTS_SHOWN]:
        yield "\n" + block("\n".join(_difference(change)), language="diff")
    if found.causes:
        for cause in found.causes:
            one_of = f"one or more of {cause.commits_count} commits up to "
            yield f"\n{'' if cause.commits_count == 1 else one_of}commit {_commit(cause.commit)}\n"
            changes = [found.lines[one] for one in cause.changes[:LINES_SHOWN]]
            yield from (f"- {span(line)}" for line in changes)
            others = cause.changes_count - len(changes)
            yield from [f"- and {others:,} more"] if others > 0 else []
    else:
        yield from (f"\ncommit {span(str(commit.cid))}" for commit in found.caused_by)
    if found.note is not None:
        yield f"\n{span(found.note)}"


def _difference(change: TextChange) -> Iterator[str]:
    """Yields the lines of a text before and after, as a diff has them."""
    for sign, text in (("-", change.before), ("+", change.after)):
        if text is not None:
            cut = text if len(text) <= TEXT_CHARACTERS else text[: TEXT_CHARACTERS - 1] + "…"
            yield from (f"{sign} {line}" for line in cut.split("\n"))


def _commit(commit: Commit) -> str:
    message = span(commit.message.partition("\n")[0], width=SUMMARY_CHARACTERS)
    author = span(commit.author, width=40)
    return (
        f"{span(str(commit.cid))} {message} by {author}, {moment(commit.time, seconds_only=True)}"
    )
