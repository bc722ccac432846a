"""The exact cross-encoder: time for the candidates of one question, and the bytes of its scores.

    python bench/rerank.py MODEL_FOLDER [--candidates 25] [--words 100] [--threads 1 2 4]

MODEL_FOLDER is where `repo embed install NAME --from FOLDER --to` put a cross-encoder. Texts are
random words, the same in every run; the question has eight. The first question is not counted: it
maps the weights. On a machine that others use too, the processor time divided by the threads is the
time of an idle one.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import time
from pathlib import Path

WORDS = (
    "graph budget token memory agent replay hash block index vector policy engine latency deploy"
)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("model", type=Path, help="the folder of the installed model")
    parser.add_argument("--candidates", type=int, default=25)
    parser.add_argument("--words", type=int, default=100, help="of each candidate")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from ibidem.embed.bert import ExactReranker

    chance = random.Random(7)
    words = WORDS.split()
    question = " ".join(chance.choices(words, k=8))
    texts = [
        " ".join(chance.choices(words, k=arguments.words)) for _ in range(arguments.candidates)
    ]
    digests = set()
    for threads in arguments.threads:
        model = ExactReranker(arguments.model, threads=threads)
        model.rerank(question, texts[:1])
        taken, worked = [], []
        for _ in range(arguments.rounds):
            begun, work = time.perf_counter(), time.process_time()
            scores = model.rerank(question, texts)
            taken.append(time.perf_counter() - begun)
            worked.append(time.process_time() - work)
            digests.add(hashlib.sha256(repr(scores).encode()).hexdigest())
        print(
            f"{threads} threads: {1000 * min(taken):6.0f} ms, {1000 * min(worked):6.0f} ms cpu, "
            f"{1000 * min(worked) / threads:6.0f} ms cpu a thread"
        )
    print(f"{len(digests)} digest over {len(arguments.threads)} runs: {min(digests)[:16]}")
    if len(digests) != 1:
        raise SystemExit("the scores are not the same everywhere")


if __name__ == "__main__":
    main()
