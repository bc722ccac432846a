"""Where questions are written: one setting for all of it, seen by looking into every file."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import ibidem
from ibidem.cli.main import cli
from ibidem.memory.recall.feedback import Feedback
from ibidem.memory.recall.recall import recall
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.repo.receipts.log import ReceiptLog
from ibidem.repo.slow_log import slow_questions
from ibidem.retrieve.access.policy import ALL, TrustPolicy, Viewer
from ibidem.store import files

from .helpers import NOW, add, set_slow

CANARY = "zyzzogeton"
QUESTION = f"alpha {CANARY}"


def files_with(folder: Path) -> set[str]:
    """Returns the files of a repository that have the question's word."""
    secret = CANARY.encode()
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and secret in path.read_bytes()
    }


def ask_everything(repo: ibidem.Repository) -> None:
    """Asks in every way that the library has."""
    (node,) = add(repo, "alpha")
    repo.conversations.append("talk", [("user", "alpha beta")])
    set_slow(repo, 0)
    found = recall(repo, QUESTION, session="s")
    Feedback(repo).vote(found.result, node, 1, author="ada")
    Feedback(repo).not_useful(found.result, [node], author="ada")
    repo.retrieve(QUESTION)
    repo.packs(QUESTION)
    repo.prompt(QUESTION)
    repo.context(QUESTION, thread="talk")
    repo.records.retrieve_graph(QUESTION)
    repo.conversations.select(QUESTION)
    repo.conversations.context(QUESTION, thread="talk", token_budget=100)
    repo.at().retrieve(QUESTION, queries=[QUESTION])
    repo.retrieve(None, where={"name": CANARY})


