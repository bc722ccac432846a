"""Optional libraries: named when they are absent, and folders only."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibidem.embed.local import OnnxEmbedder, SentenceTransformersEmbedder, package
from ibidem.objects.errors import ErrorKind, NotFoundError

KINDS = [SentenceTransformersEmbedder, OnnxEmbedder]


def test_a_package_that_is_absent_is_named():
    with pytest.raises(NotFoundError, match="'no-such-thing'") as caught:
        package("no_such_thing_at_all", "no-such-thing")
    assert caught.value.kind is ErrorKind.MISSING_PACKAGE
    assert caught.value.hint == "pip install no-such-thing"


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_is_no_folder_is_refused(kind: type, tmp_path: Path):
    with pytest.raises(NotFoundError) as caught:
        kind(tmp_path / "all-MiniLM-L6-v2")
    assert caught.value.kind is ErrorKind.UNKNOWN_MODEL


@pytest.mark.parametrize("kind", KINDS)
def test_the_identity_is_that_of_every_file(kind: type, tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "weights").write_bytes(b"1")
    first = kind(tmp_path).digest
    (tmp_path / ".cache").write_bytes(b"x")
    assert kind(tmp_path).digest == first
    (tmp_path / "a" / "weights").write_bytes(b"2")
    assert kind(tmp_path).digest != first
    assert SentenceTransformersEmbedder(tmp_path).digest != OnnxEmbedder(tmp_path).digest
