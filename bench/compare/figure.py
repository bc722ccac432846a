"""Line charts of a run as SVG, nodes against a value, both logarithmic.

Written by hand so that the same results give the same bytes: no date, no random ids, no fonts
measured, two decimals.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from peer import PEERS
from table import ordered, sizes_of, value_of

CHARTS = (
    ("load", "compare-load.svg", "Bulk load, nodes a second"),
    ("cold_lexical", "compare-cold-lexical.svg", "Cold process to first lexical answer, ms"),
    ("cold_dense", "compare-cold-dense.svg", "Cold process to first dense answer, ms"),
    ("lexical_p50", "compare-lexical.svg", "Warm lexical question, median ms"),
    ("dense_p50", "compare-dense.svg", "Warm dense question, median ms"),
    ("hybrid_p50", "compare-hybrid.svg", "Warm hybrid question, median ms"),
    ("insert", "compare-insert.svg", "One durable node, median ms"),
    ("disk", "compare-disk.svg", "Disk, bytes a node"),
)
WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 590, 46, 376
LABEL_GAP = 15
OURS = "ibidem"
APPROXIMATE = ("hnswlib", "chroma")
"""Their lines are dashed: they do not give the exact answer."""
COLOURS = (
    "#c0392b", "#7f8c8d", "#2471a3", "#5dade2", "#1e8449", "#af601a",
    "#d4ac0d", "#6c3483", "#117a65", "#283747", "#d98880",
)  # fmt: skip
Point = tuple[int, float]


def write_figures(found: dict[str, Any], folder: Path) -> list[tuple[str, str]]:
    """Draws every chart that has a line; returns (file name, title) of each."""
    folder.mkdir(parents=True, exist_ok=True)
    cells, drawn = ordered(found["cells"]), []
    for row, name, title in CHARTS:
        lines = {peer: _points(cells, peer, row) for peer in cells}
        lines = {peer: points for peer, points in lines.items() if points}
        if lines:
            colours = dict(zip(PEERS, COLOURS, strict=True))
            (folder / name).write_text(draw(title, lines, colours), encoding="utf-8")
            drawn.append((name, title))
    return drawn


def _points(cells: dict[str, Any], peer: str, row: str) -> list[Point]:
    values = [(size, value_of(cells[peer].get(str(size)), row)) for size in sizes_of(cells)]
    return [(size, value) for size, value in values if isinstance(value, float)]


def draw(title: str, lines: dict[str, list[Point]], colours: dict[str, str]) -> str:
    """Returns one chart; every line has at least one point, every value is positive."""
    every = [point for points in lines.values() for point in points]
    across = Axis([size for size, _ in every], LEFT, RIGHT)
    up = Axis([value for _, value in every], BOTTOM, TOP)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'font-family="sans-serif" font-size="12">'
        ),
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="26" font-size="15" fill="#222222">{escape(title)}</text>',
    ]
    for decade in across.decades():
        x = across.place(decade)
        parts.append(line(x, TOP, x, BOTTOM, "#e5e5e5"))
        parts.append(text(x, BOTTOM + 18, f"{decade:,g}", "#555555", "middle"))
    for decade in up.decades():
        y = up.place(decade)
        parts.append(line(LEFT, y, RIGHT, y, "#e5e5e5"))
        parts.append(text(LEFT - 8, y + 4, f"{decade:,g}", "#555555", "end"))
    parts.append(text((LEFT + RIGHT) / 2, BOTTOM + 36, "nodes", "#555555", "middle"))
    for peer, points in lines.items():
        places = [(across.place(size), up.place(value)) for size, value in points]
        path = " ".join(f"{x:.2f},{y:.2f}" for x, y in places)
        width = 3.5 if peer == OURS else 1.6
        dash = ' stroke-dasharray="5 4"' if peer in APPROXIMATE else ""
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colours[peer]}" '
            f'stroke-width="{width}"{dash}/>'
        )
        parts += [
            f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{1 + width:.1f}" fill="{colours[peer]}"/>'
            for x, y in places
        ]
    ends = {peer: up.place(points[-1][1]) for peer, points in lines.items()}
    for peer, y in _apart(ends).items():
        x = across.place(lines[peer][-1][0])
        parts.append(line(x + 6, ends[peer], RIGHT + 12, y, "#cccccc"))
        parts.append(text(RIGHT + 16, y + 4, peer, colours[peer], "start"))
    return "\n".join([*parts, "</svg>", ""])


class Axis:
    """A logarithmic axis over whole decades around its values."""

    def __init__(self, values: list[float] | list[int], start: float, stop: float) -> None:
        self._low = math.floor(math.log10(min(values)) + 1e-9)
        self._high = max(self._low + 1, math.ceil(math.log10(max(values)) - 1e-9))
        self._start, self._stop = start, stop

    def place(self, value: float) -> float:
        share = (math.log10(value) - self._low) / (self._high - self._low)
        return self._start + share * (self._stop - self._start)

    def decades(self) -> list[float]:
        return [10.0**power for power in range(self._low, self._high + 1)]


def _apart(places: dict[str, float]) -> dict[str, float]:
    """Returns heights of labels in the order of their lines, none over another."""
    found: dict[str, float] = {}
    last = TOP - float(LABEL_GAP)
    for peer in sorted(places, key=lambda name: (places[name], name)):
        last = found[peer] = max(places[peer], last + LABEL_GAP)
    over = max(0.0, last - BOTTOM)
    return {peer: y - over for peer, y in found.items()} if over else found


def line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return (
        f'<line x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" '
        f'stroke="{colour}" stroke-width="1"/>'
    )


def text(x: float, y: float, text: str, colour: str, anchor: str) -> str:
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" fill="{colour}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )
