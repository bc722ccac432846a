"""Runs in trouble: errors, kills, races, erased and forged steps; each is recorded or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ibidem
from ibidem.objects.errors import (
    ConflictError,
    CorruptError,
    IbidemError,
    InvalidInputError,
    NotFoundError,
    RecordedError,
    RunMismatchError,
    UnrecordedError,
)
from ibidem.repo.repository import Repository
from ibidem.repo.runs.replay import Replay


class QuotaError(Exception):
    """A tool's own error."""


class Counted:
    """Counts how often it is called."""

    def __init__(self, answers: Callable[..., Any]) -> None:
        self.count = 0
        self._answers = answers

    def __call__(self, *given: Any) -> Any:
        self.count += 1
        return self._answers(*given)


def seeded(repo: Repository) -> Repository:
    with repo.transaction(message="seed") as tx:
        for index in range(4):
            tx.add_node("Note", summary=f"retry advice number {index}", key=index)
    return repo


def test_errors_of_tools_and_of_the_repository_come_again(repo: Repository) -> None:
    def attempts(session: Any, search: Callable[..., Any]) -> list[str]:
        call = session.tool("search", search, errors=[QuotaError])
        seen = []
        for kind in ("timeout", "quota", "fine"):
            try:
                seen.append(str(call(kind)))
            except (TimeoutError, QuotaError) as error:
                seen.append(f"{type(error).__name__}: {error}")
        for question in ({"text": "x", "limit": -1}, {"text": "x", "vector": ("m", [1.0])}):
            try:
                session.retrieve(**question)
            except InvalidInputError as error:
                seen.append(str(error))
        try:
            session.at("nowhere")
        except NotFoundError as error:
            seen.append(f"{error.kind} {error}")
        return seen

    def search(kind: str) -> str:
        if kind == "timeout":
            raise TimeoutError("after 8 s")
        if kind == "quota":
            raise QuotaError("none left")
        return kind

    counted = Counted(search)
    with seeded(repo).runs.start("errors") as run:
        live = attempts(run, counted)
    assert live[:3] == ["TimeoutError: after 8 s", "QuotaError: none left", "fine"]
    with run.replay() as replay:
        assert attempts(replay, counted) == live
    assert counted.count == 3
    foreign = run.replay().tool("search", counted)
    with pytest.raises(TimeoutError):
        foreign("timeout")
    with pytest.raises(RecordedError, match=r"QuotaError: none left"):
        run_to_quota(run.replay(), counted)


def run_to_quota(session: Any, function: Callable[..., Any]) -> None:
    call = session.tool("search", function)
    with pytest.raises(TimeoutError):
        call("timeout")
    call("quota")


def test_an_agent_that_failed_fails_again_in_the_same_way(repo: Repository) -> None:
    def failing(session: Any) -> None:
        session.event("plan", {"goal": "fail"})
        raise LookupError("nothing to do")

    with pytest.raises(LookupError), repo.runs.start("fails") as run:
        failing(run)
    assert repo.runs.list()[0].failure == "LookupError: nothing to do"
    with pytest.raises(LookupError), run.replay() as replay:
        failing(replay)
    with (
        pytest.raises(RunMismatchError, match="the run ended with LookupError"),
        run.replay() as replay,
    ):
        replay.event("plan", {"goal": "fail"})


def test_a_killed_run_ends_where_it_was_last_made_durable(tmp_path: Path) -> None:
    repo = ibidem.init(tmp_path)
    run = seeded(repo).runs.start("killed")
    run.event("began")
    run.retrieve("retry")
    repo.close()
    with ibidem.open(tmp_path) as repo:
        summary = repo.runs.list()[0]
        assert (summary.step_count, summary.ended, summary.failure) == (2, None, None)
        replay = repo.runs.open("killed").replay()
        replay.event("began")
        with pytest.raises(RunMismatchError, match="as if its process had been killed"):
            replay.retrieve("retry")


def test_an_answer_that_cannot_be_recorded_names_its_tool(repo: Repository) -> None:
    def agent(session: Any) -> None:
        with pytest.raises(InvalidInputError, match="big: answer: block: got"):
            session.tool("big", lambda: "x" * 2**20)()
        with pytest.raises(InvalidInputError, match="odd: answer: float: got"):
            session.event("odd", None, lambda: float("nan"))

    with seeded(repo).runs.start("refused") as run:
        agent(run)
    with repo.runs.open("refused").replay() as replay:
        agent(replay)


