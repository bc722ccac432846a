"""Filling a repository with vectors, asking with a model, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from blake3 import blake3

import ibidem
from ibidem.embed.protocol import identity
from ibidem.objects.config import Model
from ibidem.objects.errors import ErrorKind, IbidemError, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.text import text_digest


class Letters:
    """Counts letters: a small embedder whose every call is recorded."""

    name = "letters"
    dim = 26

    def __init__(self, version: int = 1) -> None:
        self.digest = identity({"letters": version})
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        rows = [[text.lower().count(chr(97 + letter)) for letter in range(26)] for text in texts]
        return np.array(rows, np.float32)


class Dying(Letters):
    """Fails at the nth call, as a killed process does."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.calls = calls

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.calls -= 1
        if self.calls < 0:
            raise KeyboardInterrupt
        return super().embed(texts)


class Erasing(Letters):
    """Has another one erase a node while its text is being embedded."""

    def __init__(self, other: ibidem.Repository, node: NodeId) -> None:
        super().__init__()
        self.other, self.node = other, node

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.other.maintenance.erase(self.node)
        return super().embed(texts)


@pytest.fixture
def repo(tmp_path: Path):
    with ibidem.init(tmp_path / "r") as found:
        yield found


def add(repo: ibidem.Repository, *texts: str, label: str = "Note") -> None:
    with repo.transaction(author="ada", message="notes") as tx:
        for text in texts:
            tx.add_node(label, summary=text)


def test_every_node_with_a_text_gets_the_vector_of_its_text(repo: ibidem.Repository):
    add(repo, "abba", "zoo")
    with repo.transaction(author="ada", message="empty") as tx:
        tx.add_node("Note", props={"n": 1})
    report = repo.embed(Letters())
    counts = (report.node_count, report.textless_count, report.wanting_count)
    assert (*counts, report.embedded_count) == (3, 1, 2, 2)
    for node in repo.at().nodes():
        vector = repo.at().vector(node.id, "letters")
        if node.summary is None:
            assert vector is None
        else:
            assert vector is not None
            assert vector.of == text_digest(node.summary)
            assert np.array_equal(vector.to_array(), Letters().embed([node.summary])[0])


def test_the_model_is_registered_with_its_digest_by_the_first_vector(repo: ibidem.Repository):
    repo.embed(Letters())
    assert "letters" not in repo.at().config.models
    add(repo, "abba")
    repo.embed(Letters())
    assert repo.at().config.models["letters"] == Model(26, digest=Letters().digest)


def test_a_second_run_does_nothing_and_an_edit_refreshes_one_vector(repo: ibidem.Repository):
    add(repo, "abba", "zoo")
    repo.embed(Letters())
    again = Letters()
    assert repo.embed(again).commit is None
    assert again.asked == []
    node = next(node for node in repo.at().nodes() if node.summary == "zoo")
    with repo.transaction(author="ada", message="edit") as tx:
        tx.update_node(node.id, summary="bazaar")
    report = repo.embed(again)
    assert (again.asked, report.embedded_count) == (["bazaar"], 1)
    assert repo.at().vector(node.id, "letters").of == text_digest("bazaar")


def test_a_dry_run_counts_and_changes_nothing(repo: ibidem.Repository):
    add(repo, "abba")
    head, embedder = repo.head, Letters()
    report = repo.embed(embedder, dry_run=True)
    assert (report.wanting_count, report.embedded_count, embedder.asked) == (1, 0, [])
    assert repo.head == head


def test_only_nodes_of_the_label_that_is_asked_for(repo: ibidem.Repository):
    add(repo, "abba")
    add(repo, "zoo", label="Place")
    assert repo.embed(Letters(), label="Place").embedded_count == 1
    assert repo.embed(Letters()).embedded_count == 1


def test_hidden_nodes_get_no_vector(repo: ibidem.Repository):
    add(repo, "abba", "zoo")
    node = next(iter(repo.at().nodes()))
    with repo.transaction(author="ada", message="hide") as tx:
        tx.tombstone(node.id)
    assert repo.embed(Letters()).node_count == 1


