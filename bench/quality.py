"""Retrieval quality on real data sets, beside other ways to rank and beside what it was before.

    python bench/quality.py DATA [--set SET ...] [--embed MODEL] [--write]

DATA holds one folder a set, see `bm25.py`; a passage becomes a node, a LoCoMo conversation a
repository. Ways: `ibidem` is `retrieve` with no option; `bm25s` and `tantivy` rank the same texts
by BM25, both with the English Snowball stemmer; with `--embed`, the exact embedder installed in the
folder MODEL adds `ibidem hybrid`, and `dense`, which ranks by its vectors alone. `before` is
`bench/history/quality.json`: the means of the release before, or, while there is none, of the
commit that wrote the file; `--write` writes it anew.

Each cell is a mean in percent with half the width of its 95 % interval, and behind it the
difference to `ibidem` in standard errors of the paired differences: above 2, a way is ahead. With
`--embed` set OPENBLAS_NUM_THREADS to 1: more threads than free cores wait for each other.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bm25 import SETS, TURNS, Collection, ndcg, session_order
from mentions import average_precision, repositories

import ibidem

HISTORY = Path(__file__).parent / "history" / "quality.json"
IBIDEM, HYBRID, DENSE = "ibidem", "ibidem hybrid", "dense"
DEEP = 1000
"""Nodes that are ranked where mean average precision is measured."""

Documents = Sequence[dict[str, Any]]
Rank = Callable[[str, int], list[str]]
"""Returns the ids of the best documents for a question, at most so many."""
Scores = dict[str, np.ndarray]
"""By measure, a value for each question."""


def asking(repo: ibidem.Repository, **options: Any) -> Rank:
    """Ranks by a repository."""

    def rank(question: str, count: int) -> list[str]:
        answer = repo.retrieve(question, limit=count, depth=max(100, count), **options)
        return [item.node.key[1] for item in answer.items]

    return rank


def asking_dense(repo: ibidem.Repository, embedder: Any) -> Rank:
    """Ranks by vectors alone."""

    def rank(question: str, count: int) -> list[str]:
        vector = (embedder.name, embedder.embed([question])[0])
        answer = repo.retrieve(vector=vector, limit=count, depth=max(100, count))
        return [item.node.key[1] for item in answer.items]

    return rank


def bm25s_rank(documents: Documents) -> Rank:
    """Ranks by bm25s with its English stop words."""
    import bm25s
    import snowballstemmer

    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(
            texts,
            stopwords="en",
            stemmer=snowballstemmer.stemmer("english").stemWords,
            show_progress=False,
            return_ids=False,
        )

    index = bm25s.BM25()
    index.index(tokens([one["text"] for one in documents]), show_progress=False)

    def rank(question: str, count: int) -> list[str]:
        rows, scores = index.retrieve(
            tokens([question]), k=min(count, len(documents)), show_progress=False
        )
        found = zip(rows[0].tolist(), scores[0].tolist(), strict=True)
        return [documents[row]["id"] for row, score in found if score > 0]

    return rank


def tantivy_rank(documents: Documents) -> Rank:
    """Ranks by tantivy with its English stemmer."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("row", stored=True)
    builder.add_text_field("text", tokenizer_name="en_stem")
    index = tantivy.Index(builder.build())
    writer = index.writer()
    for row, one in enumerate(documents):
        document = tantivy.Document()
        document.add_unsigned("row", row)
        document.add_text("text", one["text"])
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def rank(question: str, count: int) -> list[str]:
        words = " ".join(re.findall(r"\w+", question.lower()))  # nothing that its syntax knows
        hits = searcher.search(index.parse_query(words, ["text"]), count).hits
        return [documents[searcher.doc(at)["row"][0]]["id"] for _, at in hits]

    return rank


PEERS: dict[str, Callable[[Documents], Rank]] = {"bm25s": bm25s_rank, "tantivy": tantivy_rank}


def ranks(data: Collection, embedder: Any) -> Iterator[tuple[dict[str, Rank], Documents]]:
    """Yields the ways to rank each part of a set, and the questions to it."""
    for repo, queries in repositories(data, embedder):
        names = {query["meta"].get("conv", "") for query in queries}
        documents = [
            one
            for one in data.corpus
            if not one["meta"].get("empty") and one["meta"].get("conv", "") in names
        ]
        ways = {IBIDEM: asking(repo)}
        for name, peer in PEERS.items():
            try:
                ways[name] = peer(documents)
            except ImportError:
                continue
        if embedder is not None:
            ways[HYBRID] = asking(repo, model=embedder.name)
            ways[DENSE] = asking_dense(repo, embedder)
        yield ways, queries


