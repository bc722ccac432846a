"""Cuts packs and texts to what fits.

Of a pack the members nearest to its best hit are kept, whole; of a single one the beginning of its
text, up to the end of a paragraph, line or sentence, else of a word. The longest beginning that
fits is shortened to the last good border in its last quarter, so a cut loses at most a quarter of
what there was room for, and more room never gives less text.

Spec: packs 7.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ibidem.retrieve.context.pack import BETWEEN, Member, Pack, pack_cid
from ibidem.retrieve.tokens import TokenEstimator

_GOOD = re.compile(r"\n|(?<=[.!?:;])\s|(?<=[\u3002\uff01\uff1f])")
_WORD = re.compile(r"\s")


def cut_to_fit(
    pack: Pack,
    policy: Mapping[str, Any],
    estimator: TokenEstimator,
    fits: Callable[[Pack], bool],
) -> Pack | None:
    """Returns a part of a pack that fits, None if nothing of it does.

    Args:
        pack: does not fit.
        policy: the options that its identity depends on.
        estimator: counts the tokens of the part.
        fits: whether a pack fits; if one does, all with less text do.
    """
    near = _by_distance(pack)

    def part(positions: list[int], chars: int | None = None) -> Pack:
        return _part(pack, sorted(positions), chars, policy, estimator)

    found = None
    for count in range(1, len(near)):
        more = part(near[:count])
        if not fits(more):
            break
        found = more
    if found is not None:
        return found
    text = pack.members[near[0]].text
    shown = clipped_text(text, lambda some: fits(part(near[:1], len(some))))
    return part(near[:1], len(shown)) if shown else None


def _by_distance(pack: Pack) -> list[int]:
    """Returns the indices of the members, those nearest to the best hit first, of two at the same
    distance the later one."""
    entry = pack.entry
    best = next((at for at, one in enumerate(pack.members) if one.id == entry.id), None)
    if best is None:
        positions = [one.ord for one in pack.members]
        best = positions.index(entry.ord) if entry.ord in positions else 0
    if pack.document is None:
        return list(range(len(pack.members)))
    return sorted(range(len(pack.members)), key=lambda at: (abs(at - best), at < best))


def _part(
    pack: Pack,
    positions: list[int],
    chars: int | None,
    policy: Mapping[str, Any],
    estimator: TokenEstimator,
) -> Pack:
    """Returns a pack of some members of another, with the headings that stand before them."""
    members: list[Member] = []
    pieces: list[str] = []
    end = 0
    for at, member in enumerate(pack.members[: positions[-1] + 1]):
        pieces += [line for line in pack.text[end : member.start].split(BETWEEN) if line]
        end = member.start + len(member.text)
        if at in positions:
            start = sum(map(len, pieces)) + len(BETWEEN) * len(pieces)
            members.append(member._replace(text=member.text[:chars], start=start))
            pieces.append(members[-1].text)
    is_section = pack.scope == "section"
    found = replace(
        pack,
        id=pack_cid(policy, pack.document, [member.cid for member in members]),
        scope="neighbors" if is_section else pack.scope,
        section=None,
        alias=f"o:{members[0].ord}-{members[-1].ord}"
        if pack.scope in ("section", "neighbors")
        else pack.alias,
        hits=tuple(hit._replace(spans=_inside(hit.spans, chars)) for hit in pack.hits),
        members=tuple(members),
        text=BETWEEN.join(pieces),
    )
    return replace(found, tokens=estimator.estimate(found.rendered))


def _inside(spans: tuple[tuple[int, int], ...], chars: int | None) -> tuple[tuple[int, int], ...]:
    return spans if chars is None else tuple(span for span in spans if span[1] <= chars)


def clipped_text(text: str, fits: Callable[[str], bool]) -> str:
    """Returns the beginning of a text that fits, cut at a border, without white space at its end.

    Args:
        text: any.
        fits: whether a text fits; if one does, all of its beginnings do.

    >>> clipped_text("One. Two three four", lambda text: len(text) <= 5)
    'One.'
    >>> clipped_text("One. Two three four", lambda text: len(text) <= 17)
    'One. Two three'
    """
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(text[:middle]) else (low, middle - 1)
    if low == len(text):
        return text
    for border in (_GOOD, _WORD):
        ends = [found.start() for found in border.finditer(text, 0, low + 1)]
        if ends and ends[-1] * 4 >= low * 3:
            return text[: ends[-1]].rstrip()
    return text[:low].rstrip()
