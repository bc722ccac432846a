"""How an answer came about, as HTML: its ranking after each commit that changed it, as lines
through time and one after the other.

The rankings stand side by side in a part of the page that scrolls from one to the next, by a
finger, by the arrow keys, or by the numbers above it: a slider without a script.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import htpy as h

from ibidem.objects.printable import one_line
from ibidem.pages import comparison, svg
from ibidem.pages.html import tag
from ibidem.repo.history.answer_change import rankings

if TYPE_CHECKING:
    from ibidem.objects.ids import NodeId
    from ibidem.repo.history.answer_change import Ranking
    from ibidem.repo.history.compare import Comparison

RANKS_SHOWN = 20


def course_between(found: Comparison, *, before: str, after: str) -> h.Node:
    """Returns how one answer of a comparison became the other; nothing if at most one commit did
    it, or the revisions are on two branches.
    """
    states = rankings(found, before=before, after=after)
    return course(states) if len(states) > 2 else None


def course(rankings: Sequence[Ranking]) -> h.Element:
    """Returns the rankings of an answer, oldest first."""
    numbers = range(len(rankings))
    return h.section[
        h.h2["How it came about"],
        h.div(".scrolls", role="region", tabindex="0", aria_label="Ranks at each state")[
            picture(rankings)
        ],
        h.nav(".pages", aria_label="States")[
            (h.a(href=f"#state-{number}")[str(number)] for number in numbers)
        ],
        h.div(".states", role="region", tabindex="0", aria_label="The answer at each state")[
            (_state(number, ranking) for number, ranking in zip(numbers, rankings, strict=True))
        ],
    ]


def picture(rankings: Sequence[Ranking]) -> h.Element:
    """Returns the ranks of all items through time; a column for each state, by its number."""
    titles: dict[NodeId, str] = {}
    for ranking in rankings:
        for item in ranking.items[:RANKS_SHOWN]:
            titles.setdefault(item.id, one_line(item.title, width=80) or item.label)
    ranks = [{item.id: item.rank for item in ranking.items[:RANKS_SHOWN]} for ranking in rankings]
    return svg.rank_course(
        [(title, [each.get(id_) for each in ranks]) for id_, title in titles.items()],
        states=len(rankings),
    )


def _state(number: int, ranking: Ranking) -> h.Element:
    cause = ranking.cause
    if cause is None:
        head: h.Node = one_line(ranking.name)
    else:
        count = cause.commits_count
        many = "" if count == 1 else f"one or more of {count} commits up to "
        head = [many, comparison.commit(cause.commit)]
    more = len(ranking.items) - RANKS_SHOWN
    gone = [kind for kind in ranking.kinds.values() if kind == "left"]
    return h.section(id=f"state-{number}")[
        h.h3[f"{number}. ", head],
        h.ol[
            (
                h.li[
                    one_line(item.title, width=80) or item.label,
                    [" ", tag(str(ranking.kinds[item.id]))] if item.id in ranking.kinds else None,
                ]
                for item in ranking.items[:RANKS_SHOWN]
            )
        ],
        h.p(".muted")[f"and {more:,} more"] if more > 0 else None,
        h.p(".muted")[f"{len(gone):,} left the answer"] if gone else None,
    ]
