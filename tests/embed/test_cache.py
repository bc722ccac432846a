"""The cache of vectors: shared by processes, deaf to damage, and never in the way."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from ibidem.embed.cache import CachedEmbedder, VectorCache
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.text import text_digest

from .test_repository import Letters

MODEL, OTHER = bytes(32), bytes([1]) * 32


def vectors(count: int, *, dim: int = 3) -> dict[bytes, np.ndarray]:
    return {
        text_digest(f"text {at}"): np.arange(at, at + dim, dtype=np.float32) for at in range(count)
    }


@pytest.fixture(params=["memory", "disk"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> VectorCache:
    return VectorCache(None if request.param == "memory" else tmp_path / "cache")


def test_what_was_added_is_found_under_its_model_only(cache: VectorCache):
    given = vectors(700)
    cache.add(MODEL, given)
    found = cache.find(MODEL, 3, [*given, text_digest("never")])
    assert found.keys() == given.keys()
    assert all(np.array_equal(found[text], given[text]) for text in given)
    assert cache.find(OTHER, 3, list(given)) == {}


def test_another_process_finds_it(tmp_path: Path):
    given = vectors(5)
    VectorCache(tmp_path).add(MODEL, given)
    assert VectorCache(tmp_path).find(MODEL, 3, list(given)).keys() == given.keys()


def test_a_torn_frame_is_cut_away_by_the_next_writer(tmp_path: Path):
    (text, vector), *_ = vectors(1).items()
    cache = VectorCache(tmp_path)
    cache.add(MODEL, {text: vector})
    file = tmp_path / MODEL.hex() / f"{text[0]:02x}"
    file.write_bytes(file.read_bytes()[:-5])
    assert cache.find(MODEL, 3, [text]) == {}
    cache.add(MODEL, {text: vector})
    assert np.array_equal(cache.find(MODEL, 3, [text])[text], vector)


def test_a_flipped_bit_anywhere_is_not_believed(tmp_path: Path):
    (text, vector), *_ = vectors(1).items()
    cache = VectorCache(tmp_path)
    cache.add(MODEL, {text: vector})
    file = tmp_path / MODEL.hex() / f"{text[0]:02x}"
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert cache.find(MODEL, 3, [text]) == {}, at


def test_a_place_that_cannot_be_written_loses_the_vectors_and_nothing_else(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    cache = VectorCache(blocked)
    embedder = CachedEmbedder(Letters(), cache)
    assert np.array_equal(embedder.embed(["abba"]), Letters().embed(["abba"]))
    assert cache.find(embedder.digest, 26, [text_digest("abba")]) == {}


def test_repeats_are_embedded_once_and_rows_keep_their_order(cache: VectorCache):
    inner = Letters()
    embedder = CachedEmbedder(inner, cache)
    texts = ["b", "a", "b", "c", "a"]
    assert np.array_equal(embedder.embed(texts), Letters().embed(texts))
    assert inner.asked == ["b", "a", "c"]
    assert embedder.embed([]).shape == (0, 26)
    embedder.embed(["c", "d"])
    assert inner.asked == ["b", "a", "c", "d"]


def test_what_was_embedded_before_a_failure_is_kept(cache: VectorCache):
    class Failing(Letters):
        def embed(self, texts):
            if "note 300" in texts:
                raise OSError("gone")
            return super().embed(texts)

    texts = [f"note {at}" for at in range(320)]
    with pytest.raises(OSError, match="gone"):
        CachedEmbedder(Failing(), cache).embed(texts)
    rest = Letters()
    CachedEmbedder(rest, cache).embed(texts)
    assert rest.asked == texts[256:]


def test_an_answer_of_another_shape_is_refused_and_not_kept(cache: VectorCache):
    class Short(Letters):
        def embed(self, texts):
            return super().embed(texts)[:, :5]

    with pytest.raises(InvalidInputError) as caught:
        CachedEmbedder(Short(), cache).embed(["a"])
    assert caught.value.kind is ErrorKind.DIMENSION_MISMATCH

    class Endless(Letters):
        def embed(self, texts):
            return super().embed(texts) + np.float32(np.inf)

    with pytest.raises(InvalidInputError, match="finite"):
        CachedEmbedder(Endless(), cache).embed(["a"])
    assert cache.find(Letters().digest, 26, [text_digest("a")]) == {}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_writers_at_once_keep_every_frame_whole(tmp_path: Path):
    children = []
    for number in range(3):
        child = os.fork()
        if child == 0:
            cache = VectorCache(tmp_path)
            for at in range(40):
                text = text_digest(f"{number} {at}")
                cache.add(MODEL, {text: np.full(3, at, np.float32)})
            os._exit(0)
        children.append(child)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
    texts = [text_digest(f"{number} {at}") for number in range(3) for at in range(40)]
    assert len(VectorCache(tmp_path).find(MODEL, 3, texts)) == 120
