"""An answer as HTML: its items with the words of the question marked, a bar for each of what the
lanes contributed, the budget, what was left out and why, the warnings, the receipt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import htpy as h

from ibidem.index.analysis import analyse, analyse_positions, code_words, symbol_words
from ibidem.index.analysis.symbols import symbol_positions
from ibidem.objects.printable import one_line
from ibidem.pages import svg
from ibidem.pages.html import (
    NOWHERE,
    Links,
    clipped,
    code,
    facts,
    linked,
    number,
    plural,
    table,
    tag,
)

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import AnswerItem, Item

DROPS_SHOWN = 50
"""Left-out nodes that are listed; all are counted."""


def answer(
    found: Answer[Item],
    analyser: str,
    *,
    links: Links = NOWHERE,
    titles: Mapping[NodeId, str] | None = None,
) -> h.Node:
    """Returns an answer of nodes.

    Args:
        found: the answer.
        analyser: how the repository analyses text; it decides which words are marked.
        titles: the first lines of nodes that were left out, where they are known.
    """
    return [
        cost(found),
        warnings(found),
        items(found, analyser, links=links),
        dropped(found, links=links, titles=titles),
        receipt(found, links=links),
    ]


def cost(found: Answer[AnswerItem]) -> h.Element:
    """Returns how many items there are, and a meter of the tokens that they use."""
    budget = "" if found.token_budget is None else f" of {found.token_budget:,}"
    words = f"{plural(len(found), 'item')}, {found.tokens_used:,}{budget} tokens"
    return h.figure[svg.meter(found.tokens_used, found.token_budget), h.figcaption[words]]


def warnings(found: Answer[AnswerItem]) -> h.Node:
    """Returns the warnings of an answer; nothing if there are none."""
    if not found.warnings:
        return None
    return h.ul(".items", aria_label="Warnings")[
        (
            h.li[
                tag("warning"),
                f" {one.option}: {one.message}",
                None if one.subject is None else f" {one_line(str(one.subject))!r}",
                None if one.count is None else f" ({one.count:,})",
            ]
            for one in found.warnings
        )
    ]


def items(found: Answer[Item], analyser: str, *, links: Links = NOWHERE) -> h.Element:
    """Returns the ranked items of an answer."""
    whole = svg.whole_of(_parts(item) for item in found.items)
    question = found.query.text or ""
    return h.ol(".items")[
        (
            h.li(id=f"item-{rank}")[
                h.h3[
                    f"{rank}. ",
                    linked(links.to(f"node/{item.id}"), title or item.node.ntype),
                ],
                h.p(".text")[marked(clipped(item.rendered), question, analyser)],
                h.figure[svg.score_bar(_parts(item), whole), h.figcaption[_lanes(item)]],
            ]
            for rank, (item, title) in enumerate(zip(found.items, found.titles(), strict=True), 1)
        )
    ]


def marked(text: str, question: str, analyser: str) -> list[h.Node]:
    """Returns a text with the words marked that match a word of the question.

    >>> print(*marked("Retries back off.", "how to retry", "english-1"), sep="")
    <mark>Retries</mark> back off.
    >>> print(*marked("a // b", "two slashes", "english-1"), sep="")
    a <mark>//</mark> b
    """
    symbols = symbol_words(question) + code_words(question)
    wanted = set(analyse(question, analyser)).union(*symbols)
    terms = analyse_positions(text, analyser) + symbol_positions(text)
    found: list[h.Node] = []
    at = 0
    for term, start, stop in sorted(terms, key=lambda one: one[1]):
        if term in wanted and start >= at:
            found += [text[at:start]] if start > at else []
            found.append(h.mark[text[start:stop]])
            at = stop
    return [*found, text[at:]]


def dropped(
    found: Answer[AnswerItem],
    *,
    links: Links = NOWHERE,
    titles: Mapping[NodeId, str] | None = None,
) -> h.Node:
    """Returns what was ranked and left out, and why; nothing if all is in the answer."""
    if not found.dropped_total:
        return None
    known = titles or {}
    reasons = ", ".join(
        f"{count:,} by {why}" for why, count in found.dropped_counts.items() if count
    )
    rows = [
        (
            linked(
                links.to(f"node/{drop.id}"), one_line(known.get(drop.id, str(drop.id)), width=80)
            ),
            str(drop.reason),
            "" if drop.tokens is None else f"{drop.tokens:,}",
            number(drop.score),
        )
        for drop in found.dropped[:DROPS_SHOWN]
    ]
    more = found.dropped_total - len(rows)
    caption = f"{found.dropped_total:,} left out: {reasons}" + (
        f"; the first {len(rows)} are listed" if more else ""
    )
    return h.section[h.h2["Left out"], table(caption, ("Node", "Why", "Tokens", "Score"), rows)]


def receipt(found: Answer[Item], *, links: Links = NOWHERE) -> h.Element:
    """Returns what replays the answer: its receipt, its root, its result."""
    proof = found.receipt
    commit = None if proof is None else proof.commit
    return h.section[
        h.h2["Receipt"],
        facts(
            (
                (
                    "receipt",
                    "none: it would be too long" if proof is None else code(str(proof.cid)),
                ),
                ("result", code(str(found.cid))),
                ("root", code(str(found.root))),
                (
                    "commit",
                    None
                    if commit is None
                    else linked(links.to(f"commit/{commit}", at=None), code(str(commit))),
                ),
                ("semantics", str(found.query.semantics)),
                ("lanes", ", ".join(f"{lane}: {status}" for lane, status in found.status.items())),
            )
        ),
    ]


def _parts(item: Item) -> dict[str, float]:
    return {lane: score.contribution for lane, score in item.lanes.items()}


def _lanes(item: Item) -> str:
    return "; ".join(
        (f"score {number(item.score)}", plural(item.tokens, "token"), *_lane_texts(item))
    )


def _lane_texts(item: Item) -> Iterator[str]:
    for lane, score in item.lanes.items():
        yield f"{lane}: rank {score.rank}, adds {number(score.contribution)}"
