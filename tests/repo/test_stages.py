"""What the repository adds to the stages after fusion: moments, limits of time, estimators,
replay."""

from __future__ import annotations

import sys
import threading
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

import ibidem
from ibidem.objects.errors import InvalidInputError, NotFoundError, ReplayError
from ibidem.repo.retrieval import token_estimators
from ibidem.repo.retrieval.token_estimators import TiktokenEstimator, estimator_of

T0 = datetime(2026, 1, 1, tzinfo=UTC)


class Model:
    name = "by length"
    digest = bytes(32)

    def __init__(self, *, waits=None):
        self.calls = 0
        self.waits = waits

    def rerank(self, text, rendered):
        self.calls += 1
        if self.waits is not None:
            self.waits.wait(300)
        return [len(one) for one in rendered]


class Words:
    name = "words"
    digest = b"w" * 32

    def estimate(self, text):
        return len(text.split())


@pytest.fixture
def repo():
    with ibidem.init("memory:", clock=lambda: 1_700_000_000_000_000) as found:
        with found.transaction(author="ada", message="m") as tx:
            for i in range(4):
                tx.add_node(
                    "Doc", summary="retry " * (4 - i) + "word " * i * 3, key=i,
                    props={"valid_from": 1_767_225_600_000_000 + i, "valid_to": None},
                )  # fmt: skip
        yield found


def test_a_moment_is_its_microseconds(repo):
    assert len(repo.retrieve("retry", as_of=T0).items) == 1
    assert len(repo.retrieve("retry", as_of=1_767_225_600_000_002).items) == 3
    assert len(repo.retriever().text("retry").as_of(T0, missing="drop").execute().items) == 1
    with pytest.raises(InvalidInputError, match=r"offset"):
        repo.retrieve("retry", as_of=datetime(2026, 1, 1))  # noqa: DTZ001


def test_a_replay_asks_no_model(repo):
    model = Model()
    plain = repo.retrieve("retry")
    result = repo.retriever().text("retry").rerank(model).mmr(share=0.9).execute()
    assert [item.id for item in result.items] != [item.id for item in plain.items]
    assert model.calls == 1
    assert repo.receipts.replay(result.receipt).to_bytes() == result.to_bytes()
    assert repo.receipts.replay(str(result.receipt.cid)).to_bytes() == result.to_bytes()
    assert model.calls == 1


def test_a_slow_reranker_is_not_waited_for(repo):
    released = threading.Event()
    result = repo.retrieve("retry", rerank=Model(waits=released), rerank_timeout=0.01)
    released.set()
    assert result.status["rerank"] == "timeout"
    assert [item.id for item in result.items] == [i.id for i in repo.retrieve("retry").items]
    assert repo.receipts.replay(result.receipt).to_bytes() == result.to_bytes()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"rerank_timeout": 1}, "rerank_timeout"),
        ({"rerank": Model(), "rerank_timeout": 0}, "rerank_timeout"),
        ({"rerank": Model(), "rerank_timeout": True}, "rerank_timeout"),
        ({"rerank": object()}, "rerank"),
        ({"estimator": "words"}, "estimator"),
        ({"estimator": 3}, "estimator"),
        ({"estimator": "tokenizers:"}, "estimator"),
    ],
)
def test_wrong_options_are_refused(repo, options, named):
    with pytest.raises(InvalidInputError, match=f"^{named}: "):
        repo.retrieve("retry", **options)


def test_an_estimator_decides_what_fits_and_is_part_of_the_query(repo):
    result = repo.retrieve("retry", estimator=Words(), token_budget=30)
    usual = repo.retrieve("retry", token_budget=30)
    assert result.tokens_used == sum(len(item.rendered.split()) for item in result.items)
    assert len(result.items) != len(usual.items)
    assert (result.query.estimator, result.query.estimator_digest) == ("words", b"w" * 32)
    with pytest.raises(ReplayError, match="'words'"):
        repo.receipts.replay(result.receipt)
    assert repo.receipts.replay(result.receipt, estimator=Words()).to_bytes() == result.to_bytes()
    other = Words()
    other.digest = b"o" * 32
    with pytest.raises(InvalidInputError, match="estimator"):
        repo.receipts.replay(result.receipt, estimator=other)


@pytest.mark.parametrize("count", [-1, 2**70, None, "x", 1.5, True])
def test_an_estimator_answers_with_counts(repo, count):
    class Odd(Words):
        def estimate(self, text):
            return count

    for ask in (repo.retrieve, repo.packs):
        with pytest.raises(InvalidInputError, match=r"^estimator 'words': got .*, expected an "):
            ask("retry", estimator=Odd())


@pytest.mark.parametrize("name", ["tiktoken:cl100k_base", "tokenizers:FILE"])
def test_a_missing_package_is_named(monkeypatch, tmp_path, name):
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    package = name.partition(":")[0]
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(token_estimators, "_opened", {})
    with pytest.raises(NotFoundError, match=repr(package)) as caught:
        estimator_of(name.replace("FILE", str(path)))
    assert f"pip install {package}" in caught.value.hint


def test_a_missing_file_is_named():
    with pytest.raises(NotFoundError, match=r"nowhere\.json"):
        estimator_of("tokenizers:nowhere.json")


def test_another_encoding_is_another_digest():
    def encoding(ranks, pattern="x"):
        return TiktokenEstimator(
            SimpleNamespace(
                name="e", _pat_str=pattern, _mergeable_ranks=ranks, encode_ordinary=list
            )
        )

    plain = encoding({b"a": 0, b"b": 1})
    assert plain.estimate("abc") == 3
    assert plain.name == "tiktoken:e"
    assert encoding({b"b": 1, b"a": 0}).digest == plain.digest
    assert encoding({b"b": 0, b"a": 1}).digest != plain.digest
    assert encoding({b"a": 0, b"b": 1}, "y").digest != plain.digest


def test_a_tokenizer_file_counts_whatever_its_path(tmp_path, repo):
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.models.WordLevel({"retry": 0, "?": 1}, unk_token="?")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.enable_truncation(2)
    for name in ("one.json", "two.json"):
        tokenizer.save(str(tmp_path / name))
    one, two = (estimator_of(f"tokenizers:{tmp_path / name}") for name in ("one.json", "two.json"))
    assert one.estimate("retry retry not") == 3
    assert one.digest == two.digest
    result = repo.retrieve("retry", estimator=f"tokenizers:{tmp_path / 'one.json'}")
    again = repo.receipts.replay(result.receipt, estimator=f"tokenizers:{tmp_path / 'two.json'}")
    assert again.to_bytes() == result.to_bytes()
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(InvalidInputError, match="bad"):
        estimator_of(f"tokenizers:{tmp_path / 'bad.json'}")
