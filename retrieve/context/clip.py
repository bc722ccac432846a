"""Cuts packs to what fits.

The members nearest to the best hit are kept, whole; of a single one a part of its text: the
beginning, or with `excerpt` what is around the best match (`excerpt.py`).

Spec: packs 7.1, 7.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ibidem.retrieve.context.excerpt import Range, clipped_text, excerpt
from ibidem.retrieve.context.option import PackOptions
from ibidem.retrieve.context.pack import BETWEEN, Hit, Member, Pack, pack_cid
from ibidem.retrieve.query.frame import Counter


def cut_to_fit(
    pack: Pack,
    options: PackOptions,
    counter: Counter,
    fits: Callable[[Pack], bool],
    *,
    is_first: bool,
) -> Pack | None:
    """Returns a part of a pack that fits, None if nothing of it does, or too little.

    Args:
        pack: does not fit.
        options: of the query; its identity and where it is cut follow from them.
        counter: counts the tokens of the part.
        fits: whether a pack fits; if one does, all with less text do.
        is_first: whether nothing is before it, so that any part is enough.
    """
    whole = options.sentences and not is_first
    found = _fitting(pack, options, counter, fits, whole=whole)
    if found is None or is_first:
        return found
    return None if counter.estimate(found.text) < options.least else found


def _fitting(
    pack: Pack,
    options: PackOptions,
    counter: Counter,
    fits: Callable[[Pack], bool],
    *,
    whole: bool,
) -> Pack | None:
    policy, sentences = options.policy(), options.sentences
    if not pack.has_header:
        near = nearest_first(pack)
        found = None
        least, most = 0, len(near)  # of the members, all of which do not fit
        while most - least > 1:
            count = (least + most) // 2
            some = _part(pack, sorted(near[:count]), policy, counter)
            if fits(some):
                found, least = some, count
            else:
                most = count
        if found is not None:
            return found
        pack = _part(pack, near[:1], policy, counter)

    def is_fit(*ranges: Range) -> bool:
        return fits(_excerpt(pack, ranges, policy, counter))

    *header, shown = pack.members
    if pack.focus is None:
        part = clipped_text(
            shown.text, lambda some: is_fit((0, len(some))), sentences=sentences, whole=whole
        )
        size = len(part)
        ranges = [(0, size)] if size else []
    else:
        above = header[0].range if header else None
        ranges = excerpt(
            shown.text,
            pack.focus,
            is_fit,
            sentences=sentences,
            whole=whole,
            start=shown.offset,
            header=above,
        )
    return _excerpt(pack, ranges, policy, counter) if ranges else None


def nearest_first(pack: Pack) -> list[int]:
    """Returns the indices of the members, those nearest to the best hit first, of two at the same
    distance the later one."""
    if pack.document is None:
        return list(range(len(pack.members)))
    entry = pack.entry
    best = next((at for at, one in enumerate(pack.members) if one.id == entry.id), None)
    if best is None:
        positions = [one.ord for one in pack.members]
        best = positions.index(entry.ord) if entry.ord in positions else 0
    return sorted(range(len(pack.members)), key=lambda at: (abs(at - best), at < best))


def _part(
    pack: Pack, positions: Sequence[int], policy: Mapping[str, Any], counter: Counter
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
            members.append(member._replace(start=start))
            pieces.append(member.text)
    is_section = pack.scope == "section"
    found = replace(
        pack,
        scope="neighbors" if is_section else pack.scope,
        section=None,
        alias=f"o:{members[0].ord}-{members[-1].ord}"
        if pack.scope in ("section", "neighbors")
        else pack.alias,
    )
    return _with(found, members, BETWEEN.join(pieces), policy, counter)


def _excerpt(
    pack: Pack, ranges: Sequence[Range], policy: Mapping[str, Any], counter: Counter
) -> Pack:
    """Returns a pack of one node with some ranges of its text, each on lines of its own."""
    members: list[Member] = []
    text = pack.text[: pack.members[0].start]
    for start, stop in ranges:
        text += "\n" if members else ""
        member = next(one for one in reversed(pack.members) if one.offset <= start)
        piece = member.text[start - member.offset : stop - member.offset]
        members.append(member._replace(text=piece, start=len(text), offset=start))
        text += piece
    return _with(pack, members, text, policy, counter)


def _with(
    pack: Pack,
    members: Sequence[Member],
    text: str,
    policy: Mapping[str, Any],
    counter: Counter,
) -> Pack:
    """Returns a pack with other members and text, and what follows from them."""
    id_ = pack_cid(policy, pack.document, [member.cid for member in members])
    hits = tuple(hit._replace(spans=_shown_spans(hit, members)) for hit in pack.hits)
    found = replace(pack, id=id_, hits=hits, members=tuple(members), text=text)
    return replace(found, tokens=counter.cost(found.rendered))


def _shown_spans(hit: Hit, members: Sequence[Member]) -> tuple[Range, ...]:
    ranges = [member.range for member in members if member.id == hit.id]
    return tuple(
        span
        for span in hit.spans
        if any(start <= span[0] and span[1] <= stop for start, stop in ranges)
    )
