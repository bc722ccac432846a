"""Retrieval quality of analysers and BM25 settings on real data sets, with paired differences.

Everything that the definition of the lexical lane leaves open was chosen with this script:
stemming, stop words, identifiers, k1 and b. BM25 is written out here, as spec/retrieval.md defines
it but in plain floating point, so that a variant needs no repository. Ties go to document order.

    python bench/bm25.py DATA [--json OUT] [--set SET ...]

DATA holds one folder a set, each with corpus, queries and qrels as `.jsonl.gz`: locomo, cranfield,
cacm, musique100, hotpotqa100. Columns: turn nDCG@10 or nDCG@10; for locomo any@5 and any@10 too (a
session scores the best of its turns among the top 50; hit if a gold session is among the first k).
In brackets, the difference to the first variant in standard errors of the paired differences: below
2 is noise.
"""

import argparse
import gzip
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from ibidem.index.analysis import ENGLISH, UNICODE, analyse
from ibidem.index.analysis.fold import fold
from ibidem.index.analysis.language import stop_words as stop_words_of
from ibidem.index.analysis.normalise import normalised
from ibidem.index.analysis.stem import stem
from ibidem.index.analysis.words import stemmed_spans

STOP_WORDS = stop_words_of("english")
Analyse = Callable[[str], list[str]]
Scores = dict[str, np.ndarray]
SETS = ("locomo", "cranfield", "cacm", "musique100", "hotpotqa100")
TURNS = 50
K1, B = 1.2, 0.7
LISTS = (
    "who whom whose which what when where why how whether",
    "have has had having do does did doing done can could might must shall should will would",
    "a an and are as at be but by for if in into is it no not of on or the to",
    "get gets got make makes made go goes went take takes took give gives gave come comes came",
)


class Bm25:
    """BM25 over one collection: gains are computed once per posting, a query adds them up."""

    def __init__(self, documents: Sequence[list[str]], *, k1: float, b: float) -> None:
        lengths = np.array([len(terms) for terms in documents], dtype=float)
        live = int((lengths > 0).sum())
        self.size = len(documents)
        saturation = k1 * (1 - b + b * lengths / max(1.0, lengths.sum() / max(1, live)))
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for row, terms in enumerate(documents):
            for term, count in Counter(terms).items():
                found[term].append((row, count))
        self.gains = {}
        for term, pairs in found.items():
            rows, counts = np.array(pairs).T
            weight = math.log((2 * live + 2) / (2 * len(rows) + 1))
            self.gains[term] = rows, weight * counts * (k1 + 1) / (counts + saturation[rows])

    def top(self, terms: Iterable[str], depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns rows and scores of the best `depth`; a repeated query term counts each time."""
        scores = np.zeros(self.size)
        for term, count in Counter(terms).items():
            if term in self.gains:
                rows, gains = self.gains[term]
                scores[rows] += count * gains
        rows = np.flatnonzero(scores > 0)
        rows = rows[np.lexsort((rows, -scores[rows]))][:depth]
        return rows, scores[rows]


@dataclass(frozen=True)
class Collection:
    """A data set: `qrels` gives a query's grades of documents, `sessions` its gold sessions."""

    corpus: list[dict]
    queries: list[dict]
    qrels: dict[str, dict[str, int]]
    sessions: dict[str, dict[str, int]]

    @classmethod
    def read(cls, folder: Path) -> "Collection":
        """Returns the set in a folder."""
        judged = folder / "qrels_session.jsonl.gz"
        return cls(
            read_lines(folder / "corpus.jsonl.gz"),
            read_lines(folder / "queries.jsonl.gz"),
            read_grades(folder / "qrels.jsonl.gz"),
            read_grades(judged) if judged.exists() else {},
        )


def read_lines(path: Path) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_grades(path: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in read_lines(path):
        grades[line["qid"]][line["docid"]] = line["grade"]
    return grades


def ndcg(ranked: Sequence[str], grades: dict[str, int], depth: int = 10) -> float:
    """Returns nDCG with gains 2^grade - 1."""
    gains = [2 ** grades.get(name, 0) - 1 for name in ranked[:depth]]
    best = sorted((2**grade - 1 for grade in grades.values()), reverse=True)[:depth]
    ideal = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(best))
    return (
        sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains)) / ideal if ideal else 0.0
    )


def session_order(ranked: Iterable[tuple[str, float]]) -> list[str]:
    """Returns sessions by the best score of their turns, ties by session number."""
    best: dict[str, float] = {}
    for session, score in ranked:
        best[session] = max(best.get(session, -math.inf), score)
    return sorted(best, key=lambda name: (-best[name], int(name.rsplit("_", 1)[1])))


