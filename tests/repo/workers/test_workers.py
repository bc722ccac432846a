"""Workers: the same bytes as without them, or an error that names who is missing."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ibidem
from ibidem.objects.errors import ErrorKind, InvalidInputError, RemoteError
from ibidem.repo.repository import Repository
from ibidem.repo.workers import messages
from ibidem.repo.workers.messages import Ask, Request, decode_counts, decode_top
from ibidem.retrieve.access.policy import ALL, Viewer
from ibidem.retrieve.partition import DENSE, Counts, Top
from ibidem.retrieve.semantics import resolve

from .world import DIM, filled, vector

QUESTIONS: tuple[dict[str, Any], ...] = (
    {"vector": ("m", vector(1))},
    {"vector": ("m", vector(1)), "label": "Odd", "depth": 7},
    {"text": "w1 w5 w9"},
    {"text": "w1 w5", "vector": ("m", vector(2)), "where": {"place": {"lt": 90}}},
    {"text": "w2 w3", "operator": "and"},
    {"text": "w2 wx3", "fuzzy": {"length": 2}},
    {"text": "w1 seconds secnds"},
    {"text": 'w1 "w2 w3"', "phrases": True, "fuzzy": False},
    {"queries": [{"text": "w4"}, {"vector": ("m", vector(3))}], "text": "w2"},
    {"text": "of the"},
    {"text": "nothinghasthis", "vector": ("m", np.zeros(DIM, np.float32))},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("workers") / "notes"
    with ibidem.init(found) as repo:
        filled(repo)
        parts = repo.at(viewer=ALL).snapshot().vectors("m")
        assert len(parts) > 5
    return found


@pytest.fixture
def opened(folder: Path) -> Iterator[Callable[[], Repository]]:
    every: list[Repository] = []

    def one() -> Repository:
        every.append(ibidem.open(folder))
        return every[-1]

    yield one
    for repo in every:
        repo.close()


def answers(repo: Repository, viewer: Viewer | None = ALL) -> list[bytes]:
    return [repo.retrieve(viewer=viewer, **one).to_bytes() for one in QUESTIONS]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_any_number_of_workers_gives_the_same_bytes(
    opened: Callable[[], Repository], count: int
) -> None:
    driver = opened()
    expected = answers(driver)
    driver.use_workers({f"w{n}": opened().work for n in range(count)})
    assert answers(driver) == expected
    workers = driver.core.workers
    assert workers is not None
    assert workers.request_count >= count
    driver.use_workers(())
    assert driver.core.workers is None


def test_many_questions_at_once_and_packs_have_the_same_bytes(
    opened: Callable[[], Repository],
) -> None:
    driver = opened()
    revision = driver.at(viewer=ALL)

    def every() -> list[bytes]:
        found = [one.to_bytes() for one in revision.retrieve_many(QUESTIONS[:5])]
        return [*found, revision.packs("w1 w5", vector=("m", vector(1))).to_bytes()]

    expected = every()
    driver.use_workers({"a": opened().work, "b": opened().work})
    assert every() == expected


@pytest.mark.parametrize("viewer", [Viewer(0, ()), Viewer(2, ())])
def test_a_restricted_viewer_gets_what_one_process_gives(
    opened: Callable[[], Repository], viewer: Viewer
) -> None:
    driver = opened()
    expected = answers(driver, viewer)
    assert expected != answers(driver)
    driver.use_workers({"a": opened().work, "b": opened().work})
    assert answers(driver, viewer) == expected
    found = driver.as_viewer(viewer).retrieve("w1 w5")
    assert found.to_bytes() == driver.retrieve("w1 w5", viewer=viewer).to_bytes()
    with pytest.raises(InvalidInputError) as refused:
        driver.as_viewer(viewer).work(b"")
    assert refused.value.kind is ErrorKind.NOT_PERMITTED


def test_the_counts_of_a_restricted_viewer_are_of_what_it_sees(
    opened: Callable[[], Repository],
) -> None:
    driver, worker = opened(), opened()
    sent: list[tuple[bytes, bytes]] = []

    def recorded(message: bytes) -> bytes:
        sent.append((message, worker.work(message)))
        return sent[-1][1]

    driver.use_workers({"a": recorded})
    documents = []
    for viewer in (Viewer(0, ()), ALL):
        driver.retrieve("w1", viewer=viewer)
        counts = [answer for message, answer in sent if Request.decode(message).ask == "counts"]
        documents.append(decode_counts(counts[-1]).documents)
    assert documents[0] < documents[1]


def test_a_worker_that_is_lost_is_replaced_by_another(opened: Callable[[], Repository]) -> None:
    driver = opened()
    expected = answers(driver)
    for lost in range(3):
        failing = opened()
        count = iter(range(100))

        def dies(message: bytes, failing: Repository = failing, count: Any = count) -> bytes:
            if next(count) >= 3:
                raise ConnectionError("the connection was lost")
            return failing.work(message)

        carriers = {f"w{n}": opened().work for n in range(3)} | {f"w{lost}": dies}
        driver.use_workers(carriers)
        assert answers(driver) == expected


def test_segments_without_a_worker_are_an_error_that_names_both(
    opened: Callable[[], Repository],
) -> None:
    driver = opened()
    question = QUESTIONS[0]
    expected = driver.retrieve(viewer=ALL, **question).to_bytes()
    is_down = threading.Event()

    def dies(message: bytes) -> bytes:
        if is_down.is_set():
            raise ConnectionError("the connection was lost")
        return driver.work(message)

    driver.use_workers({"lost": dies, "here": opened().work}, copies=1)
    assert driver.retrieve(viewer=ALL, **question).to_bytes() == expected
    is_down.set()
    with pytest.raises(RemoteError) as failed:
        driver.retrieve(viewer=ALL, **question)
    message = str(failed.value)
    assert "lost: ConnectionError: the connection was lost" in message
    assert "here" not in message
    names = [one.name for one in driver.at(viewer=ALL).snapshot().vectors("m")]
    assert any(name in message for name in names)
    is_down.clear()
    assert driver.retrieve(viewer=ALL, **question).to_bytes() == expected


def test_a_worker_that_comes_after_the_others_are_lost_is_used(
    opened: Callable[[], Repository],
) -> None:
    driver = opened()
    question = QUESTIONS[0]
    expected = driver.retrieve(viewer=ALL, **question).to_bytes()
    up = {"early"}

    def carrier(name: str) -> Callable[[bytes], bytes]:
        worker = opened()

        def carry(message: bytes) -> bytes:
            if name not in up:
                raise ConnectionError("the connection was lost")
            return worker.work(message)

        return carry

    driver.use_workers({name: carrier(name) for name in ("early", "later")})
    assert driver.retrieve(viewer=ALL, **question).to_bytes() == expected
    up.symmetric_difference_update(("early", "later"))
    with pytest.raises(RemoteError, match="early: ConnectionError"):
        driver.retrieve(viewer=ALL, **question)
    assert driver.retrieve(viewer=ALL, **question).to_bytes() == expected


@pytest.mark.slow
def test_a_slow_worker_is_not_waited_for(opened: Callable[[], Repository]) -> None:
    driver = opened()
    question = QUESTIONS[3]
    expected = driver.retrieve(viewer=ALL, **question).to_bytes()
    released = threading.Event()
    try:
        got: list[bytes] = []

        def slow(message: bytes) -> bytes:
            got.append(message)
            released.wait()
            return b""

        driver.use_workers({"a": driver.work, "b": opened().work})
        assert driver.retrieve(viewer=ALL, **question).to_bytes() == expected
        workers = driver.core.workers
        assert workers is not None
        workers._carriers["b"] = slow  # after it answered once
        workers._timeout_seconds = 0.5
        assert driver.retrieve(viewer=ALL, **question).to_bytes() == expected
        before = len(got)
        workers._plans.clear()  # as after a commit: all others are asked for their segments
        assert driver.retrieve(viewer=ALL, **question).to_bytes() == expected
        assert len(got) == before, "a worker that was too slow is asked last for a while"
        driver.use_workers({"b": slow}, timeout_seconds=0.5)
        with pytest.raises(RemoteError, match=r"b: no answer within 0\.5 seconds"):
            driver.retrieve(viewer=ALL, **question)
    finally:
        released.set()


def test_a_worker_that_was_slow_is_asked_if_the_others_do_not_answer(
    opened: Callable[[], Repository],
) -> None:
    driver = opened()
    question = QUESTIONS[0]
    expected = driver.retrieve(viewer=ALL, **question).to_bytes()

    def dies(message: bytes) -> bytes:
        raise ConnectionError("the connection was lost")

    driver.use_workers({"dead": dies, "late": opened().work})
    workers = driver.core.workers
    assert workers is not None
    workers._late_until["late"] = time.monotonic() + 60
    assert driver.retrieve(viewer=ALL, **question).to_bytes() == expected


def test_a_worker_with_another_repository_is_not_used(
    opened: Callable[[], Repository], tmp_path: Path
) -> None:
    driver = opened()
    question = QUESTIONS[0]
    expected = driver.retrieve(viewer=ALL, **question).to_bytes()
    with ibidem.init(tmp_path / "other") as other:
        driver.use_workers({"other": other.work, "same": opened().work})
        assert driver.retrieve(viewer=ALL, **question).to_bytes() == expected
        driver.use_workers({"other": other.work})
        with pytest.raises(RemoteError, match=r"none has the index of .*other: block .* is not in"):
            driver.retrieve(viewer=ALL, **question)


def test_a_node_that_comes_twice_is_refused(opened: Callable[[], Repository]) -> None:
    driver, worker = opened(), opened()

    def doubled(message: bytes) -> bytes:
        answer = worker.work(message)
        if Request.decode(message).ask is not Ask.TOP:
            return answer
        top = decode_top(answer)
        scores = np.concatenate([top.scores, top.scores])
        return messages.encode_top(Top(np.concatenate([top.ids, top.ids]), scores, top.has_rows))

    driver.use_workers({"doubled": doubled})
    with pytest.raises(RemoteError, match="a node twice"):
        driver.retrieve(viewer=ALL, **QUESTIONS[0])


def test_counts_that_no_index_has_are_refused() -> None:
    counts = Counts(1 << 49, 1, 1, Counter(), Counter())
    with pytest.raises(RemoteError, match="does not fit the request"):
        decode_counts(messages.encode_counts(counts))


def test_a_worker_of_another_version_refuses(
    opened: Callable[[], Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = opened()
    worker = opened()

    def newer(message: bytes) -> bytes:
        with monkeypatch.context() as patched:
            patched.setattr(messages, "VERSION", 2)
            return worker.work(message)

    driver.use_workers({"newer": newer})
    with pytest.raises(RemoteError, match=r"newer: worker: got version 1, expected one of \[2\]"):
        driver.retrieve(viewer=ALL, **QUESTIONS[0])


def test_a_worker_that_merged_its_segments_is_asked_again(tmp_path: Path) -> None:
    with ibidem.init(tmp_path / "notes") as repo:
        filled(repo)
        driver, worker = ibidem.open(tmp_path / "notes"), ibidem.open(tmp_path / "notes")
        with driver, worker:
            question = QUESTIONS[3]
            expected = driver.retrieve(viewer=ALL, **question).to_bytes()
            driver.use_workers({"a": worker.work})
            assert driver.retrieve(viewer=ALL, **question).to_bytes() == expected
            before = len(worker.at(viewer=ALL).snapshot().vectors("m"))
            worker.core.reindex(compact=True)
            assert len(worker.at(viewer=ALL).snapshot().vectors("m")) < before
            assert driver.retrieve(viewer=ALL, **question).to_bytes() == expected


def test_segments_in_memory_belong_to_one_process_only() -> None:
    with ibidem.init("memory:") as repo, ibidem.init("memory:") as other:
        filled(repo)
        expected = answers(repo)
        repo.use_workers({"a": repo.work, "b": other.work})
        assert answers(repo) == expected


def test_what_is_not_published_is_ranked_here() -> None:
    def never(message: bytes) -> bytes:
        raise AssertionError("BUG: a worker was asked")

    with ibidem.init("memory:") as empty:
        empty.use_workers({"a": never})
        assert empty.retrieve("w1").items == ()


def test_what_a_worker_says_is_checked(opened: Callable[[], Repository]) -> None:
    driver, worker, rng = opened(), opened(), random.Random(1)

    def cut(answer: bytearray) -> None:
        del answer[rng.randrange(len(answer)) :]

    def longer(answer: bytearray) -> None:
        answer += b"\x00"

    def flipped(answer: bytearray) -> None:
        answer[rng.randrange(min(12, len(answer)))] ^= 1 << rng.randrange(8)

    for damage in (cut, longer, flipped):
        for _ in range(8):

            def damaged(message: bytes, damage: Any = damage) -> bytes:
                answer = bytearray(worker.work(message))
                damage(answer)
                return bytes(answer)

            driver.use_workers({"a": damaged})
            with pytest.raises(RemoteError):
                driver.retrieve(viewer=ALL, **QUESTIONS[3])


def test_what_is_no_request_is_an_error_in_the_answer(opened: Callable[[], Repository]) -> None:
    worker = opened()
    for message in (b"", b"\x00\x00\x00\x01", b"\x00\x00\x00\x01\xa0", b"\xff" * 50):
        with pytest.raises(RemoteError):
            decode_top(worker.work(message))


def test_a_request_for_vectors_needs_one(opened: Callable[[], Repository]) -> None:
    worker = opened()
    query = resolve(worker.at().config, text="words", viewer=ALL)
    request = Request(Ask.TOP, worker.at().root_cid, DENSE, query, {"a": b""}, None)
    with pytest.raises(RemoteError, match="got no vector"):
        decode_top(worker.work(request.encode()))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"workers": "http://127.0.0.1:1"}, "expected a list of addresses"),
        ({"workers": None}, "expected a list of addresses"),
        ({"workers": ["ftp://x"], "token": "t"}, "url: got 'ftp://x'"),
        ({"workers": ["http://127.0.0.1:1"]}, "token: expected"),
        ({"workers": {"a": len}, "copies": 0}, "copies: got 0"),
        ({"workers": {"a": len}, "timeout_seconds": 0}, "timeout_seconds: got 0"),
    ],
)
def test_arguments_are_checked(
    opened: Callable[[], Repository], arguments: dict[str, Any], words: str
) -> None:
    driver = opened()
    with pytest.raises(InvalidInputError, match=words.replace("(", r"\(")):
        driver.use_workers(**arguments)
    assert driver.core.workers is None
