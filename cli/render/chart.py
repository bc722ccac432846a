"""An explanation as a chart of block characters, for a terminal: a bar for each item, of what each
lane added to its score; then what was left out and why, and how much of the budget was used.

A chart depends on the answer, the width and the encoding alone. Lanes differ by the texture of
their cells, not by colour. Bars are rounded to whole cells; the numbers stand beside them.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ibidem.cli.render.cells import cut
from ibidem.cli.render.output import faint, one_line, strong
from ibidem.retrieve.query.fusion import LANES, kind_of

if TYPE_CHECKING:
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item

BAR_CELLS_MAX = 40
"""Cells of the longest bar, on a wide terminal."""
ITEMS_SHOWN = 20
_TITLE_CELLS_MIN = 12
_BLOCKS, _ASCII = "█▓▒░▞▤▥▦▧▨", "#=+:%~*-ox"
"""A texture for each lane and factor, and what a terminal without block characters gets."""
_REST = {_BLOCKS: "·", _ASCII: "."}


class _Bar(NamedTuple):
    name: str
    shares: Sequence[float]
    """One after the other, each with the texture of its place."""
    value: str
    title: str = ""


def terminal_chart(result: Answer[Item], titles: Sequence[str]) -> list[str]:
    """Returns the chart for standard output; nothing unless it is a terminal.

    Args:
        result: the answer.
        titles: of its items, in their order.
    """
    if not sys.stdout.isatty():
        return []
    width = shutil.get_terminal_size().columns
    return chart_lines(result, titles, width=width, encoding=sys.stdout.encoding or "ascii")


def chart_lines(
    result: Answer[Item], titles: Sequence[str], *, width: int, encoding: str = "utf-8"
) -> list[str]:
    """Returns the chart of an answer; no line is wider than `width`, from 40 cells on.

    Args:
        result: the answer.
        titles: of its items, in their order.
        width: of the terminal, in cells.
        encoding: of the terminal; one without block characters gets ASCII.
    """
    textures = _BLOCKS if _encodes(encoding, _BLOCKS + _REST[_BLOCKS]) else _ASCII
    lanes = _adding(result)
    cells = max(8, min(BAR_CELLS_MAX, width // 2 - 10))
    lines = []
    if lanes:
        legend = ", ".join(
            f"{texture} {name}" for texture, name in zip(textures, lanes, strict=False)
        )
        bars = [
            _Bar(f"[{rank}]", shares, f"{sum(shares):.4g}", title)
            for rank, (item, title) in enumerate(zip(result, titles, strict=True), 1)
            if (shares := _shares(item, lanes))
        ]
        lines += [strong(f"what each lane adds: {one_line(legend)}")]
        lines += [*_drawn(bars[:ITEMS_SHOWN], cells, textures, width=width)]
        more = len(bars) - ITEMS_SHOWN
        lines += [faint(f"  and {more:,} more")] * (more > 0) + [""]
    counts = {reason: count for reason, count in result.dropped_counts.items() if count}
    if counts:
        bars = [_Bar(name, (count,), f"{count:,}") for name, count in sorted(counts.items())]
        lines += [strong("left out, by reason"), *_drawn(bars, cells, textures, width=width), ""]
    if result.token_budget:
        lines += [strong("budget"), _meter(result, cells, textures), ""]
    return lines


def _adding(result: Answer[Item]) -> list[str]:
    """Returns what adds to a score of the answer: lanes in the order of fusion, then factors."""
    found = {name for item in result for name, lane in item.lanes.items() if lane.contribution > 0}
    order = {name: at for at, name in enumerate(LANES)}
    return sorted(found, key=lambda name: (order.get(kind_of(name), len(order)), name))


def _shares(item: Item, names: Sequence[str]) -> list[float]:
    lanes = item.lanes
    return [max(0.0, lanes[name].contribution) if name in lanes else 0.0 for name in names]


def _drawn(bars: Sequence[_Bar], cells: int, textures: str, *, width: int) -> list[str]:
    """Returns a line for each bar; the longest has `cells` cells."""
    longest = max(sum(bar.shares) for bar in bars)
    names = max(len(bar.name) for bar in bars)
    values = max(len(bar.value) for bar in bars)
    room = width - names - cells - values - 8
    lines = []
    for bar in bars:
        drawn = _cells(bar.shares, longest, cells, textures)
        line = f"  {bar.name:<{names}}  {drawn:<{cells}}  {bar.value:>{values}}"
        if bar.title and room >= _TITLE_CELLS_MIN:
            line += f"  {cut(one_line(bar.title), width=room)}"
        lines.append(line.rstrip())
    return lines


def _cells(shares: Sequence[float], longest: float, cells: int, textures: str) -> str:
    """Returns a stacked bar: each share ends at the cell nearest to the sum up to it, so that
    bars of equal sums are equally long."""
    bar, total = "", 0.0
    for share, texture in zip(shares, textures, strict=False):
        total += share
        stop = int(total * cells / longest + 0.5) if longest else 0
        bar += texture * (stop - len(bar))
    return bar


def _meter(result: Answer[Item], cells: int, textures: str) -> str:
    budget = result.token_budget or 0
    full = min(cells, result.tokens_used * cells // budget)
    bar = textures[0] * full + _REST[textures] * (cells - full)
    return f"  {bar}  {result.tokens_used:,} of {budget:,} tokens"


def _encodes(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True
