"""Tables of a run in Markdown, and the page that holds them.

A row is a peer, a column a size; the last column is the growth exponent, the slope of a line
through (log nodes, log value): 0 does not grow, 1 grows as the nodes do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peer import EXTRA, LANES, PEERS

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that is measured, as one table."""

    title: str
    cells: tuple[str, ...]
    """One to three cells, printed with slashes between."""
    grows: bool = True


ROWS = (
    Row("Bulk load, durable and ready for questions (nodes/s; more is better)", ("load",)),
    Row("Cold process, open and first lexical answer, whole process (ms)", ("cold_lexical",)),
    Row("Cold process, open and first dense answer, whole process (ms)", ("cold_dense",)),
    Row("Cold process, open and first hybrid answer, whole process (ms)", ("cold_hybrid",)),
    Row("Warm lexical, p50 / p95 (ms)", ("lexical_p50", "lexical_p95")),
    Row("Warm dense, p50 / p95 (ms)", ("dense_p50", "dense_p95")),
    Row("Warm hybrid, p50 / p95 (ms)", ("hybrid_p50", "hybrid_p95")),
    Row("Dense recall at k against exact search (1 is exact)", ("recall",), grows=False),
    Row("One durable one-node commit or insert (ms)", ("insert",)),
    Row("The first question after it, which must find the node (ms)", ("insert_first",)),
    Row(
        "Warm lexical, filtered so that 1 / 10 / 50 % of the nodes pass, p50 (ms)",
        ("lexical_filtered_1", "lexical_filtered_10", "lexical_filtered_50"),
    ),
    Row(
        "Warm dense, filtered so that 1 / 10 / 50 % of the nodes pass, p50 (ms)",
        ("dense_filtered_1", "dense_filtered_10", "dense_filtered_50"),
    ),
    Row("A durable batch that replaces 100 nodes (ms)", ("updated",)),
    Row("Warm lexical after ten such batches, p50 (ms)", ("lexical_updated",)),
    Row("Warm dense after ten such batches, p50 (ms)", ("dense_updated",)),
    Row(
        "A lexical question to the library / over HTTP / over MCP, p50 (ms)",
        ("served_library", "served_http", "served_mcp"),
    ),
    Row("Disk (bytes a node)", ("disk",)),
    Row("Memory while loading, peak resident (MB)", ("load_peak_mb",)),
    Row("Memory of a warm process, resident / anonymous (MB)", ("rss_mb", "anonymous_mb")),
)


def markdown(found: dict[str, Any]) -> str:
    """Returns the machine, the peers and every table."""
    parts = [_machine(found), _peers(found)]
    parts += [_table(row, found["cells"]) for row in ROWS]
    return "\n\n".join(parts)


def write_page(text: str, page: Path, figures: list[tuple[str, str]]) -> None:
    """Puts tables and figures between the marks of `page`, which has to have them."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"{page} has no {BEGIN} ... {END}")
    drawn = "\n\n".join(f"![{title}](figures/{name})" for name, title in figures)
    whole = f"{before}{BEGIN}\n\n{text}\n\n{drawn}\n\n{END}{after}"
    page.write_text(whole, encoding="utf-8")


def sizes_of(cells: dict[str, Any]) -> list[int]:
    """Returns every size that was measured, ascending."""
    return sorted({int(size) for peer in cells.values() for size in peer})


def ordered(cells: dict[str, Any]) -> dict[str, Any]:
    """Returns the cells in the order of PEERS, whatever order a file had them in."""
    return {name: cells[name] for name in PEERS if name in cells}


def exponent(points: list[tuple[int, float]]) -> float | None:
    """Returns the slope of log value over log size by least squares; None for less than two."""
    usable = [(math.log(size), math.log(value)) for size, value in points if value > 0]
    if len(usable) < 2:
        return None
    x_mean = sum(x for x, _ in usable) / len(usable)
    y_mean = sum(y for _, y in usable) / len(usable)
    spread = sum((x - x_mean) ** 2 for x, _ in usable)
    return sum((x - x_mean) * (y - y_mean) for x, y in usable) / spread


def value_of(cell: dict[str, Any] | None, name: str) -> float | str | None:
    """Returns a number, why there is none, or None where the peer does not have the row."""
    if cell is None:
        return "not run"
    if isinstance(cell["load"], str):
        return str(cell["load"])
    value: float | str | None = cell.get(name)
    return value


def _table(row: Row, cells: dict[str, Any]) -> str:
    sizes = sizes_of(cells)
    heads = [f"{size:,}" for size in sizes] + (["growth"] if row.grows else [])
    lines = [f"### {row.title}", "", "| | " + " | ".join(heads) + " |"]
    lines.append("|---|" + "---:|" * len(heads))
    for name, peer in ordered(cells).items():
        if not _has(peer, row):
            continue
        texts = [
            _joined([value_of(peer.get(str(size)), cell) for cell in row.cells]) for size in sizes
        ]
        if row.grows:
            numbers = [(size, value_of(peer.get(str(size)), row.cells[0])) for size in sizes]
            slope = exponent([(size, one) for size, one in numbers if isinstance(one, float)])
            texts.append("-" if slope is None else f"{slope:.2f}")
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def _has(peer: dict[str, Any], row: Row) -> bool:
    """Returns whether a peer can do what a row measures, as far as any size has loaded."""
    able = {
        one for cell in peer.values() for one in (*cell.get("lanes", ()), *cell.get("extra", ()))
    }
    needed = {one for one in (*LANES, *EXTRA) if one in row.cells[0].replace("recall", "dense")}
    return not able or needed <= able


def _joined(values: list[float | str | None]) -> str:
    texts = [
        "-" if one is None else one.replace("|", " ") if isinstance(one, str) else digits(one)
        for one in values
    ]
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)


def digits(value: float) -> str:
    """Returns a number with the digits that it deserves."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _machine(found: dict[str, Any]) -> str:
    machine, cells = found["machine"], found["cells"]
    lines = [
        (
            f"- Machine: {machine['cores']} cores, {machine['processor']}, "
            f"{', '.join(machine['features'])}; {machine['memory_gb']} GB; {machine['system']}; "
            f"Python {machine['python']}."
        ),
        f"- k = {found['settings']['limit']}.",
    ]
    for size in sizes_of(cells):
        here = [peer[str(size)] for peer in cells.values() if str(size) in peer]
        loads = [load for cell in here for load in cell["machine_load"]]
        turns = "/".join(str(one) for one in sorted({cell["turns"] for cell in here}))
        lines.append(
            f"- {size:,} nodes: turns {turns}; load average of the machine, this included, "
            f"{min(loads):.1f} to {max(loads):.1f}."
        )
    return "\n".join(lines)


def _peers(found: dict[str, Any]) -> str:
    lines = ["| | versions | set up |", "|---|---|---|"]
    for name, peer in ordered(found["cells"]).items():
        loaded = [cell for cell in peer.values() if "versions" in cell]
        if not loaded:
            lines.append(f"| {name} | | {next(iter(peer.values()))['load']} |")
            continue
        versions = ", ".join(f"{key} {value}" for key, value in loaded[0]["versions"].items())
        lines.append(f"| {name} | {versions or 'standard library'} | {loaded[0]['note']} |")
    return "\n".join(lines)
