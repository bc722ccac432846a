"""An answer of packs as text for a person, every number in it taken from the answer."""

from __future__ import annotations

from collections.abc import Iterator

from ibidem.retrieve.packs.result import Pack, PackResult


def explain(result: PackResult) -> str:
    """Returns what was asked, the packs with their hits and lanes, and what was left out."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: PackResult) -> Iterator[str]:
    options = result.query.packs
    assert options is not None, "BUG: packs without their options"
    yield f"root {result.root}"
    yield f"expand {options.expand}, merge {options.merge}, rank {options.rank}"
    for lane, status in result.status.items():
        yield f"lane {lane}: {status}"
    yield f"{result.candidates_seen} hits, {len(result.packs)} packs, {result.tokens_used} tokens"
    for place, pack in enumerate(result.packs, 1):
        yield from _pack_lines(place, pack)
    for reason, count in result.dropped_counts.items():
        if count:
            yield f"{count} packs left out by {reason}"
    for warning in result.warnings:
        yield f"warning {warning.code}: {warning.message}"


def _pack_lines(place: int, pack: Pack) -> Iterator[str]:
    note = "" if pack.fallback is None else f", fallback {pack.fallback}"
    yield (
        f"{place}. {pack.alias} score {pack.score!r} nodes {pack.span_count} "
        f"tokens {pack.tokens}{note}"
    )
    for hit in pack.hits:
        yield f"   hit {hit.id} score {hit.score!r}"
        for name, lane in hit.lanes.items():
            yield (
                f"      {name}: rank {lane.rank}, score {lane.score!r}, "
                f"contributes {lane.contribution!r}"
            )
