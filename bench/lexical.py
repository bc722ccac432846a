"""Exact lexical search beside its peers, on the same texts in one run; milliseconds a query.

    python bench/lexical.py [DOCUMENTS] [--real] [--queries N]      default 200000 and 300

`bm25s` (numba) and `tantivy` take part when installed; they get the terms that our analyser makes.
Ours runs from the query's text to the ranked nodes, theirs from the query's terms to theirs. Zipf:
a vocabulary of 100,000 words with exponent 1.05, 81 to a text; `--real`: paragraphs of the Python
sources that this interpreter can import. Content queries take 5 terms of a text without the 50
commonest, stop-like queries with them. "less" has 5 percent of the documents removed and another 5
percent tombstoned; "view" is that through the eyes of a caller who may see four of five documents,
by their level, and all of twenty scopes. The peers have neither. Engines take turns query by query;
a figure is the best of three askings, and "first" the one before them, when a query's terms may be
new.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ibidem.index.analysis import analyse
from ibidem.index.index import Index
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import NodeCid, RootCid, TombstoneCid
from ibidem.objects.config import TRUST_SETTING, Config
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.root import Root
from ibidem.objects.tombstone import Tombstone
from ibidem.objects.tree import EMPTY_TREE, build, mutate
from ibidem.retrieve.access.policy import TrustPolicy, Viewer
from ibidem.retrieve.access.restricted_snapshot import restrict
from ibidem.retrieve.filter import universe
from ibidem.retrieve.lexical.lane import rank_lexical
from ibidem.retrieve.query.query import resolve
from ibidem.store.memory import MemoryStore

VOCABULARY, EXPONENT, LENGTH = 100_000, 1.05, 81
COMMON = 50
TERMS = 5
SCOPES = tuple(f"team:{number}" for number in range(20))
Ask = Callable[[str, int], int]


def zipf_texts(count: int, rng: np.random.Generator) -> Iterator[str]:
    """Yields texts of words whose frequencies follow Zipf's law."""
    words = [_word(number) for number in range(VOCABULARY)]
    weights = np.arange(1, VOCABULARY + 1) ** -EXPONENT
    edges = np.cumsum(weights / weights.sum())
    for length in rng.poisson(LENGTH, count).tolist():
        picks = np.minimum(np.searchsorted(edges, rng.random(max(1, length))), VOCABULARY - 1)
        yield " ".join(words[pick] for pick in picks.tolist())


