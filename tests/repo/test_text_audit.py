"""Which texts are short, long, or the same as another."""

from __future__ import annotations

import pytest

import ibidem
from ibidem.objects.errors import InvalidInputError


@pytest.fixture
def repo():
    found = ibidem.init("memory:")
    with found.transaction(author="ada", message="notes") as tx:
        ibidem.ingest_text(tx, "# Title\n\nIt.\n", path="notes.md")
        tx.add_node("Note", key="long", summary="word " * 900)
        for key in "abc":
            tx.add_node("Note", key=key, summary="The same text of nine tokens stands here.")
        for key in "de":
            tx.add_node("Note", key=key, summary="Another text that stands here twice over.")
        tx.tombstone(tx.add_node("Note", key="f", summary="x"), reason="old")
        tx.add_node("Note", key="g")
    return found


def summaries(repo, ids):
    return [repo.at().node(id_).summary[:11] for id_ in ids]


def test_short_long_and_duplicate_texts_are_named(repo):
    found = repo.maintenance.audit_texts()
    assert found.text_count == 7
    assert summaries(repo, found.short) == ["It."]
    assert summaries(repo, found.long) == ["word word w"]
    assert [len(group) for group in found.duplicates] == [3, 2]
    assert summaries(repo, found.duplicates[0]) == ["The same te"] * 3
    assert found.duplicate_count == 3
    assert list(found.duplicates[0]) == sorted(found.duplicates[0], key=lambda one: one.raw)


def test_texts_of_8_to_1000_tokens_are_neither_short_nor_long():
    with ibidem.init("memory:") as repo:
        with repo.transaction(author="ada", message="notes") as tx:
            for tokens in (7, 8, 1000, 1001):
                tx.add_node("Note", key=tokens, summary="x" * 4 * tokens)
        found = repo.maintenance.audit_texts()
        assert [len(repo.at().node(one).summary) for one in found.short] == [4 * 7]
        assert [len(repo.at().node(one).summary) for one in found.long] == [4 * 1001]


def test_the_bounds_are_arguments(repo):
    assert len(repo.maintenance.audit_texts(short_tokens=20).short) == 6
    assert repo.maintenance.audit_texts(long_tokens=10_000).long == ()
    assert ibidem.init("memory:").maintenance.audit_texts().text_count == 0


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"short_tokens": -1}, "short_tokens"),
        ({"short_tokens": True}, "short_tokens"),
        ({"short_tokens": 9, "long_tokens": 8}, "long_tokens"),
    ],
)
def test_bad_bounds_are_refused_by_name(repo, options, name):
    with pytest.raises(InvalidInputError, match=name):
        repo.maintenance.audit_texts(**options)
