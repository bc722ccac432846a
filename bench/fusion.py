"""Fusions of the lexical and the dense lane on real data sets, against the better of the two.

The default fusion was chosen with this script. Lanes are those of the library in plain floating
point (BM25 as in `bm25.py`, cosine by a matrix product), 100 rows each; they are fused by the
library itself.

    python bench/fusion.py DATA [--vectors FOLDER] [--set SET ...] [--json OUT]

DATA holds one folder a set, see `bm25.py`. Vectors of a set are `SET.npz` in FOLDER, or
`minilm_f32.npz` in the set's own folder, with float32 arrays `corpus` and `queries` in the order of
the files; `--embed MODEL` makes those that are missing with the exact embedder installed in the
folder MODEL.

Columns: nDCG@10 (of turns for locomo, and any@5 and any@10 of sessions), recall@5 for the multi-hop
sets. In brackets, the difference to the better single lane of that column in standard errors of the
paired differences: below -2 a fusion loses to it.
"""

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from bm25 import K1, TURNS, B, Bm25, Collection, Scores, ndcg, session_order

from ibidem.index.analysis import ENGLISH, analyse
from ibidem.retrieve.fuse import fuse
from ibidem.retrieve.lane import LaneTop
from ibidem.retrieve.query.fusion import Fusion

SETS = ("locomo", "cranfield", "cacm", "musique100", "hotpotqa100")
DEPTH = 100
SINGLE = ("lexical", "dense")
Ranked = tuple[np.ndarray, np.ndarray]
Method = Callable[[LaneTop, LaneTop], Ranked]


def weighted(name: str, **weights: float) -> Method:
    """Returns a fusion by the library, in order of score, ties by row."""
    fusion = Fusion(name, weights=weights)

    def method(lexical: LaneTop, dense: LaneTop) -> Ranked:
        fused = fuse([lexical, dense], fusion)
        order = np.lexsort((fused.ordinals, -fused.scores))
        return fused.ordinals[order], fused.scores[order]

    return method


def methods() -> dict[str, Method]:
    """Returns every fusion that is compared, single lanes first."""
    found: dict[str, Method] = {
        "lexical": lambda lexical, _: (lexical.ordinals, lexical.scores),
        "dense": lambda _, dense: (dense.ordinals, dense.scores),
        "rrf": weighted("rrf"),
    }
    for share in (0.2, 0.3, 0.5):
        found[f"weighted_rrf dense {share}"] = weighted("weighted_rrf", dense=share)
    for share in (0.5, 1.0, 1.5, 2.0, 3.0, 4.0):
        found[f"convex dense {share}"] = weighted("convex", dense=share)
    for share in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0):
        found[f"score_normalised dense {share}"] = weighted("score_normalised", dense=share)
    return found


class Lanes:
    """Both lanes over one collection of texts."""

    def __init__(self, texts: list[str], vectors: np.ndarray) -> None:
        self._bm25 = Bm25([analyse(text, ENGLISH) for text in texts], k1=K1, b=B)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        self._rows = vectors / np.maximum(norms, 1e-12)

    def tops(self, text: str, vector: np.ndarray) -> tuple[LaneTop, LaneTop]:
        """Returns the lexical and the dense top of a question."""
        rows, scores = self._bm25.top(analyse(text, ENGLISH), DEPTH)
        lexical = LaneTop("lexical", rows.astype(np.uint32), scores, floor=0.0)
        cosines = (self._rows @ (vector / max(1e-12, np.linalg.norm(vector)))).astype(np.float64)
        near = np.lexsort((np.arange(len(cosines)), -cosines))[:DEPTH]
        return lexical, LaneTop("dense", near.astype(np.uint32), cosines[near], floor=-1.0)


