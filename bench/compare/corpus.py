"""The data that all share, from a seed: Zipf-like texts, clustered unit vectors, questions.

`prepare` writes them once; peers read what they need. Files: `texts.txt` a text a line,
`vectors.f32` and `query.f32` rows of DIM little-endian float32, `queries.txt` a question a line,
`extra.txt` and `extra.f32` the nodes that are inserted one by one,
`extra-queries.txt` the rarest words of each. Every word ends in `k` and is
neither a stop word nor changed by a stemmer, so that all analysers see the same terms.
Nothing here imports numpy before it is needed: a cold process pays only for its peer.
"""

from __future__ import annotations

import os
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

DIM = 384
TOKENS = 80
VOCABULARY, EXPONENT, COMMON = 50_000, 1.05, 50
CLUSTER_NODES = 100
"""Nodes a cluster; the cosine of two members is about 0.6."""
QUERY_TERMS = 4
QUERIES, EXTRAS = 64, 16
UPDATES = 1_000
BATCH = 5_000


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: a text and a unit vector of DIM dimensions."""

    text: str
    vector: array[float]


def prepare(folder: str, size: int, seed: int = 7) -> None:
    """Writes the data of `size` nodes, unless it is there."""
    done = f"{folder}/done"
    if os.path.exists(done):
        return
    import numpy as np

    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng([seed, size])
    weights = np.arange(1, VOCABULARY + 1) ** -EXPONENT
    edges = np.cumsum(weights / weights.sum())
    words = [_word(number) for number in range(VOCABULARY)]
    centres = rng.standard_normal((max(1, size // CLUSTER_NODES), DIM)).astype(np.float32)

    def terms(count: int) -> Any:
        return np.minimum(np.searchsorted(edges, rng.random((count, TOKENS))), VOCABULARY - 1)

    def vectors(count: int) -> Any:
        made = centres[rng.integers(len(centres), size=count)]
        made = made + 0.8 * rng.standard_normal((count, DIM)).astype(np.float32)
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype("<f4")

    def text(numbers: Any) -> str:
        return " ".join(words[number] for number in numbers.tolist())

    with open(f"{folder}/texts.txt", "w") as texts, open(f"{folder}/vectors.f32", "wb") as rows:
        for start in range(0, size, BATCH):
            count = min(BATCH, size - start)
            texts.writelines(text(one) + "\n" for one in terms(count))
            rows.write(vectors(count).tobytes())
    rare = [one[one >= COMMON][:QUERY_TERMS] for one in terms(QUERIES)]
    _write(f"{folder}/queries.txt", [text(one) for one in rare])
    vectors(QUERIES).tofile(f"{folder}/query.f32")
    added = terms(EXTRAS)
    _write(f"{folder}/extra.txt", [text(one) for one in added])
    rarest = np.sort(added, axis=1)[:, -QUERY_TERMS:]
    _write(f"{folder}/extra-queries.txt", [text(one) for one in rarest])
    vectors(EXTRAS).tofile(f"{folder}/extra.f32")
    _write(done, [str(size)])


def _word(number: int) -> str:
    syllables = [
        "bdfghjklmnprstvz"[number // 80**place % 16] + "aeiou"[number // 16 // 80**place % 5]
        for place in range(3)
    ]
    return "".join(syllables) + "k"


def _write(path: str, lines: list[str]) -> None:
    with open(path, "w") as file:
        file.writelines(line + "\n" for line in lines)


def questions(folder: str) -> list[Question]:
    """Returns the questions."""
    return _pairs(f"{folder}/queries.txt", f"{folder}/query.f32")


def extras(folder: str) -> list[Question]:
    """Returns the nodes to insert."""
    return _pairs(f"{folder}/extra.txt", f"{folder}/extra.f32")


def extra_questions(folder: str) -> list[Question]:
    """Returns for each node to insert a question that finds it."""
    return _pairs(f"{folder}/extra-queries.txt", f"{folder}/extra.f32")


def changes(folder: str, size: int) -> list[tuple[int, Question]]:
    """Returns UPDATES numbers, evenly spread, each with text and vector of the next node."""
    count = min(UPDATES, size)
    wanted = {(size * place // count + 1) % size: size * place // count for place in range(count)}
    found = []
    with open(f"{folder}/texts.txt") as texts, open(f"{folder}/vectors.f32", "rb") as rows:
        for number, line in enumerate(texts):
            if number in wanted:
                rows.seek(4 * DIM * number)
                vector = array("f", rows.read(4 * DIM))
                found.append((wanted[number], Question(line.strip(), vector)))
    return found


def _pairs(texts: str, vectors: str) -> list[Question]:
    with open(texts) as file, open(vectors, "rb") as rows:
        numbers = array("f", rows.read())
        return [
            Question(line.strip(), numbers[DIM * place : DIM * (place + 1)])
            for place, line in enumerate(file)
        ]


class Corpus:
    """The nodes to load; `reading_s` is spent on reading them, not by a peer."""

    def __init__(self, folder: str, size: int) -> None:
        self.folder, self.size, self.reading_s = folder, size, 0.0

    def batches(self, count: int = BATCH) -> Iterator[tuple[int, list[str], Any]]:
        """Yields (first number, texts, vectors (n, DIM) float32) in order."""
        import numpy as np

        with open(f"{self.folder}/texts.txt") as texts:
            for start in range(0, self.size, count):
                started = time.perf_counter()
                lines = [texts.readline().strip() for _ in range(min(count, self.size - start))]
                rows = np.fromfile(
                    f"{self.folder}/vectors.f32", "<f4", DIM * len(lines), offset=4 * DIM * start
                ).reshape(-1, DIM)
                self.reading_s += time.perf_counter() - started
                yield start, lines, rows

    def texts(self) -> list[str]:
        """Returns all texts."""
        started = time.perf_counter()
        with open(f"{self.folder}/texts.txt") as file:
            found = [line.strip() for line in file]
        self.reading_s += time.perf_counter() - started
        return found

    def vectors(self) -> Any:
        """Returns all vectors, (n, DIM) float32."""
        import numpy as np

        started = time.perf_counter()
        found = np.fromfile(f"{self.folder}/vectors.f32", "<f4").reshape(-1, DIM)
        self.reading_s += time.perf_counter() - started
        return found
