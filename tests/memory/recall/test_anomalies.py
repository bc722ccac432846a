"""What is odd about how a repository is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibidem
from ibidem.memory.recall.anomalies import Anomaly, Oddity, anomalies
from ibidem.memory.recall.query_log import QueryLog
from ibidem.memory.recall.recall import recall

from .helpers import NOW, add


def asked(session: str, question: str, count: int, *, time: int = NOW, nodes: int = 1) -> Any:
    ids = [str(number) for number in range(nodes)]
    return [{"session": session, "question": question, "time": time, "ids": ids}] * count


def test_what_is_odd_is_told_from_its_floor_on() -> None:
    assert anomalies(asked("a", "q", 4), now=NOW) == []
    assert anomalies([*asked("a", "q", 1), *asked("b", "q", 1)], now=NOW) == []
    assert anomalies(asked("a", "q", 1, nodes=49), now=NOW) == []
    assert anomalies(asked("a", "q", 5), now=NOW) == [Anomaly(Oddity.REPEATED, "q", 5)]
    spread = [*asked("a", "q", 1), *asked("b", "q", 1), *asked("c", "q", 1)]
    assert anomalies(spread, now=NOW) == [Anomaly(Oddity.MANY_SESSIONS, "q", 3)]
    assert anomalies(asked("a", "q", 1, nodes=50), now=NOW) == [Anomaly(Oddity.MANY_NODES, "a", 50)]
    often = [one for number in range(30) for one in asked("a", f"q {number}", 1)]
    assert anomalies(often, now=NOW) == [Anomaly(Oddity.RAPID, "a", 30)]
    assert anomalies(often[1:], now=NOW) == []


def test_only_the_window_counts() -> None:
    old = asked("a", "q", 5, time=NOW - 5 * 60 * 1_000_000)
    assert anomalies(old, now=NOW) == []
    assert anomalies(old, now=NOW - 1) == [Anomaly(Oddity.REPEATED, "q", 5)]
    assert anomalies(asked("a", "q", 5, time=NOW + 1), now=NOW) == []


def test_impressions_of_a_repository_are_what_is_looked_at(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        for _ in range(5):
            recall(repo, "alpha", session="a")
        found = anomalies(QueryLog(repo.folder).impressions(), now=NOW)
    assert [one.oddity for one in found] == [Oddity.REPEATED]