def test_never_means_nowhere(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        repo.receipts.log_questions("never")
        ask_everything(repo)
        assert files_with(tmp_path) == set()
    with ibidem.open(tmp_path, clock=lambda: NOW) as repo:  # for every program, from now on
        ask_everything(repo)
        receipt = repo.retrieve(QUESTION).receipt
        assert receipt is not None
        with pytest.raises(NotFoundError, match="not in the log"):
            repo.receipts.find(str(receipt.cid))
        assert repo.receipts.replay(receipt).receipt == receipt
        assert list(slow_questions(repo.folder))
    assert files_with(tmp_path) == set()


def test_the_command_line_keeps_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        repo.conversations.append("talk", [("user", "alpha beta")])

    def run(*arguments: str) -> None:
        done = CliRunner().invoke(cli, list(arguments), prog_name="repo")
        assert done.exit_code == 0, (arguments, done.output)

    asked = (
        ("retrieve", QUESTION),
        ("packs", QUESTION),
        ("prompt", QUESTION, "--thread", "talk"),
        ("memory", "recall", QUESTION, "--session", "s"),
        ("memory", "graph", QUESTION),
        ("thread", "select", "talk", QUESTION),
        ("diff", "--query", QUESTION, "HEAD~1", "HEAD"),
    )
    run("config", "set", "slow_milliseconds", "0")
    run("config", "set", "log_questions", "never")
    for arguments in asked:
        run(*arguments)
    assert files_with(tmp_path) == set()
    run("config", "set", "log_questions", "receipts")
    for arguments in asked:
        run(*arguments)
    assert files_with(tmp_path) == {".ibidem/receipts/log"}
    run("config", "set", "log_questions", "always")
    run("memory", "recall", QUESTION)
    shown = CliRunner().invoke(cli, ["memory", "slow", "-n", "1"], prog_name="repo").output
    assert QUESTION in shown
    assert "lanes: lexical ok" in shown
    assert files_with(tmp_path) == {".ibidem/receipts/log", ".ibidem/local/slow.jsonl"}
    run("config", "set", "log_questions", "never")  # and what was written before is gone
    assert files_with(tmp_path) == set()
    run("config", "unset", "log_questions")
    run("retrieve", QUESTION)
    assert files_with(tmp_path) == {".ibidem/receipts/log"}


def test_a_receipt_that_somebody_wanted_stays(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        cid = repo.receipts.keep(repo.retrieve(QUESTION).receipt)
        repo.receipts.log_questions("never")
        assert repo.receipts.find(cid)[0] == cid
        repo.receipts.drop(cid)


@pytest.mark.parametrize("text", ["{", "[]", '{"log_questions": "maybe"}', "\x00"])
def test_a_setting_that_cannot_be_read_keeps_nothing(tmp_path: Path, text: str) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        file = tmp_path / ".ibidem" / "local" / "settings.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        repo.retrieve(QUESTION)
    assert files_with(tmp_path) == set()


def test_another_value_is_named_and_changes_nothing(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        for wrong in ("no", True, None):
            with pytest.raises(InvalidInputError, match="log_questions: got"):
                repo.receipts.log_questions(wrong)  # type: ignore[arg-type]
        assert not (tmp_path / ".ibidem" / "local" / "settings.json").exists()
    with ibidem.init("memory:") as repo, pytest.raises(InvalidInputError, match="in memory"):
        repo.receipts.log_questions("never")


def test_a_slow_question_is_one_of_so_many_milliseconds(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        recall(repo, QUESTION)
        assert list(slow_questions(repo.folder)) == []
        file = tmp_path / ".ibidem" / "local" / "settings.json"
        file.write_text('{"slow_milliseconds": 0}')
        recall(repo, QUESTION, disclosure="chunk")
        [line] = slow_questions(repo.folder)
        assert "question" not in line


def test_every_way_to_ask_is_recorded_once_and_without_the_words(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        repo.add("alpha of memory")
        repo.conversations.append("talk", [("user", "alpha beta")])
        set_slow(repo, 0)
        other = ibidem.init("memory:")
        other.add("alpha elsewhere")
        union = ibidem.union([repo, other])
        asked = {
            "retrieve": (repo.retrieve, union.retrieve, repo.conversations.select),
            "packs": (repo.packs, repo.prompt, union.packs),
            "context": (repo.context,),
            "records": (repo.at().records, repo.records.retrieve_graph, union.records),
        }
        for operation, ways in asked.items():
            for ask in ways:
                count = len(list(slow_questions(repo.folder)))
                ask(QUESTION)
                *_, line = found = list(slow_questions(repo.folder))
                assert (len(found), line["operation"]) == (count + 1, operation)
                assert line["lanes"]
        list(repo.at().stream_packs(QUESTION))
        repo.at().retrieve_many([{"text": QUESTION}, {"text": QUESTION}])
        assert len(list(slow_questions(repo.folder))) == len(found) + 3
    assert ".ibidem/local/slow.jsonl" not in files_with(tmp_path)


def test_a_question_of_a_restricted_viewer_is_not_recorded(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        with repo.transaction() as tx:
            tx.set_trust_policy(TrustPolicy())
            tx.add_node("Fact", summary="alpha", props={"level": 0})
        set_slow(repo, 0)
        low = Viewer(level=0, scopes=())
        assert repo.retrieve(QUESTION, viewer=low)
        assert repo.as_viewer(low).packs(QUESTION)
        assert list(slow_questions(repo.folder)) == []


def test_a_slow_question_of_who_may_see_everything_is_answered_and_recorded(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        with repo.transaction() as tx:
            tx.set_trust_policy(TrustPolicy())
            tx.add_node("Fact", summary="alpha", props={"level": 0})
        set_slow(repo, 0)
        assert repo.retrieve(QUESTION, viewer=ALL)
        assert [line["options"] for line in slow_questions(repo.folder)] == [["viewer"]]


def test_only_the_options_that_were_given_are_named(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        set_slow(repo, 0)
        repo.retrieve("alpha")
        repo.retrieve("alpha", limit=3)
        repo.retrieve(None, label="Doc")
        found = [line["options"] for line in slow_questions(repo.folder)]
        assert found == [[], ["limit"], ["labels"]]


def test_a_slow_question_that_a_damaged_line_stands_beside_is_listed(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        set_slow(repo, 0)
        repo.retrieve("alpha")
        with (tmp_path / ".ibidem" / "local" / "slow.jsonl").open("a") as file:
            file.write('5\n{"operation": "of another version"}\n')
        repo.retrieve("alpha")
        assert len(list(slow_questions(repo.folder))) == 2


@pytest.mark.parametrize("is_cut_off", [False, True])
@pytest.mark.parametrize(
    "arguments", [("set", "log_questions", "receipts"), ("unset", "log_questions")]
)
def test_questions_leave_the_log_that_no_longer_gets_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], is_cut_off: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        set_slow(repo, 0)
        repo.receipts.log_questions("always")
        repo.retrieve(QUESTION)
    if is_cut_off:
        log = tmp_path / ".ibidem" / "local" / "slow.jsonl"
        log.write_bytes(log.read_bytes()[:-3])
    assert ".ibidem/local/slow.jsonl" in files_with(tmp_path)
    done = CliRunner().invoke(cli, ["config", *arguments], prog_name="repo")
    assert done.exit_code == 0, done.output
    assert files_with(tmp_path) == {".ibidem/receipts/log"}
    file = tmp_path / ".ibidem" / "local" / "settings.json"
    assert ("log_questions" in json.loads(file.read_text())) is (arguments[0] == "set")


@pytest.mark.parametrize(("writer", "step"), [(ReceiptLog, "_locked"), (files, "folder_lock")])
def test_a_question_that_is_being_answered_is_not_written_after_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writer: object, step: str
) -> None:
    """Another process turns the logs off when this one is about to write."""
    with ibidem.init(tmp_path) as repo, ibidem.open(tmp_path) as other:
        add(repo, "alpha")
        set_slow(repo, 0)
        repo.receipts.log_questions("always")
        real = getattr(writer, step)

        def turned_off(*given: object, **named: object) -> object:
            monkeypatch.undo()
            other.receipts.log_questions("never")
            return real(*given, **named)

        monkeypatch.setattr(writer, step, turned_off)
        assert repo.retrieve(QUESTION)
        assert files_with(tmp_path) == set()


def test_never_caches_no_vector_of_a_question(tmp_path: Path) -> None:
    class Embedder:
        name, digest, dim = "counted", bytes(32), 2

        def embed(self, texts: Sequence[str]) -> np.ndarray:
            return np.array([[1.0, len(text)] for text in texts], np.float32)

    embedder = Embedder()
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        repo.embed(embedder)

        def size() -> int:
            folder = tmp_path / ".ibidem" / "embeddings"
            return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

        repo.receipts.log_questions("never")
        before = size()
        found = repo.retrieve(QUESTION, embedder=embedder)
        assert size() == before > 0
        repo.receipts.log_questions("receipts")
        assert repo.retrieve(QUESTION, embedder=embedder) == found
        assert size() > before


def test_an_answer_does_not_wait_for_who_holds_the_lock(tmp_path: Path) -> None:
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        add(repo, "alpha")
        set_slow(repo, 0)
        thread = threading.Thread(target=repo.retrieve, args=(QUESTION,))
        with files.folder_lock(tmp_path / ".ibidem" / "local"):
            thread.start()
            thread.join(15.0)
            is_answered = not thread.is_alive()
        thread.join()
        assert is_answered
        assert list(slow_questions(repo.folder)) == []