def locomo_scores(data: Collection, analysed: Analyse, *, k1: float, b: float) -> Scores:
    """Scores one collection a conversation; as published, a question needs a gold session."""
    turns: dict[str, list[dict]] = defaultdict(list)
    for turn in data.corpus:
        if not turn["meta"]["empty"]:
            turns[turn["meta"]["conv"]].append(turn)
    indexes = {
        name: Bm25([analysed(turn["text"]) for turn in found], k1=k1, b=b)
        for name, found in turns.items()
    }
    out: dict[str, list[float]] = defaultdict(list)
    for query in data.queries:
        name = query["meta"]["conv"]
        rows, scores = indexes[name].top(analysed(query["text"]), TURNS)
        found = [turns[name][row] for row in rows]
        if query["id"] in data.qrels:
            out["locomo"].append(ndcg([turn["id"] for turn in found], data.qrels[query["id"]]))
        gold = data.sessions.get(query["id"])
        if gold:
            sessions = (f"{name}/{turn['meta']['session']}" for turn in found)
            ranked = session_order(zip(sessions, scores, strict=True))
            out["any@5"].append(any(session in gold for session in ranked[:5]))
            out["any@10"].append(any(session in gold for session in ranked[:10]))
    return {key: np.array(values, dtype=float) for key, values in out.items()}


def plain_scores(name: str, data: Collection, analysed: Analyse, *, k1: float, b: float) -> Scores:
    """Scores one collection: nDCG@10, and recall@5 for the two multi-hop sets, recall@10 else."""
    index = Bm25([analysed(document["text"]) for document in data.corpus], k1=k1, b=b)
    depth = 5 if name.endswith("100") else 10
    out: dict[str, list[float]] = defaultdict(list)
    for query in data.queries:
        grades = data.qrels.get(query["id"])
        if not grades:
            continue
        rows, _ = index.top(analysed(query["text"]), 100)
        ranked = [data.corpus[row]["id"] for row in rows]
        gold = {document for document, grade in grades.items() if grade > 0}
        out[name].append(ndcg(ranked, grades))
        out[f"{name} r@{depth}"].append(len(gold.intersection(ranked[:depth])) / max(1, len(gold)))
    return {key: np.array(values) for key, values in out.items()}


def variant(*, stems: bool = True, stop_words: frozenset[str] = STOP_WORDS) -> Analyse:
    """Returns the English analyser with parts exchanged."""

    def change(term: str) -> str:
        plain = normalised(term)
        return stem(plain) if stems and plain.isascii() and plain.isalpha() else plain

    def analysed(text: str) -> list[str]:
        chunks = fold(text).split()
        found = (stemmed_spans(chunk, change, stop_words, is_english=True) for chunk in chunks)
        return [term for term, _, _ in chain.from_iterable(found)]

    return analysed


def variants() -> dict[str, tuple[Analyse, float, float]]:
    """Returns name -> analyser, k1, b; the first is what ships."""
    question, auxiliary, articles, light_verbs = (frozenset(words.split()) for words in LISTS)

    def english(text: str) -> list[str]:
        return analyse(text, ENGLISH)

    def plain(text: str) -> list[str]:
        return analyse(text, UNICODE)

    out = {
        "english-1": (english, K1, B),
        "unicode-1": (plain, K1, B),
        "stems, no stop words": (variant(stop_words=frozenset()), K1, B),
        "stop words, no stems": (variant(stems=False), K1, B),
        "stop: 23 articles etc.": (variant(stop_words=articles), K1, B),
        "stop: no question words": (variant(stop_words=STOP_WORDS - question), K1, B),
        "stop: no auxiliaries": (variant(stop_words=STOP_WORDS - auxiliary), K1, B),
        "stop: and light verbs": (variant(stop_words=STOP_WORDS | light_verbs), K1, B),
    }
    for k1 in (0.9, 1.2, 1.5):
        for b in (0.4, 0.6, 0.7, 0.75, 0.85):
            if (k1, b) != (K1, B):
                out[f"k1 {k1} b {b}"] = (english, k1, b)
    return out


def report(name: str, scores: Scores, base: Scores) -> None:
    """Prints one line: the mean, and its distance to the base in standard errors."""
    cells = []
    for key, values in scores.items():
        if " r@" in key:
            continue
        differences = values - base[key]
        error = differences.std(ddof=1) / math.sqrt(len(values))
        distance = differences.mean() / error if error else 0.0
        cells.append(f"{values.mean():.4f} ({distance:+5.1f})")
    print(f"{name:26s}" + "".join(f"{cell:>17s}" for cell in cells), flush=True)


def main() -> None:
    """Measures every variant on every set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder with one folder a set")
    parser.add_argument("--set", choices=SETS, nargs="+", default=SETS, help="sets to measure")
    parser.add_argument("--json", type=Path, help="also write the means here")
    arguments = parser.parse_args()
    collections = {name: Collection.read(arguments.data / name) for name in arguments.set}
    means: dict[str, dict[str, float]] = {}
    base: Scores | None = None
    for name, (analysed, k1, b) in variants().items():
        scores: Scores = {}
        for folder, data in collections.items():
            if folder == "locomo":
                scores |= locomo_scores(data, analysed, k1=k1, b=b)
            else:
                scores |= plain_scores(folder, data, analysed, k1=k1, b=b)
        if base is None:
            base = scores
            print(" " * 26 + "".join(f"{key:>17s}" for key in scores if " r@" not in key))
        report(name, scores, base)
        means[name] = {key: round(float(values.mean()), 4) for key, values in scores.items()}
    if arguments.json:
        arguments.json.write_text(json.dumps(means, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
