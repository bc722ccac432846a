"""What a repository says of the size of its logs, and what bounds them."""

from __future__ import annotations

from pathlib import Path

import pytest

import ibidem
from ibidem.objects.blocks import WriteBatch
from ibidem.repo.operation_log import OPERATIONS_KEPT
from ibidem.repo.receipts.log import LOG_BYTES_MAX
from ibidem.repo.repository import Repository


def ask(repo: Repository, count: int) -> None:
    with repo.transaction() as tx:
        tx.add_node("Doc", summary="the mill calculates", key=count)
    for number in range(count):
        repo.retrieve(f"mill {number}")


def test_the_logs_are_counted_in_entries_and_bytes(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        empty = repo.maintenance.log_stats()
        assert (empty.receipts.count, empty.receipts.size_bytes) == (0, 0)
        assert empty.operations.count == 1
        ask(repo, 5)
        stats = repo.maintenance.log_stats()
        log = tmp_path / ".ibidem" / "receipts" / "log"
        assert (stats.receipts.count, stats.receipts.size_bytes) == (5, log.stat().st_size)
        assert stats.receipts.size_bytes_max == 2 * LOG_BYTES_MAX
        assert stats.operations.count == len(list(repo.history.operations())) == 2
        sizes = [
            len(repo.core.store.get(operation.cid)) + len(repo.core.store.get(operation.view))
            for operation in repo.history.operations()
        ]
        assert stats.operations.size_bytes == sum(sizes)
        assert stats.operations.count_max == OPERATIONS_KEPT


@pytest.mark.slow
def test_a_collection_bounds_the_log_of_operations_unless_told_otherwise() -> None:
    with ibidem.init(clock=lambda: 0) as repo:
        state = repo.core.operation_log.state()
        for _ in range(OPERATIONS_KEPT + 20):
            state = repo.core.operation_log.publish(
                state,
                state.view,
                WriteBatch(repo.core.store),
                author="",
                time=0,
                description="nothing",
            )
        assert repo.maintenance.gc(keep_operations=None).operation_count == 0
        assert repo.maintenance.log_stats().operations.count == OPERATIONS_KEPT + 21
        assert repo.maintenance.gc().operation_count == 21
        # The newest that are kept, and the one that gave up the others.
        assert repo.maintenance.log_stats().operations.count == OPERATIONS_KEPT + 1
