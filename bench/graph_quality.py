"""What edges add to retrieval: recall of multi-hop evidence with and without the graph lanes.

    python bench/graph_quality.py DATA [--vectors FOLDER] [--sweep]

DATA is the folder of MuSiQue-100: `corpus`, `queries`, `qrels` and `graph` as `.jsonl.gz`. Passages
become nodes; so do the names in their ready triples, one a spelling (lower case, single spaces). A
passage `mentions` each name of its triples, and two names of a triple are `related`. Questions ask
for passages only; names are walked over, and have no indexed text, so that the statistics of the
lexical lane are those of the passages. HotpotQA-100 comes without triples, so there is nothing to
walk there, and the gain is known from this one set of 100 questions alone.

FOLDER, if given, has `passages.npy` and `queries.npy`, float32 in the order of the files, of any
model; then lexical and dense together are the first row. For each row: recall@2, @5 and @10, and
behind each the difference to the first row in standard errors of the paired differences, then
questions won and lost at 5.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

import ibidem
from ibidem.objects.config import Config, Model

CUTS = (2, 5, 10)
MODEL = "given"
VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("without edges", {}),
    ("ppr", {"graph": {"mode": "ppr"}}),
    ("decay", {"graph": {"mode": "decay"}}),
    ("community", {"community": {}}),
    ("ppr, community", {"graph": {"mode": "ppr"}, "community": {}}),
    ("ppr, convex", {"graph": {"mode": "ppr"}, "fusion": "convex"}),
    ("decay, convex", {"graph": {"mode": "decay"}, "fusion": "convex"}),
)
SWEEP: tuple[tuple[str, dict[str, Any]], ...] = (
    *((f"ppr seeds {n}", {"graph": {"mode": "ppr", "seeds": n}}) for n in (1, 2, 3, 4, 5, 10)),
    *((f"ppr damping {d}", {"graph": {"mode": "ppr", "damping": d}}) for d in (0.3, 0.5, 0.7, 0.9)),
    *((f"ppr epsilon {e}", {"graph": {"mode": "ppr", "epsilon": e}}) for e in (1e-6, 1e-5, 1e-3)),
    *((f"ppr rounds {n}", {"graph": {"mode": "ppr", "rounds": n}}) for n in (2, 4, 8, 30)),
    *((f"ppr {d}", {"graph": {"mode": "ppr", "direction": d}}) for d in ("outgoing", "incoming")),
    ("ppr mentions", {"graph": {"mode": "ppr", "etypes": "mentions"}}),
    *((f"decay seeds {n}", {"graph": {"mode": "decay", "seeds": n}}) for n in (2, 3, 5)),
    *((f"decay depth {n}", {"graph": {"mode": "decay", "depth": n}}) for n in (1, 2, 3, 4)),
    *((f"decay {d}", {"graph": {"mode": "decay", "decay": d}}) for d in (0.5, 0.9)),
)


def read(path: Path) -> list[dict[str, Any]]:
    """Returns the lines of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def make(data: Path, vectors: Path | None) -> Any:
    """Returns a repository in memory with the passages, the names and the edges."""
    rows = None if vectors is None else np.load(vectors / "passages.npy")
    models = {} if rows is None else {MODEL: Model(dim=rows.shape[1], metric="cosine")}
    repo = ibidem.init("memory:", config=Config(fields=("summary",), models=models))
    triples = {line["docid"]: line for line in read(data / "graph.jsonl.gz")}
    names: dict[str, Any] = {}
    with repo.transaction(author="bench", message="musique") as tx:

        def name_node(text: str) -> Any:
            key = " ".join(text.lower().split())
            if key not in names:
                names[key] = tx.add_node("Name", props={"name": key}, key=("name", key))
            return names[key]

        for place, passage in enumerate(read(data / "corpus.jsonl.gz")):
            node = tx.add_node("Passage", summary=passage["text"], key=("passage", passage["id"]))
            if rows is not None:
                tx.set_vector(node, model=MODEL, vector=rows[place])
            line = triples.get(passage["id"], {"entities": [], "triples": []})
            mentioned = {name_node(text) for text in line["entities"]}
            for subject, relation, value in line["triples"]:
                ends = name_node(subject), name_node(value)
                mentioned |= set(ends)
                tx.add_edge(ends[0], "related", ends[1], key=relation, replace=True)
            for name in sorted(mentioned):
                tx.add_edge(node, "mentions", name)
    return repo


def recalls(repo: Any, data: Path, vectors: Path | None, options: dict[str, Any]) -> np.ndarray:
    """Returns (questions, cuts) the share of each question's evidence among the first."""
    gold: dict[str, set[str]] = {}
    for line in read(data / "qrels.jsonl.gz"):
        gold.setdefault(line["qid"], set()).add(line["docid"])
    queries = read(data / "queries.jsonl.gz")
    rows = None if vectors is None else np.load(vectors / "queries.npy")
    out = np.zeros((len(queries), len(CUTS)))
    for place, query in enumerate(queries):
        more = {} if rows is None else {"vector": (MODEL, rows[place])}
        result = repo.retrieve(query["text"], label="Passage", limit=max(CUTS), **more, **options)
        ranked = [item.node.key[1][1] for item in result.items]
        wanted = gold[query["id"]]
        out[place] = [len(wanted.intersection(ranked[:cut])) / len(wanted) for cut in CUTS]
    return out


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--sweep", action="store_true", help="options one at a time too")
    given = parser.parse_args()
    repo = make(given.data, given.vectors)
    base = None
    print(f"{'':24}" + "".join(f"   recall@{cut}     t" for cut in CUTS) + "   won lost at 5")
    for name, options in (*VARIANTS, *(SWEEP if given.sweep else ())):
        found = recalls(repo, given.data, given.vectors, options)
        base = found if base is None else base
        change = found - base
        error = np.maximum(change.std(axis=0, ddof=1) / np.sqrt(len(change)), 1e-12)
        columns = zip(found.mean(axis=0), change.mean(axis=0) / error, strict=True)
        cells = "".join(f"{mean:11.4f} {t:5.1f}" for mean, t in columns)
        at_5 = change[:, CUTS.index(5)]
        print(f"{name:24}{cells} {int((at_5 > 0).sum()):5} {int((at_5 < 0).sum()):4}", flush=True)


if __name__ == "__main__":
    main()