def test_what_was_done_before_a_kill_is_kept_and_the_rest_follows(repo: ibidem.Repository):
    add(repo, *(f"note {number}" for number in range(7)))
    head = repo.head
    with pytest.raises(KeyboardInterrupt):
        repo.embed(Dying(2), batch_nodes=2)
    assert repo.head == head
    rest = Letters()
    report = repo.embed(rest, batch_nodes=2)
    assert (len(rest.asked), report.embedded_count, report.commit) == (3, 7, repo.head)
    assert repo.core.commit_at().parents == (head,)


def test_two_runs_at_once_make_the_same_vectors_and_neither_fails(tmp_path: Path):
    with ibidem.init(tmp_path / "r") as one, ibidem.open(tmp_path / "r") as other:
        add(one, *(f"note {number}" for number in range(7)))

        def meanwhile(work: str, done: int, _: int | None) -> None:
            if (work, done) == ("embedding nodes", 2):
                other.embed(Letters())

        one.show_progress(meanwhile)
        report = one.embed(Letters(), batch_nodes=2)
        assert (report.wanting_count, report.embedded_count, report.commit) == (7, 0, None)
        assert one.embed(Letters()).wanting_count == 0


def test_a_node_that_is_edited_during_a_run_gets_no_vector_of_its_old_text(tmp_path: Path):
    with ibidem.init(tmp_path / "r") as one, ibidem.open(tmp_path / "r") as other:
        add(one, *(f"note {number}" for number in range(4)))
        last = list(one.at().nodes())[-1].id

        def meanwhile(work: str, done: int, _: int | None) -> None:
            if (work, done) == ("embedding nodes", 2):
                with other.transaction(author="bob", message="edit") as tx:
                    tx.update_node(last, summary="zoo")

        one.show_progress(meanwhile)
        assert one.embed(Letters(), batch_nodes=2).embedded_count == 3
        assert one.at().vector(last, "letters") is None
        assert one.embed(Letters()).embedded_count == 1
        assert one.at().vector(last, "letters").of == text_digest("zoo")


def test_a_text_is_embedded_once_whoever_asks(tmp_path: Path):
    with ibidem.init(tmp_path / "r") as repo:
        add(repo, "abba", "zoo")
        repo.embed(Letters())
    with ibidem.open(tmp_path / "r") as repo:
        embedder = Letters()
        repo.embed(embedder, model="other name")
        repo.retrieve("zoo", embedder=embedder)
        repo.retrieve("oz", embedder=embedder)
        repo.retrieve("oz", embedder=embedder)
        assert embedder.asked == ["oz"]


def test_the_root_does_not_depend_on_the_batches(tmp_path: Path):
    roots = set()
    for size in (1, 3, 100):
        with ibidem.init(tmp_path / str(size)) as repo:
            add(repo, *(f"note {number}" for number in range(7)))
            repo.embed(Letters(), batch_nodes=size)
            roots.add(repo.at().root_cid)
    assert len(roots) == 1


def test_a_batch_holds_no_more_text_than_it_may(
    repo: ibidem.Repository, monkeypatch: pytest.MonkeyPatch
):
    class Counting(Letters):
        def embed(self, texts: Sequence[str]) -> np.ndarray:
            batches.append(len(texts))
            return super().embed(texts)

    batches: list[int] = []
    add(repo, *(f"{number} " + "long text " * 10 for number in range(7)))
    monkeypatch.setattr("ibidem.repo.embed_nodes.BATCH_CHARS", 200)
    report = repo.embed(Counting())
    assert report.embedded_count == report.wanting_count == sum(batches)
    assert max(batches) == 2
    assert len(batches) > 2


def test_a_question_ranks_by_the_model_and_replays_without_it(repo: ibidem.Repository):
    add(repo, "abba", "zoo", "xyz")
    repo.embed(Letters())
    result = repo.retrieve("baab", model="letters")
    assert result.items[0].node.summary == "abba"
    assert result.receipt.models == {"letters": Letters().digest}
    repo.core.embedders.clear()
    assert repo.receipts.replay(result.receipt).to_bytes() == result.to_bytes()
    vector = ("letters", Letters().embed(["baab"])[0])
    assert repo.retrieve("baab", vector=vector).to_bytes() == result.to_bytes()
    steps = repo.retriever().text("baab").option(embedder=Letters())
    assert steps.execute().to_bytes() == result.to_bytes()


