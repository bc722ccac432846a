"""A repository with vectors, texts, a document and levels."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ibidem.index.tuning import Tuning
from ibidem.ingest.ingest import ingest_text
from ibidem.objects.config import Model
from ibidem.objects.derive import node_id
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, TrustPolicy

DIM = 8
BATCHES, BATCH_NODES = 12, 20


def vector(seed: int) -> Any:
    return np.random.default_rng(seed).integers(-3, 4, DIM).astype(np.float32)


def filled(repo: Repository) -> None:
    """Commits some batches of nodes, each a segment; many vectors and texts are equal, so that
    scores tie."""
    repo.core.search_index.tuning = Tuning(fresh_rows=1, tail_rows=1, tier_parts=1_000)
    rng = random.Random(7)
    with repo.transaction() as tx:
        tx.set_trust_policy(TrustPolicy())
        tx.register_model("m", Model(dim=DIM, metric="cosine"))
        text = "# Production\n\nw1 it is 30 seconds\n\nw5 w9 after that\n"
        ingest_text(tx, text, path="notes.md")
    for batch in range(BATCHES):
        with repo.transaction() as tx:
            for place in range(batch * BATCH_NODES, (batch + 1) * BATCH_NODES):
                words = [f"w{min(rng.randrange(1, 40), 12)}" for _ in range(rng.randint(1, 9))]
                node = tx.add_node(
                    "Odd" if place % 2 else "Even",
                    summary=" ".join(words),
                    props={"place": place, "level": place % 4},
                    id=node_id("place", str(place)),
                )
                if place % 5:
                    tx.set_vector(node, model="m", vector=vector(rng.randrange(60)))
        assert repo.retrieve(text="w1", viewer=ALL).items  # gives the batch segments of its own