def _word(number: int) -> str:
    return "".join(chr(97 + number // 26**place % 26) for place in range(4))


def real_texts(count: int) -> Iterator[str]:
    """Yields pieces of some 80 words of the Python files on the module path."""
    made = 0
    for folder in [Path(one) for one in sys.path if one and Path(one).is_dir()]:
        for path in sorted(folder.rglob("*.py")):
            words = path.read_text("utf-8", "ignore").split()
            for start in range(0, len(words), LENGTH):
                yield " ".join(words[start : start + LENGTH])
                made += 1
                if made == count:
                    return


class Ours:
    """An index of all texts, one of what is left after removals and tombstones, and that as one
    caller sees it."""

    def __init__(self, texts: list[str], analyser: str, directory: Path) -> None:
        rng = np.random.default_rng(3)
        buffer, store = WriteBatch(), MemoryStore()
        keys, entries = [], []
        for text in texts:
            number = len(keys)
            props = {"level": number % 5, "scope": SCOPES[number // 5 % len(SCOPES)]}
            node = Node(NodeId(rng.bytes(16)), "Passage", text, props=props)
            block = node.encode()
            buffer.put(NodeCid.of(block), block)
            keys.append(node.id.raw)
            entries.append((node.id.raw, NodeCid.of(block)))
        config = Config(analyser=analyser)
        nodes = build(entries, buffer)
        whole = self._root(buffer, nodes, EMPTY_TREE, config)
        picks = rng.permutation(len(keys))
        part = len(keys) // 20
        block = Tombstone(reason="bench").encode()
        buffer.put(TombstoneCid.of(block), block)
        hidden = build(
            [(keys[pick], TombstoneCid.of(block)) for pick in picks[:part].tolist()], buffer
        )
        fewer = mutate(nodes, {keys[pick]: None for pick in picks[part : 2 * part]}, buffer)
        less = self._root(buffer, fewer, hidden, config)
        gated = replace(config, extra={**config.extra, TRUST_SETTING: TrustPolicy().form()})
        view = self._root(buffer, fewer, hidden, gated)
        store.put(buffer.new)
        index = Index(directory, store)
        start = time.perf_counter()
        self.whole = index.build(whole)
        self.seconds = time.perf_counter() - start
        self.less = index.snapshot(less, near=[whole])
        self.view = index.snapshot(view, near=[less])
        self.size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
        self.load = lambda cid: Node.decode(store.get(cid))

    def ask(self, snapshot: Any, viewer: Viewer | None = None) -> Ask:
        """Returns the function that is timed."""

        def one(text: str, depth: int) -> int:
            query = resolve(snapshot.config, text=text, depth=depth, viewer=viewer)
            return len(
                rank_lexical(universe(restrict(snapshot, viewer, self.load), query)).ordinals
            )

        return one

    @staticmethod
    def _root(buffer: WriteBatch, nodes: Any, tombstones: Any, config: Config) -> RootCid:
        block = Root(nodes, EMPTY_TREE, tombstones, EMPTY_TREE, config=config.to_map()).encode()
        cid = RootCid.of(block)
        buffer.put(cid, block)
        return cid


def bm25s_ask(terms: list[list[str]], analyser: str) -> tuple[Ask, float] | None:
    """Returns bm25s on its numba backend, and the seconds it took to index."""
    try:
        import bm25s  # type: ignore[import-not-found]
        import numba  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        return None
    start = time.perf_counter()
    engine = bm25s.BM25(method="lucene", k1=1.2, b=0.7, backend="numba")
    engine.index(terms, show_progress=False)
    seconds = time.perf_counter() - start

    def one(text: str, depth: int) -> int:
        found, _ = engine.retrieve(
            [analyse(text, analyser)], k=depth, show_progress=False, n_threads=1
        )
        return int(found.shape[1])

    return one, seconds


def tantivy_ask(terms: list[list[str]], analyser: str, directory: Path) -> tuple[Ask, float] | None:
    """Returns tantivy with one merged segment, and the seconds it took to index."""
    try:
        import tantivy  # type: ignore[import-not-found]
    except ImportError:
        return None
    start = time.perf_counter()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("t", stored=False, tokenizer_name="whitespace", index_option="freq")
    schema = builder.build()
    index = tantivy.Index(schema, path=str(directory))
    writer = index.writer(num_threads=1)
    for one_text in terms:
        writer.add_document(tantivy.Document(t=" ".join(one_text)))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    seconds = time.perf_counter() - start
    searcher = index.searcher()

    def one(text: str, depth: int) -> int:
        parts = [
            (tantivy.Occur.Should, tantivy.Query.term_query(schema, "t", term, "freq"))
            for term in analyse(text, analyser)
        ]
        return len(searcher.search(tantivy.Query.boolean_query(parts), depth).hits)

    return one, seconds


def queries_of(
    terms: list[list[str]], count: int, rng: np.random.Generator
) -> dict[str, list[str]]:
    """Returns queries of terms that a random text has, by kind."""
    seen: Counter[str] = Counter()
    for one in terms[:: max(1, len(terms) // 20_000)]:
        seen.update(set(one))
    common = {term for term, _ in seen.most_common(COMMON)}
    made: dict[str, list[str]] = {"content": [], "stop-like": []}
    for kind, texts in made.items():
        while len(texts) < count:
            pool = sorted(set(terms[int(rng.integers(len(terms)))]))
            if kind == "content":
                pool = [term for term in pool if term not in common]
            elif not common & set(pool):
                continue
            if len(pool) >= TERMS:
                texts.append(" ".join(rng.choice(pool, TERMS, replace=False)))
    for index, text in enumerate(made["stop-like"]):
        if not common & set(text.split()):
            pick = sorted(common)[int(rng.integers(len(common)))]
            made["stop-like"][index] = " ".join([pick, *text.split()[1:]])
    return made


def compare(engines: dict[str, Ask], queries: list[str], depth: int) -> dict[str, list[float]]:
    """Returns seconds a query and engine; the engines take turns."""
    times: dict[str, list[float]] = {name: [] for name in engines}
    times |= {f"{name}, first": [] for name in engines}
    for text in queries[:20]:
        for ask in engines.values():
            ask(text, depth)
    gc.disable()
    for text in queries:
        for name, ask in engines.items():
            taken = []
            for _ in range(4):
                start = time.perf_counter()
                ask(text, depth)
                taken.append(time.perf_counter() - start)
            times[f"{name}, first"].append(taken[0])
            times[name].append(min(taken[1:]))
    gc.enable()
    return times


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("documents", nargs="?", type=int, default=200_000)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--alone", action="store_true", help="without the peers")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    source = real_texts(options.documents) if options.real else zipf_texts(options.documents, rng)
    analyser = "english-1" if options.real else "unicode-1"
    texts = list(source)
    terms = [analyse(text, analyser) for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(texts, analyser, Path(folder) / "ours")
        print(
            f"{len(texts)} texts, {sum(map(len, terms))} terms, "
            f"{[len(one.ordinals) for one in ours.whole.lexical]} rows; "
            f"index {ours.seconds:.1f} s, {ours.size / 1e6:.0f} MB"
        )
        engines = {
            "ours": ours.ask(ours.whole),
            "ours, less": ours.ask(ours.less),
            "ours, view": ours.ask(ours.view, Viewer(level=3, scopes=SCOPES)),
        }
        if not options.alone:
            (Path(folder) / "tantivy").mkdir()
            peers = {
                "bm25s": bm25s_ask(terms, analyser),
                "tantivy": tantivy_ask(terms, analyser, Path(folder) / "tantivy"),
            }
            for name, found in peers.items():
                if found is not None:
                    engines[name] = found[0]
                    print(f"{name}: index {found[1]:.1f} s")
        for kind, queries in queries_of(terms, options.queries, rng).items():
            for depth in (10, 100):
                times = compare(engines, queries, depth)
                for name, taken in times.items():
                    print(
                        f"{kind:10} depth {depth:3}  {name:17} "
                        f"p50 {statistics.median(taken) * 1e3:7.3f}  "
                        f"mean {statistics.mean(taken) * 1e3:7.3f}  "
                        f"p95 {sorted(taken)[int(len(taken) * 0.95)] * 1e3:7.3f}"
                    )


if __name__ == "__main__":
    main()
