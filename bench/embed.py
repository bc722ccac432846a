"""The exact embedder: speed, memory, the digest under every variation, and quality on LoCoMo.

    python bench/embed.py MODEL_FOLDER [--variations] [--locomo DATA/locomo] [--json OUT]

MODEL_FOLDER is where `repo embed install NAME --to` put minilm or another sentence encoder. Texts
are random words, 5 to 60, the same in every run. Every measurement is a process of its own.
`--locomo` embeds all turns and questions (minutes), compares them with the float32 vectors beside
the data, and scores dense retrieval alone by the published rule: a session scores the best of its
turns among the top 50.
"""

import argparse
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

WORDS = """alpha commit graph retrieval budget token memory agent snapshot replay hash block index
vector python deterministic stored conversation policy trust engine latency incident runbook
deploy"""
THREADS = "THREADS"
"""The setting of a variation that is an argument of the model."""
VARIATIONS: tuple[tuple[int, dict[str, str]], ...] = (
    *((batch, {"OPENBLAS_NUM_THREADS": n}) for n in ("1", "2") for batch in (1, 8, 32)),
    *((32, {"OPENBLAS_CORETYPE": name}) for name in ("Prescott", "Haswell", "SkylakeX", "Zen")),
    (32, {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL"}),
    *((256, {THREADS: n}) for n in ("1", "2", "4")),
)


def random_texts(count: int) -> list[str]:
    chance = random.Random(7)
    return [" ".join(chance.choices(WORDS.split(), k=chance.randint(5, 60))) for _ in range(count)]


def measure(folder: Path, count: int, batch: int) -> dict[str, object]:
    """Returns the figures of this process."""
    started = time.perf_counter()
    from ibidem.embed.bert import MANIFEST, ExactEncoder
    from ibidem.embed.minilm import ExactMiniLM

    imported = time.perf_counter()
    kind = ExactEncoder if (folder / MANIFEST).exists() else ExactMiniLM
    model = kind(folder, threads=int(os.environ.get(THREADS, "1")))
    model.embed(["load"])
    loaded = time.perf_counter()
    texts = random_texts(count)
    hasher = hashlib.sha256()
    begun, worked = time.perf_counter(), time.process_time()
    for at in range(0, count, batch):
        hasher.update(model.embed(texts[at : at + batch]).astype("<f4").tobytes())
    seconds, work = time.perf_counter() - begun, time.process_time() - worked
    return {
        "import_s": round(imported - started, 3),
        "load_s": round(loaded - imported, 3),
        "ms_per_text": round(1000 * seconds / count, 2),
        "cpu_ms_per_text": round(1000 * work / count, 2),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "sha256": hasher.hexdigest(),
    }


def in_process(folder: Path, count: int, batch: int, environment: dict[str, str]) -> dict:
    """Returns `measure` of a process with other settings; one BLAS thread unless they say."""
    command = [sys.executable, __file__, str(folder), "--texts", str(count), "--one", str(batch)]
    settings = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def locomo(folder: Path, data: Path) -> dict[str, object]:
    """Returns distance to float32 and session hits of dense retrieval alone."""
    import numpy as np
    from bm25 import TURNS, Collection, session_order

    from ibidem.embed.minilm import ExactMiniLM

    found = Collection.read(data)
    model = ExactMiniLM(folder)
    model.load()
    started = time.perf_counter()
    corpus = model.embed([row["text"] for row in found.corpus])
    queries = model.embed([row["text"] for row in found.queries])
    seconds = time.perf_counter() - started
    plain = np.load(data / "minilm_f32.npz")
    figures: dict[str, object] = {
        "texts": len(corpus) + len(queries),
        "ms_per_text": round(1000 * seconds / (len(corpus) + len(queries)), 2),
    }
    ours = np.concatenate([corpus, queries]).astype(np.float64)
    theirs = np.concatenate([plain["corpus"], plain["queries"]]).astype(np.float64)
    cosines = (ours * theirs).sum(1) / np.sqrt((ours**2).sum(1) * (theirs**2).sum(1))
    figures["cosine_min"] = float(cosines.min())
    figures["component_difference_max"] = float(np.abs(ours - theirs).max())
    tops = [
        np.argsort(-(q.astype(np.float64) @ c.astype(np.float64).T), axis=1, kind="stable")[:, :10]
        for q, c in ((queries, corpus), (plain["queries"], plain["corpus"]))
    ]
    figures["top10_same_order"] = float((tops[0] == tops[1]).all(axis=1).mean())
    same = (np.sort(tops[0], axis=1) == np.sort(tops[1], axis=1)).all(axis=1)
    figures["top10_same_set"] = float(same.mean())

    rows: dict[str, list[int]] = defaultdict(list)
    for at, turn in enumerate(found.corpus):
        if not turn["meta"]["empty"]:
            rows[turn["meta"]["conv"]].append(at)
    hits, count = {5: 0, 10: 0}, 0
    for at, query in enumerate(found.queries):
        gold = found.sessions.get(query["id"])
        if not gold:
            continue
        of = rows[query["meta"]["conv"]]
        scores = corpus[of].astype(np.float64) @ queries[at].astype(np.float64)
        best = np.argsort(-scores, kind="stable")[:TURNS]
        metas = [found.corpus[of[row]]["meta"] for row in best]
        ranked = session_order(
            (f"{meta['conv']}/{meta['session']}", scores[row])
            for meta, row in zip(metas, best, strict=True)
        )
        count += 1
        for depth in hits:
            hits[depth] += any(session in gold for session in ranked[:depth])
    figures["questions"] = count
    figures.update({f"hit@{depth}": round(hit / count, 4) for depth, hit in hits.items()})
    return figures


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("model", type=Path, help="the folder of the installed model")
    parser.add_argument("--texts", type=int, default=256)
    parser.add_argument("--variations", action="store_true", help="threads, batches and kernels")
    parser.add_argument("--locomo", type=Path, help="the locomo folder")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.model, arguments.texts, arguments.one)))
        return
    runs = VARIATIONS if arguments.variations else VARIATIONS[:3]
    figures: dict[str, object] = {}
    digests = set()
    for batch, environment in runs:
        found = in_process(arguments.model, arguments.texts, batch, environment)
        digests.add(found["sha256"])
        name = f"batch {batch}, " + " ".join(f"{key}={value}" for key, value in environment.items())
        figures[name] = found
        print(
            f"{found['ms_per_text']:6.1f} ms/text  {found['cpu_ms_per_text']:6.1f} ms cpu  "
            f"load {found['load_s']:.3f} s  {found['rss_mb']:4} MB  {found['sha256'][:16]}  {name}"
        )
    print(f"{len(digests)} digest{'s' * (len(digests) > 1)} over {len(runs)} runs")
    if arguments.locomo:
        figures["locomo"] = locomo(arguments.model, arguments.locomo)
        print(json.dumps(figures["locomo"], indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if len(digests) != 1:
        raise SystemExit("the digest is not the same everywhere")


if __name__ == "__main__":
    main()