def measured(
    name: str, data: Collection, query: dict[str, Any], rank: Rank, sessions: dict[str, str]
) -> dict[str, float]:
    """Returns the measures of one question; none if it has no judgement.

    Args:
        sessions: by turn of LoCoMo, its session, which ranks as its best turn does.
    """
    found: dict[str, float] = {}
    grades = data.qrels.get(query["id"])
    gold = {document for document, grade in (grades or {}).items() if grade > 0}
    is_deep = name in ("cranfield", "cacm")
    ranked = rank(query["text"], DEEP if is_deep else TURNS)
    if name == "locomo":
        if grades:
            found |= {f"turn@{cut}": bool(gold & {*ranked[:cut]}) for cut in (5, 10)}
        if query["id"] in data.sessions:
            order = session_order((sessions[turn], -at) for at, turn in enumerate(ranked))
            wanted = data.sessions[query["id"]].keys()
            found |= {f"session@{cut}": bool(wanted & {*order[:cut]}) for cut in (5, 10)}
    elif grades:
        found["nDCG@10"] = ndcg(ranked, grades)
        if is_deep:
            found["MAP"] = average_precision(ranked, gold)
        else:
            found["recall@5"] = len(gold & {*ranked[:5]}) / max(1, len(gold))
    return found


def scores_of(name: str, data: Collection, embedder: Any = None) -> dict[str, Scores]:
    """Returns the scores of each way on one set."""
    sessions = {
        one["id"]: f"{one['meta']['conv']}/{one['meta']['session']}"
        for one in data.corpus
        if "session" in one["meta"]
    }
    rows: dict[str, dict[str, list[float]]] = {}
    for ways, queries in ranks(data, embedder):
        for way, rank in ways.items():
            for query in queries:
                for measure, value in measured(name, data, query, rank, sessions).items():
                    rows.setdefault(way, {}).setdefault(measure, []).append(value)
    return {
        way: {measure: np.array(values, float) for measure, values in found.items()}
        for way, found in rows.items()
    }


def half_width(values: np.ndarray) -> float:
    """Returns half the width of the 95 % interval of a mean."""
    return 1.96 * float(values.std(ddof=1)) / len(values) ** 0.5


def distance(values: np.ndarray, base: np.ndarray) -> float:
    """Returns the mean difference in standard errors of the paired differences."""
    differences = values - base
    error = float(differences.std(ddof=1)) / len(values) ** 0.5
    return float(differences.mean()) / error if error else 0.0


def means(scores: Scores) -> dict[str, float]:
    """Returns the mean of each measure."""
    return {measure: round(float(values.mean()), 4) for measure, values in scores.items()}


def report(name: str, scores: dict[str, Scores], before: dict[str, dict[str, float]]) -> None:
    """Prints a table for one set."""
    ours = scores[IBIDEM]
    print(f"{name:12}{'':14}" + "".join(f"{measure:>22}" for measure in ours))
    for way in (IBIDEM, *PEERS, HYBRID, DENSE):
        if way in scores:
            cells = [
                f"{100 * values.mean():7.1f} \u00b1 {100 * half_width(values):4.1f}"
                f" ({distance(values, ours[measure]):+5.1f})"
                for measure, values in scores[way].items()
            ]
            print(f"{'':12}{way:14}" + "".join(f"{cell:>22}" for cell in cells))
        elif way in PEERS:
            print(f"{'':12}{way:14}{'not installed':>22}")
    for way, found in before.items():
        cells = [f"{100 * found[one]:7.1f}{'':15}" if one in found else "" for one in ours]
        label = "before" if way == IBIDEM else f"before, {way.removeprefix('ibidem ')}"
        print(f"{'':12}{label:14}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


def main() -> None:
    """Prints a table for each set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder with one folder a set")
    parser.add_argument("--set", choices=SETS, nargs="+", default=SETS, help="sets to measure")
    parser.add_argument("--embed", type=Path, help="folder of an exact embedder")
    parser.add_argument("--write", action="store_true", help="write the means as those before")
    given = parser.parse_args()
    embedder = None
    if given.embed is not None:
        from ibidem.embed.minilm import ExactMiniLM

        embedder = ExactMiniLM(given.embed)
    history = json.loads(HISTORY.read_text(encoding="utf-8")) if HISTORY.exists() else {}
    for name in given.set:
        scores = scores_of(name, Collection.read(given.data / name), embedder)
        report(name, scores, history.get(name, {}))
        if given.write:
            found = {way: means(scores[way]) for way in (IBIDEM, HYBRID) if way in scores}
            history[name] = history.get(name, {}) | found
            HISTORY.write_text(json.dumps(history, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
