"""A sparse encoder over HTTP, against a server on this machine; a replay calls nobody."""

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
from ibidem.embed.remote_sparse import RemoteSparseEncoder
from ibidem.objects.errors import CorruptError, InvalidInputError, StorageError

KEY = "secret-0123456789"
TEXTS = ("the parcel arrives on Monday", "a letter")
IDS = {
    "the": 7,
    "parcel": 3,
    "arrives": 11,
    "on": 13,
    "Monday": 17,
    "a": 19,
    "letter": 23,
    "post": 3,
}


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    found.answers = [ok]
    yield found
    found.close()


def ok(body: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
    """The weight of a word is its length; "post" means a parcel."""
    rows = [
        [{"index": IDS[word], "value": len(word) / 4} for word in text.split() if word in IDS]
        for text in body["inputs"]
    ]
    return 200, json.dumps(rows).encode(), {}


def encoder(server: Server, **more: Any) -> RemoteSparseEncoder:
    service = Service(f"{server.url}/embed_sparse", "tei", KEY, sleep=lambda _: None)
    return RemoteSparseEncoder(service, "m", **more)


def repository() -> ibidem.Repository:
    found = ibidem.init("memory:")
    with found.transaction() as tx:
        for text in TEXTS:
            tx.add(text)
    return found


def test_texts_are_sent_in_batches_and_come_back_in_order(server: Server):
    found = encoder(server, batch_texts=1).encode(["the parcel", "a letter", "unknown"])
    assert [(row[0].tolist(), row[1].tolist()) for row in found] == [
        ([3, 7], [1.5, 0.75]),
        ([19, 23], [0.25, 1.5]),
        ([], []),
    ]
    path, headers, body = server.asked[0]
    assert (path, headers["Authorization"]) == ("/embed_sparse", f"Bearer {KEY}")
    assert body == {"inputs": ["the parcel"], "truncate": True}
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        [[], []],
        [{}],
        [7],
        [None],
        [[{"index": 1}]],
        [[{"index": True, "value": 1.0}]],
        [[{"index": -1, "value": 1.0}]],
        [[{"index": 1 << 32, "value": 1.0}]],
        [[{"index": 1, "value": 1.0}, {"index": 1, "value": 2.0}]],
        [[{"index": 1, "value": "2"}]],
        [[{"index": 1, "value": True}]],
        [[{"index": 1, "value": float("nan")}]],
        [[{"index": 1, "value": 1e39}]],
        [[{"index": 1, "value": 10**400}]],
    ],
)
def test_an_answer_of_the_wrong_form_is_an_error_and_changes_nothing(server: Server, answer: Any):
    if answer == [{}]:
        answer = [{"index": 1, "value": 1.0}]
    server.answers = [(200, json.dumps(answer).encode(), {})]
    repo = repository()
    before = repo.head
    with pytest.raises(CorruptError, match="tei:m"):
        encoder(server).encode(["a"])
    with pytest.raises(CorruptError):
        repo.embed_sparse(encoder(server), batch_nodes=1)
    with pytest.raises(CorruptError):
        repo.retrieve("a", sparse=encoder(server))
    assert repo.head == before


def test_a_service_that_refuses_or_fails_is_a_typed_error_without_the_key(server: Server):
    for status, error in ((401, InvalidInputError), (503, StorageError)):
        server.answers = [(status, json.dumps({"error": f"bad {KEY}"}).encode(), {})]
        with pytest.raises(error) as raised:
            repository().embed_sparse(encoder(server))
        assert KEY not in str(raised.value)


def test_nodes_get_what_they_lack_and_a_changed_text_again(server: Server):
    repo = repository()
    report = repo.embed_sparse(encoder(server), dry_run=True)
    assert (report.wanting_count, report.commit, server.asked) == (2, None, [])
    report = repo.embed_sparse(encoder(server), author="ada")
    assert (report.vocab, report.encoded_count, report.node_count) == ("tei:m", 2, 2)
    assert report.commit == repo.head
    assert repo.embed_sparse(encoder(server)).wanting_count == 0
    node = next(iter(repo.at().nodes()))
    with repo.transaction() as tx:
        tx.update_node(node.id, summary="parcel", content=None)
    assert repo.embed_sparse(encoder(server)).encoded_count == 1
    indices, weights = repo.at().sparse(node.id, "tei:m").to_arrays()
    assert (indices.tolist(), weights.tolist()) == ([3], [1.5])