def refusal(repo: ibidem.Repository, **options: object) -> IbidemError:
    with pytest.raises(InvalidInputError) as caught:
        repo.retrieve("abba", **options)
    return caught.value


def test_a_model_without_vectors_or_embedder_is_refused_by_name(repo: ibidem.Repository):
    add(repo, "abba")
    found = refusal(repo, model="letters")
    assert found.kind is ErrorKind.UNKNOWN_MODEL
    assert "'letters'" in str(found)
    found = refusal(repo, embedder=Letters())
    assert found.kind is ErrorKind.UNKNOWN_MODEL
    assert str(found).endswith("no vectors of 'letters' or any other model")
    repo.embed(Letters())
    found = refusal(repo, embedder=Letters(), model="pictures")
    assert found.kind is ErrorKind.UNKNOWN_MODEL
    assert "'pictures'" in str(found)
    assert "'letters'" in str(found)


def test_another_embedder_than_that_of_the_vectors_is_refused(repo: ibidem.Repository):
    add(repo, "abba")
    repo.embed(Letters())
    found = refusal(repo, embedder=Letters(2))
    assert found.kind is ErrorKind.MODEL_MISMATCH
    assert Letters(1).digest.hex()[:16] in str(found)
    assert Letters(2).digest.hex()[:16] in str(found)
    with pytest.raises(InvalidInputError) as caught:
        repo.embed(Letters(2))
    assert caught.value.kind is ErrorKind.MODEL_MISMATCH


def test_vectors_from_elsewhere_can_be_asked_but_not_added_to(repo: ibidem.Repository):
    with repo.transaction(author="ada", message="vectors") as tx:
        node = tx.add_node("Note", summary="abba")
        tx.set_vector(node, model="letters", vector=Letters().embed(["abba"])[0])
    assert len(repo.retrieve("ab", embedder=Letters()).items) == 1
    with pytest.raises(InvalidInputError) as caught:
        repo.embed(Letters())
    assert caught.value.kind is ErrorKind.MODEL_MISMATCH


def test_a_model_beside_a_vector_or_without_a_text_is_refused(repo: ibidem.Repository):
    add(repo, "abba")
    repo.embed(Letters())
    assert "vector" in str(refusal(repo, model="letters", vector=("letters", [1.0])))
    with pytest.raises(InvalidInputError, match="text"):
        repo.retrieve(model="letters")


def test_a_registration_that_differs_is_refused(repo: ibidem.Repository):
    add(repo, "abba")
    repo.embed(Letters())
    with pytest.raises(InvalidInputError) as caught, repo.transaction() as tx:
        tx.register_model("letters", Model(26, digest=blake3(b"other").digest()))
    assert caught.value.kind is ErrorKind.MODEL_MISMATCH


def test_what_is_erased_while_it_is_embedded_is_not_in_the_cache(repo, tmp_path: Path):
    add(repo, "to be forgotten", "to be kept")
    node = next(node for node in repo.at().nodes() if node.summary == "to be forgotten")
    with ibidem.open(tmp_path / "r") as other:
        model = Erasing(other, node.id)
        assert repo.embed(model).embedded_count == 1
    texts = [text_digest(text) for text in model.asked]
    assert len(texts) == 2
    assert len(repo.core.vector_cache.find(model.digest, 26, texts)) == 1
    assert repo.maintenance.fsck().is_clean


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ([[1.0], [1.0, 2.0]], "an answer that is no array"),
        (["a", "b"], "an answer that is no array"),
        ([[10**400] * 26] * 2, "an answer that is no array"),
        (np.full((2, 26), 1e300), "a component that is not finite"),
        (None, r"an answer of shape \(\)"),
    ],
)
def test_an_answer_that_is_no_vectors_is_refused(repo: ibidem.Repository, rows, match: str):
    class Odd(Letters):
        def embed(self, texts: Sequence[str]) -> np.ndarray:
            return rows

    add(repo, "one", "two")
    with pytest.raises(InvalidInputError, match=f"^model 'letters': got {match}"):
        repo.embed(Odd())