def locomo_scores(data: Collection, vectors: Mapping[str, np.ndarray]) -> dict[str, Scores]:
    """Scores one collection a conversation, every method on the same lanes."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, turn in enumerate(data.corpus):
        if not turn["meta"]["empty"]:
            places[turn["meta"]["conv"]].append(place)
    lanes = {
        name: Lanes([data.corpus[i]["text"] for i in found], vectors["corpus"][found])
        for name, found in places.items()
    }
    out: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in methods()}
    for query, vector in zip(data.queries, vectors["queries"], strict=True):
        conversation = query["meta"]["conv"]
        tops = lanes[conversation].tops(query["text"], vector)
        for name, method in methods().items():
            rows, scores = method(*tops)
            turns = [data.corpus[places[conversation][row]] for row in rows[:TURNS]]
            if query["id"] in data.qrels:
                ranked = [turn["id"] for turn in turns]
                out[name]["locomo"].append(ndcg(ranked, data.qrels[query["id"]]))
            if gold := data.sessions.get(query["id"]):
                sessions = (f"{conversation}/{turn['meta']['session']}" for turn in turns)
                best = session_order(zip(sessions, scores, strict=False))
                for depth in (5, 10):
                    hit = any(session in gold for session in best[:depth])
                    out[name][f"any@{depth}"].append(hit)
    return arrays(out)


def plain_scores(
    folder: str, data: Collection, vectors: Mapping[str, np.ndarray]
) -> dict[str, Scores]:
    """Scores one collection, every method on the same lanes."""
    lanes = Lanes([document["text"] for document in data.corpus], vectors["corpus"])
    out: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in methods()}
    for query, vector in zip(data.queries, vectors["queries"], strict=True):
        grades = data.qrels.get(query["id"])
        if not grades:
            continue
        gold = {document for document, grade in grades.items() if grade > 0}
        tops = lanes.tops(query["text"], vector)
        for name, method in methods().items():
            ranked = [data.corpus[row]["id"] for row in method(*tops)[0][:DEPTH]]
            out[name][folder].append(ndcg(ranked, grades))
            if folder.endswith("100"):
                found = len(gold.intersection(ranked[:5])) / max(1, len(gold))
                out[name][f"{folder[:-3]} r@5"].append(found)
    return arrays(out)


def arrays(scores: Mapping[str, Mapping[str, list[float]]]) -> dict[str, Scores]:
    return {
        name: {key: np.array(values, dtype=float) for key, values in one.items()}
        for name, one in scores.items()
    }


def vectors_of(name: str, data: Path, given: Path | None, embedder: Path | None) -> Path:
    """Returns the file of a set's vectors, made now where it is missing and a model is given."""
    own = data / name / "minilm_f32.npz"
    if own.exists():
        return own
    if given is None:
        raise SystemExit(f"{name}: no vectors; say where they are or go with --vectors")
    path = given / f"{name}.npz"
    if not path.exists():
        if embedder is None:
            raise SystemExit(f"{name}: there is no {path}; make it with --embed MODEL")
        from ibidem.embed.minilm import ExactMiniLM

        model = ExactMiniLM(embedder)
        found = Collection.read(data / name)
        parts = {"corpus": found.corpus, "queries": found.queries}
        made = {key: model.embed([one["text"] for one in texts]) for key, texts in parts.items()}
        np.savez(path, **made)
    return path


def distance(values: np.ndarray, base: np.ndarray) -> float:
    """Returns the mean of the paired differences in standard errors."""
    differences = values - base
    error = differences.std(ddof=1) / math.sqrt(len(values))
    return float(differences.mean() / error) if error else 0.0


def main() -> None:
    """Measures every fusion on every set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder with one folder a set")
    parser.add_argument("--vectors", type=Path, help="folder of SET.npz")
    parser.add_argument("--embed", type=Path, help="folder of the exact embedder's model")
    parser.add_argument("--set", choices=SETS, nargs="+", default=SETS, help="sets to measure")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    arguments = parser.parse_args()
    scores: dict[str, Scores] = {name: {} for name in methods()}
    for folder in arguments.set:
        path = vectors_of(folder, arguments.data, arguments.vectors, arguments.embed)
        data = Collection.read(arguments.data / folder)
        with np.load(path) as vectors:
            found = (
                locomo_scores(data, vectors)
                if folder == "locomo"
                else plain_scores(folder, data, vectors)
            )
        for name, values in found.items():
            scores[name] |= values
    columns = list(scores["lexical"])
    base = {
        key: max((scores[name][key] for name in SINGLE), key=lambda values: values.mean())
        for key in columns
    }
    print(" " * 28 + "".join(f"{key:>17s}" for key in columns))
    figures: dict[str, dict[str, list[float]]] = {}
    for name, one in scores.items():
        figures[name] = {
            key: [round(float(one[key].mean()), 4), round(distance(one[key], base[key]), 2)]
            for key in columns
        }
        cells = (f"{mean:.4f} ({gap:+5.1f})" for mean, gap in figures[name].values())
        print(f"{name:28s}" + "".join(f"{cell:>17s}" for cell in cells), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
