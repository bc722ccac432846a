"""A reranker over HTTP, against a server on this machine; a replay calls nobody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.embed.test_remote import Server

import ibidem
from ibidem.cli.main import cli
from ibidem.embed.http import Service
from ibidem.embed.remote_reranker import RemoteReranker
from ibidem.objects.errors import CorruptError, InvalidInputError, StorageError

KEY = "secret-0123456789"


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.close()


def ok(body: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
    """The shorter a text, the better, in another order than they were sent."""
    rows = [
        {"index": index, "relevance_score": 1 / len(text), "document": {"text": text}}
        for index, text in enumerate(body["documents"])
    ]
    rows.sort(key=lambda row: -row["relevance_score"])
    return 200, json.dumps({"id": "x", "results": rows}).encode(), {}


def model(server: Server, **more: Any) -> RemoteReranker:
    service = Service(f"{server.url}/v1/rerank", "http", KEY, sleep=lambda _: None, **more)
    return RemoteReranker(service, "m")


def repository() -> ibidem.Repository:
    found = ibidem.init("memory:")
    with found.transaction() as tx:
        tx.add("the parcel arrives on Monday with the second post of the day")
        tx.add("the parcel is here")
    return found


def test_scores_come_in_the_order_of_the_texts(server: Server):
    server.answers = [ok]
    assert model(server).rerank("q", ["aaaa", "b"]) == [0.25, 1.0]
    path, headers, body = server.asked[0]
    assert path == "/v1/rerank"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {"model": "m", "query": "q", "documents": ["aaaa", "b"], "top_n": 2}


def test_the_identity_is_that_of_the_model_and_not_of_the_address(server: Server):
    other = RemoteReranker(Service("http://127.0.0.1:1/rerank", "http"), "m")
    assert (other.name, other.digest) == (model(server).name, model(server).digest)
    assert RemoteReranker(Service("http://127.0.0.1:1/", "jina"), "m").digest != other.digest


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"index": 0, "relevance_score": 1}],
        [{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 2}],
        [{"index": 0, "relevance_score": 1}, {"index": 2, "relevance_score": 2}],
        [{"index": 0, "relevance_score": 1}, {"index": True, "relevance_score": 2}],
        [{"index": 0, "relevance_score": 1}, {"index": 1, "relevance_score": "x"}],
        [{"index": 0, "relevance_score": 1}, {"index": 1, "relevance_score": float("nan")}],
        [{"index": 0}, {"index": 1}],
        {"a": 1},
        None,
    ],
)
def test_an_answer_of_another_form_is_refused(server: Server, rows: Any):
    server.answers = [(200, json.dumps({"results": rows}).encode(), {})]
    with pytest.raises(CorruptError, match="http:m"):
        model(server).rerank("q", ["a", "b"])


def test_a_service_that_refuses_or_fails_raises_and_the_key_stays_secret(server: Server):
    server.answers = [(401, json.dumps({"error": f"bad key {KEY}"}).encode(), {})]
    with pytest.raises(InvalidInputError) as refused:
        model(server).rerank("q", ["a", "b"])
    assert KEY not in str(refused.value)
    server.answers = [(503, b"", {})]
    with pytest.raises(StorageError):
        model(server, tries=2).rerank("q", ["a", "b"])


def test_the_scores_are_in_the_receipt_and_a_replay_calls_nobody(server: Server):
    server.answers = [ok]
    repo = repository()
    answer = repo.retrieve("when does the parcel arrive", rerank=model(server))
    assert answer.items[0].node.summary == "the parcel is here"
    assert len(server.asked) == 1
    assert repo.receipts.replay(answer.receipt).to_bytes() == answer.to_bytes()
    assert len(server.asked) == 1


def test_a_failure_keeps_the_fused_order_and_is_recorded(server: Server):
    server.answers = [(200, b"{}", {})]
    repo = repository()
    answer = repo.retrieve("when does the parcel arrive", rerank=model(server))
    assert answer.status["rerank"] == "error"
    plain = [item.node.id for item in repo.retrieve("when does the parcel arrive")]
    assert [item.node.id for item in answer] == plain
    assert repo.receipts.replay(answer.receipt).to_bytes() == answer.to_bytes()


def test_commands_take_it_from_the_flag_or_the_local_setting(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    server.answers = [ok]
    monkeypatch.setenv("IBIDEM_RERANK_URL", f"{server.url}/v1/rerank")
    monkeypatch.setenv("IBIDEM_REPO", str(tmp_path))
    with ibidem.init(tmp_path) as repo, repo.transaction() as tx:
        tx.add("the parcel arrives on Monday with the second post of the day")
        tx.add("the parcel is here")

    def run(*arguments: str) -> Any:
        done = CliRunner().invoke(cli, [*arguments, "--json"], prog_name="repo")
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    assert "rerank" not in run("retrieve", "parcel arrives")["status"]
    commands = (["retrieve"], ["packs"], ["memory", "recall"])
    for command in commands:
        assert run(*command, "parcel arrives", "--rerank", "http:m")["status"]["rerank"] == "ok"
    run("config", "set", "rerank", "http:m", "--local")
    for command in commands:
        found = run(*command, "parcel arrives")
        assert found["status"]["rerank"] == "ok"
        assert "rerank" not in run(*command, "parcel arrives", "--rerank", "none")["status"]
    calls = len(server.asked)
    run("replay", found["receipt"])
    assert run("retrieve", "--label", "Semantic")["items"]
    assert len(server.asked) == calls
    run("config", "unset", "rerank", "--local")
    assert "rerank" not in run("retrieve", "parcel arrives")["status"]


@pytest.mark.parametrize("name", ["http:m", "nonsense:m", "http:"])
def test_a_name_without_an_address_or_of_no_form_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.delenv("IBIDEM_RERANK_URL", raising=False)
    ibidem.init(tmp_path).close()
    arguments = ["retrieve", "x", "--rerank", name, "-R", str(tmp_path)]
    done = CliRunner().invoke(cli, arguments, prog_name="repo")
    assert done.exit_code == 2
    assert "--rerank" in done.output
