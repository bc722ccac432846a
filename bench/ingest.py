"""What ingest costs: Markdown and JSON lines, first and again, in memory and on disk.

    python bench/ingest.py [--megabytes 10] [--nodes 20000]

The Markdown is the language reference that sits inside every Python, copied until it has the size;
the copies are documents of their own, so every node is new. Prints a table; times are of one run.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import pydoc_data.topics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np

import ibidem
from ibidem.ingest.document import read_document
from ibidem.ingest.ingest import ingest
from ibidem.ingest.report import Report

DIMENSIONS = 384
Result = TypeVar("Result")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--nodes", type=int, default=20_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = write_documents(folder / "docs", int(arguments.megabytes * 1e6))
        size_bytes = sum(map(len, sources))
        row("parse only", len(sources), size_bytes, timed(lambda: parse(sources))[1])
        for path in ("memory:", str(folder / "repository")):
            where = "memory" if path == "memory:" else "disk"
            with ibidem.init(path) as repo:
                documents(repo, folder / "docs", where, size_bytes)
                lines(repo, arguments.nodes, where)


def documents(repo: ibidem.Repository, docs: Path, where: str, size_bytes: int) -> None:
    """Measures a first ingest, a second one, and one after an edit of one paragraph."""
    first = next(docs.rglob("*.md"))
    text = first.read_text()
    for title in ("first", "again", "one edit"):
        if title == "one edit":
            first.write_text(text + "\nOne more paragraph.\n")
        report, seconds = timed(lambda: transact(repo, docs))
        nodes = report.nodes_added + report.nodes_changed + report.nodes_removed
        row(f"Markdown, {where}, {title}", nodes, size_bytes, seconds)
    first.write_text(text)


def lines(repo: ibidem.Repository, count: int, where: str) -> None:
    """Measures JSON lines: a node, a vector of 384 dimensions and an edge each."""
    data = b"".join(records(count))
    _, seconds = timed(lambda: transact(repo, "-", stdin=io.BytesIO(data)))
    row(f"JSON lines, {where}", count, len(data), seconds)


def transact(repo: ibidem.Repository, path: Path | str, **options: io.BytesIO) -> Report:
    with repo.transaction(author="bench", message="ingest") as tx:
        return ingest(tx, [path], **options)


def parse(sources: list[str]) -> None:
    for index, source in enumerate(sources):
        read_document(f"{index}.md", source)


def write_documents(folder: Path, size_bytes: int) -> list[str]:
    sources: list[str] = []
    written = 0
    topics = sorted(pydoc_data.topics.topics.items())
    while written < size_bytes:
        copy = len(sources) // len(topics)
        name, text = topics[len(sources) % len(topics)]
        source = f"# {name} {copy}\n\n{text}\n"
        file = folder / str(copy) / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
        sources.append(source)
        written += len(source)
    return sources


def records(count: int) -> Iterator[bytes]:
    generator = np.random.default_rng(0)
    for index in range(count):
        name = str(index)
        values = generator.standard_normal(DIMENSIONS).astype("<f4")
        node = {"name": name, "ntype": "Note", "summary": f"Note {index}. " + "Some words. " * 30}
        vector = {"node": name, "model": "m", "base64_f32": base64.b64encode(values).decode()}
        edge = {"source": name, "etype": "next", "target": str(max(0, index - 1))}
        for form, body in (("node", {**node, "key": index}), ("vector", vector), ("edge", edge)):
            yield json.dumps({form: body}).encode() + b"\n"


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    started = time.perf_counter()
    result = work()
    return result, time.perf_counter() - started


def row(title: str, count: int, size_bytes: int, seconds: float) -> None:
    rates = f"{size_bytes / 1e6 / seconds:>7.1f} MB/s {count / seconds:>9,.0f} items/s"
    print(f"{title:28} {count:>8,} items {seconds:>7.2f} s {rates}")


if __name__ == "__main__":
    main()