def test_a_question_is_encoded_and_its_replay_calls_nobody(server: Server):
    repo = repository()
    repo.embed_sparse(encoder(server))
    asked = len(server.asked)
    answer = repo.retrieve("post", sparse=encoder(server), queries=["letter"])
    assert len(server.asked) == asked + 1
    assert server.asked[-1][2]["inputs"] == ["post", "letter"]
    assert {item.node.content or item.node.summary for item in answer.items} == set(TEXTS)
    assert answer.query.sparse.form()["tokens"] == [3]
    assert answer.query.queries[0].sparse is not None
    with repo.runs.start("desk") as run:
        run.retrieve("post", sparse=encoder(server), queries=["letter"])
        run.retrieve("unknown", sparse=encoder(server))
    asked = len(server.asked)
    assert repo.receipts.replay(answer.receipt).to_bytes() == answer.to_bytes()
    with repo.runs.open("desk").replay() as run:
        again = run.retrieve("post", sparse=encoder(server), queries=["letter"])
        run.retrieve("unknown", sparse=encoder(server))
    assert [one.id for one in again.items] == [one.id for one in answer.items]
    assert len(server.asked) == asked


def test_the_command_and_the_setting(server: Server, tmp_path: Path):
    place = str(tmp_path / "repo")
    repo = ibidem.init(place)
    with repo.transaction() as tx:
        for text in TEXTS:
            tx.add(text)
    repo.close()
    variables = {
        "IBIDEM_REPO": place,
        "IBIDEM_AUTHOR": "ada",
        "IBIDEM_SPARSE_URL": f"{server.url}/embed_sparse",
        "IBIDEM_SPARSE_KEY": KEY,
    }

    def run(*words: str, code: int = 0, **more: str | None) -> str:
        done = CliRunner().invoke(cli, words, env={**variables, **more})
        assert done.exit_code == code, done.output
        return done.output

    assert (
        json.loads(run("embed", "--sparse", "tei:m", "--dry-run", "--json"))["wanting_count"] == 2
    )
    assert "2 sparse vectors of tei:m in commit" in run("embed", "--sparse", "tei:m")
    assert TEXTS[0] in run("retrieve", "post", "--sparse", "tei:m")
    assert TEXTS[0] not in run("retrieve", "post")
    run("config", "set", "sparse", "tei:m", "--local")
    assert TEXTS[0] in run("retrieve", "post")
    asked = len(server.asked)
    assert TEXTS[0] not in run("retrieve", "post", "--sparse", "none")
    assert len(server.asked) == asked
    run("embed", "--sparse", "splade", code=2)
    run("embed", "--sparse", "tei:m", "--model", "minilm", code=2)
    assert "IBIDEM_SPARSE_URL" in run("retrieve", "post", code=2, IBIDEM_SPARSE_URL=None)


@pytest.mark.parametrize("given", ["", "tei:m", b"m", 7, ("v",)])
def test_what_is_no_encoder_and_no_vector_is_refused(given: Any):
    with pytest.raises(InvalidInputError, match="sparse"):
        repository().retrieve("post", sparse=given)


def test_an_encoder_that_returns_too_few_rows_is_refused():
    class Short:
        name = "short"

        def encode(self, texts: Any) -> list[Any]:
            return []

    repo = repository()
    before = repo.head
    for call in (
        lambda: repo.embed_sparse(Short()),
        lambda: repo.retrieve("post", sparse=Short()),
    ):
        with pytest.raises(InvalidInputError, match="short"):
            call()
    assert repo.head == before


@pytest.mark.parametrize(
    "answer", [None, 5, "ab", [None] * 2, [("a",)] * 2, [("a", "b")] * 2, [([1], None)] * 2]
)
def test_an_encoder_that_returns_no_rows_is_refused(answer: Any):
    class Odd:
        name = "odd"

        def encode(self, texts: Any) -> Any:
            return answer if answer in (None, 5, "ab") else answer[: len(texts)]

    repo = repository()
    for call in (lambda: repo.embed_sparse(Odd()), lambda: repo.retrieve("a", sparse=Odd())):
        with pytest.raises(InvalidInputError, match=r"^encoder 'odd': got .* expected tokens"):
            call()


def test_what_is_no_encoder_is_refused():
    nothing: Any = None
    with pytest.raises(InvalidInputError, match=r"^encoder: got NoneType without 'name'"):
        repository().embed_sparse(nothing)
