"""What every release measured beside its peers, and how that went on: `bench/history/speed.json`.

A release has its machine and the cells of its run that are numbers, to four digits. Machines
differ, so what is compared over releases is a ratio within one run: how many times better ours is
than the best exact peer that has the row.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from figure import APPROXIMATE, CHARTS, COLOURS, OURS, Axis, line, text
from table import digits, sizes_of, value_of

MORE_IS_BETTER = ("load",)
SHOWN = 2
"""Releases in the table; the charts have all."""
PANEL_WIDTH, PANEL_HEIGHT, COLUMNS = 380, 210, 2
Release = dict[str, Any]


def record(found: dict[str, Any], release: str, file: Path) -> None:
    """Puts a run into the file as that of a release, in place of its earlier one."""
    releases = read(file)
    cells = {
        row: {
            str(size): {
                peer: float(f"{value:.4g}")
                for peer, sizes in sorted(found["cells"].items())
                if isinstance(value := value_of(sizes.get(str(size)), row), float)
            }
            for size in sizes_of(found["cells"])
        }
        for row, _, _ in CHARTS
    }
    made = {"release": release, "machine": found["machine"], "cells": cells}
    releases = [one for one in releases if one["release"] != release] + [made]
    file.write_text(json.dumps({"releases": releases}, indent=1) + "\n", encoding="utf-8")


def read(file: Path) -> list[Release]:
    """Returns the releases of a file, oldest first; none if there is no file."""
    if not file.exists():
        return []
    found: list[Release] = json.loads(file.read_text(encoding="utf-8"))["releases"]
    return found


def ratio(release: Release, row: str, size: str) -> float | None:
    """Returns how many times better ours is than the best exact peer; None without both."""
    values = release["cells"].get(row, {}).get(size, {})
    others = [value for peer, value in values.items() if peer not in (OURS, *APPROXIMATE)]
    if OURS not in values or not others:
        return None
    if row in MORE_IS_BETTER:
        return float(values[OURS] / max(others))
    return float(min(others) / values[OURS])


def markdown(releases: list[Release]) -> str:
    """Returns a table of ours in the last releases, with the ratios."""
    releases = releases[-SHOWN:]
    sizes = sorted({int(s) for one in releases for row in one["cells"].values() for s in row})
    lines = ["### Over the releases", ""]
    lines += ["Ours, and in parentheses how many times better it is than the best exact peer.", ""]
    heads = [f"{one['release']}, {size:,}" for size in sizes for one in releases]
    lines += ["| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for row, _, title in CHARTS:
        texts = []
        for size in map(str, sizes):
            for one in releases:
                ours = one["cells"].get(row, {}).get(size, {}).get(OURS)
                times = ratio(one, row, size)
                shown = "-" if ours is None else digits(ours)
                texts.append(shown if times is None else f"{shown} ({digits(times)})")
        lines.append(f"| {title} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def draw(releases: list[Release]) -> str:
    """Returns a page of charts, one a row: the ratio of every size, release after release."""
    rows = -(-len(CHARTS) // COLUMNS)
    width, height = PANEL_WIDTH * COLUMNS, PANEL_HEIGHT * rows + 30
    title = "How many times better than the best exact peer, release by release"
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'font-family="sans-serif" font-size="11">'
        ),
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="20" font-size="15" fill="#222222">{escape(title)}</text>',
    ]
    for number, (row, _, name) in enumerate(CHARTS):
        left = PANEL_WIDTH * (number % COLUMNS)
        top = 30.0 + PANEL_HEIGHT * (number // COLUMNS)
        parts += _panel(releases, row, name, left, top)
    return "\n".join([*parts, "</svg>", ""])


def _panel(releases: list[Release], row: str, name: str, left: float, top: float) -> list[str]:
    lines = {
        size: [
            (at, times)
            for at, one in enumerate(releases)
            if (times := ratio(one, row, str(size))) is not None
        ]
        for size in sorted({int(size) for one in releases for size in one["cells"].get(row, {})})
    }
    lines = {size: points for size, points in lines.items() if points}
    if not lines:
        return []
    begin, end, low, high = left + 46, left + PANEL_WIDTH - 86, top + PANEL_HEIGHT - 34, top + 26
    up = Axis([1.0, *(times for points in lines.values() for _, times in points)], low, high)
    step = (end - begin) / max(1, len(releases) - 1)
    parts = [text(begin, top + 16, name, "#222222", "start")]
    for decade in up.decades():
        y = up.place(decade)
        parts.append(line(begin, y, end, y, "#888888" if decade == 1 else "#e5e5e5"))
        parts.append(text(begin - 6, y + 4, f"{decade:,g}", "#555555", "end"))
    parts += [
        text(begin + step * at, low + 18, one["release"], "#555555", "middle")
        for at, one in enumerate(releases)
    ]
    for number, (size, points) in enumerate(lines.items()):
        colour = COLOURS[2 * number % len(COLOURS)]
        places = [(begin + step * at, up.place(times)) for at, times in points]
        path = " ".join(f"{x:.2f},{y:.2f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.2f}" cy="{y:.2f}" r="3" fill="{colour}"/>' for x, y in places]
        parts.append(text(end + 8, high + 14 * number + 10, f"{size:,}", colour, "start"))
    return parts
