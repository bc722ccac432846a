"""Ray actors as workers: the same bytes as one process, also when an actor is killed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.adapters.ray_workers import RayWorkers
from ibidem.index.tuning import Tuning

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow
SOURCE = Path(__file__).parents[3] / "src"


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(
            num_cpus=3,
            include_dashboard=False,
            log_to_driver=False,
            runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join([str(SOURCE), *_paths()])}},
        )
        yield
        ray.shutdown()


def _paths() -> list[str]:
    return [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]


@pytest.mark.filterwarnings("ignore")
def test_actors_rank_for_a_process_and_one_may_die(tmp_path: Path, cluster: None) -> None:
    question: dict[str, Any] = {"text": "red", "vector": ("m", np.array([1, 2, 3], np.float32))}
    with ibidem.init(tmp_path / "notes") as repo:
        repo.core.search_index.tuning = Tuning(fresh_rows=1, tail_rows=1, tier_parts=1_000)
        for batch in range(8):
            with repo.transaction() as tx:
                for place in range(10):
                    node = tx.add_node("Mill", summary=f"a red mill {batch} {place}")
                    tx.set_vector(node, model="m", vector=np.array([batch, place, 1], np.float32))
            assert repo.retrieve("mill").items
        expected = repo.retrieve(**question).to_bytes()
        with RayWorkers(str(tmp_path / "notes"), 3, num_cpus=1) as workers:
            repo.use_workers(workers, timeout_seconds=60)
            assert repo.retrieve(**question).to_bytes() == expected
            ray.kill(workers._actors["ray-0"], no_restart=True)
            assert repo.retrieve(**question).to_bytes() == expected
        with pytest.raises(ibidem.RemoteError, match="ray-1"):
            repo.retrieve(**question)