def test_what_cannot_be_recorded_is_refused_at_once(repo: Repository) -> None:
    with seeded(repo).runs.start("refused") as run:
        for value in ({1, 2}, float("nan"), object(), "x" * (2 << 20)):
            with pytest.raises(InvalidInputError, match="thing: "):
                run.event("thing", value)
        with pytest.raises(InvalidInputError, match="event: got name"):
            run.event("")
        with pytest.raises(AttributeError, match="a run has no 'reindex'"):
            run.reindex()
        with pytest.raises(InvalidInputError, match="does not record the history"):
            run.at().log()
        with pytest.raises(InvalidInputError, match="being recorded"):
            run.replay()
        assert run.event("large", call=lambda: "x" * 500_000) == "x" * 500_000
        assert run.event("pair", call=lambda: (1, 2)) == [1, 2]
    with pytest.raises(InvalidInputError, match="it has ended"):
        run.retrieve("retry")
    with run.replay() as replay:
        replay.at()
        assert len(replay.event("large")) == 500_000
        assert replay.event("pair") == [1, 2]


def test_a_run_that_was_dropped_meanwhile_says_so(repo: Repository) -> None:
    run = repo.runs.start("gone")
    repo.runs.drop("gone")
    with pytest.raises(ConflictError, match="dropped or moved"):
        run.event("late")


def test_a_refused_conflict_is_recorded_and_refused_again(repo: Repository) -> None:
    node = seeded(repo).query(label="Note")[0].id

    def edit(session: Any, meanwhile: Callable[[], None]) -> None:
        with session.transaction(on_conflict="raise") as tx:
            tx.update_node(node, summary="mine")
            meanwhile()

    def racing(session: Any, meanwhile: Callable[[], None]) -> str:
        with pytest.raises(ConflictError) as caught:
            edit(session, meanwhile)
        return str(caught.value)

    def other() -> None:
        with repo.transaction() as tx:
            tx.update_node(node, summary="theirs")

    with repo.runs.start("strict") as run:
        live = racing(run, other)
    with run.replay() as replay:
        assert racing(replay, lambda: None) == live
    with pytest.raises(RunMismatchError, match="differs in on_conflict: 'raise' then, None now"):
        run.replay().transaction()


def test_a_run_whose_step_was_erased_is_listed_and_says_why(repo: Repository) -> None:
    with repo.transaction() as tx:
        node = tx.add_node("Note", summary="a secret that is long enough to be looked for")
    with repo.runs.start("quoting") as run:
        found = run.retrieve("secret")
        run.event("model", [item.rendered for item in found.items], lambda: "seen")
    repo.maintenance.erase(node)
    (summary,) = repo.runs.list()
    assert (summary.name, summary.step_count) == ("quoting/1", 4)
    assert summary.failure is not None
    assert "was erased" in summary.failure
    with pytest.raises(IbidemError, match="was erased"):
        run.replay()
    repo.runs.drop("quoting")
    assert repo.runs.list() == []


@pytest.mark.parametrize("action", ["read", "retrieve", "transaction", "commit"])
def test_a_forged_step_is_refused_and_not_a_crash(repo: Repository, action: str) -> None:
    with seeded(repo).runs.start("forged") as run:
        if action == "commit":
            run.transaction()
        empty = {"at": "HEAD", "text": None} if action == "retrieve" else {"at": "HEAD"}
        names = ("author", "message", "branch", "time", "agent", "task")
        request = {"transaction": dict.fromkeys(names), "commit": None}.get(action, empty)
        if action == "transaction":
            request |= {"author": "", "message": ""}
        run._chain.append(action, request=request)
    with pytest.raises(CorruptError, match="without a"):
        act(run.replay(), action)


def act(replay: Replay, action: str) -> None:
    match action:
        case "read":
            replay.at()
        case "retrieve":
            replay.retrieve()
        case _:
            with replay.transaction() as tx:
                tx.add_node("Note")


def test_a_run_that_read_what_was_collected_meanwhile_says_so(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        repo.add("tea")
        repo.branch("given-up")
        repo.switch("given-up")
        repo.add("more tea")
        old = repo.head
        repo.switch("main")
        repo.delete_branch("given-up")
        run = repo.runs.start("nightly")
        assert len(run.at(str(old)).retrieve("tea").items) == 2
        other.maintenance.gc(keep_operations=1)
        with pytest.raises(ConflictError, match="was given up meanwhile, and collected"):
            run.publish()
        assert other.maintenance.fsck().is_clean


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ingest", "with run.transaction() as tx: tx.ingest"),
        ("undo", "inside run.event"),
        ("as_viewer", "run.retrieve(..., viewer=...)"),
    ],
)
def test_what_a_run_lacks_is_an_error_that_says_where_it_is(
    repo: Repository, name: str, hint: str
) -> None:
    with repo.runs.start("nightly") as run:
        with pytest.raises(UnrecordedError, match=f"a run has no '{name}'") as raised:
            getattr(run, name)
        assert hint in str(raised.value.hint)
