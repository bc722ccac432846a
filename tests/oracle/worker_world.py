"""Workers that share a snapshot at random, for comparisons with the oracle."""

from __future__ import annotations

import random
from typing import Any

from ibidem.repo.workers.driver import Workers
from ibidem.repo.workers.messages import Request
from ibidem.repo.workers.worker import answer_from


def random_workers(rng: random.Random, snapshot: Any, load: Any) -> Workers:
    """Returns workers that own random segments of a snapshot, some of which fail at random."""
    failures = random.Random(rng.random())

    def failing(message: bytes) -> bytes:
        if failures.random() < 0.5:
            raise OSError("the connection was lost")
        return carried(message)

    def carried(message: bytes) -> bytes:
        return answer_from(snapshot, Request.decode(message), load)

    names = [f"{rng.random()}" for _ in range(rng.randint(1, 5))]
    failing_count = rng.randint(0, len(names) - 1)
    carriers = dict.fromkeys(names, carried) | dict.fromkeys(names[:failing_count], failing)
    return Workers(carriers, copies=len(names))
