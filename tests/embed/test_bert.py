"""Models from a user's folder: fields that are refused by name, identity, the same bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ibidem.embed import safetensors
from ibidem.embed.bert import WEIGHTS, BertModel, ExactEncoder, ExactReranker
from ibidem.embed.encoder import FIRST, Encoder, prepare
from ibidem.embed.install import install_from
from ibidem.embed.wordpiece import WordPiece
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    FormatError,
    InvalidInputError,
    NotFoundError,
)

from .conftest import HEADS, HIDDEN, LAYERS, tiny_folder, tiny_pair_weights, tiny_weights
from .plain import PlainEncoder

TEXTS = ["in the same place", "ibidem", "", "word9 word10 the " * 90]


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    return tiny_folder(tmp_path / "encoder")


@pytest.fixture
def cross(tmp_path: Path) -> Path:
    return tiny_folder(tmp_path / "cross", is_cross=True)


def installed(source: Path, name: str = "tiny") -> Path:
    folder = source.parent / "models" / name
    install_from(source, folder, name=name)
    return folder


def changed(path: Path, **fields: object) -> None:
    path.parent.mkdir(exist_ok=True)
    known = json.loads(path.read_bytes()) if path.exists() else {}
    path.write_text(json.dumps({**known, **fields}))


def test_an_encoder_gives_the_vectors_of_its_weights(encoder: Path):
    folder = installed(encoder)
    assert [path.name for path in folder.parent.iterdir()] == ["tiny"]
    model = ExactEncoder(folder)
    assert (model.name, model.dim) == ("tiny", HIDDEN)
    words = WordPiece.read(folder / "vocab.txt")
    ids = [words.tokenize(text, tokens_max=300) for text in TEXTS]
    expected = Encoder(prepare(tiny_weights()), heads=HEADS).encode(ids)
    assert model.embed(TEXTS).tobytes() == expected.tobytes()
    assert model.embed([]).shape == (0, HIDDEN)


def test_threads_change_no_bit(encoder: Path, cross: Path):
    texts = TEXTS + TEXTS[:3]
    vectors = {
        ExactEncoder(installed(encoder), threads=threads).embed(texts).tobytes()
        for threads in (1, 3)
    }
    scores = {
        tuple(ExactReranker(installed(cross, "cross"), threads=threads).rerank("the place", texts))
        for threads in (1, 3)
    }
    assert len(vectors) == len(scores) == 1


def test_the_state_of_the_first_token_is_the_vector_where_the_folder_says_so(encoder: Path):
    mean = installed(encoder, "mean")
    changed(encoder / "1_Pooling" / "config.json", pooling_mode_cls_token=True)
    first = installed(encoder, "first")
    assert BertModel.read(first, "first").pooling == FIRST
    assert ExactEncoder(first).digest != ExactEncoder(mean).digest
    (vector,) = ExactEncoder(first).embed(["in the same place"])
    ids = WordPiece.read(first / "vocab.txt").tokenize("in the same place", tokens_max=300)
    plain = PlainEncoder(tiny_weights(), heads=HEADS, layers=LAYERS)
    assert vector.astype("<f4").tobytes() == plain.encode(ids, pooling=FIRST)


@pytest.mark.parametrize("scale", [0.01, 0.08, 2.0])
def test_scores_are_those_of_the_spec_written_out_in_plain_python(tmp_path: Path, scale: float):
    weights = tiny_pair_weights(scale=scale)
    plain = PlainEncoder(weights, heads=HEADS, layers=LAYERS)
    pairs = [([2, 5, 6, 3, 7, 8, 3], 4), ([2, 3, 9, 3], 2), ([2, 30, 31, 32, 3, 3], 5)]
    found = Encoder(prepare(weights), heads=HEADS, pooling=FIRST).score(pairs)
    assert found == [plain.score(ids, first) for ids, first in pairs]
    # Of all states or of the first alone: the score reads only the first.
    assert found == Encoder(prepare(weights), heads=HEADS).score(pairs)
    assert all(score * 2**18 == round(score * 2**18) for score in found)


def test_a_pair_that_is_too_long_loses_the_end_of_the_longer_text(encoder: Path):
    words = WordPiece.read(encoder / "vocab.txt")
    long, short = "word9 " * 50, "the place"
    ids, first = words.tokenize_pair(short, long, tokens_max=16)
    assert (len(ids), first) == (16, 4)
    ids, first = words.tokenize_pair(long, short, tokens_max=16)
    assert (len(ids), first) == (16, 13)
    ids, first = words.tokenize_pair(long, long, tokens_max=16)
    assert (len(ids), first) == (16, 9)
    ids, first = words.tokenize_pair("", "", tokens_max=16)
    assert (len(ids), first) == (3, 2)


def test_the_identity_is_that_of_weights_and_vocabulary_not_of_the_name(encoder: Path):
    one, other = installed(encoder, "one"), installed(encoder, "other")
    assert ExactEncoder(one).digest == ExactEncoder(other).digest
    full = {"model": {"type": "WordPiece", "vocab": vocabulary(encoder)}}
    (encoder / "vocab.txt").unlink()
    (encoder / "tokenizer.json").write_text(json.dumps(full))
    assert ExactEncoder(installed(encoder, "third")).digest == ExactEncoder(one).digest
    safetensors.write(encoder / WEIGHTS, tiny_weights(8), {})
    assert ExactEncoder(installed(encoder, "fourth")).digest != ExactEncoder(one).digest


def vocabulary(folder: Path) -> dict[str, int]:
    pieces = (folder / "vocab.txt").read_text().split()
    return {piece: number for number, piece in enumerate(pieces)}


@pytest.mark.parametrize(
    ("file", "field", "value"),
    [
        ("config.json", "architectures", ["RobertaModel"]),
        ("config.json", "architectures", None),
        ("config.json", "model_type", "roberta"),
        ("config.json", "hidden_act", "gelu_new"),
        ("config.json", "position_embedding_type", "relative_key"),
        ("config.json", "layer_norm_eps", 1e-5),
        ("config.json", "hidden_size", 2048),
        ("config.json", "num_attention_heads", 5),
        ("config.json", "num_hidden_layers", LAYERS + 1),
        ("config.json", "num_hidden_layers", LAYERS - 1),
        ("config.json", "max_position_embeddings", "many"),
        ("tokenizer_config.json", "do_lower_case", False),
        ("tokenizer_config.json", "strip_accents", False),
        ("1_Pooling/config.json", "pooling_mode_max_tokens", True),
        ("sentence_bert_config.json", "max_seq_length", 0),
    ],
)
def test_what_the_arithmetic_does_not_define_is_refused_by_name(
    encoder: Path, file: str, field: str, value: object
):
    changed(encoder / file, **{field: value})
    with pytest.raises(FormatError) as caught:
        installed(encoder)
    assert caught.value.kind is ErrorKind.UNSUPPORTED_SEMANTICS
    assert str(caught.value).startswith(f"{file}: {field.partition('_max_tokens')[0]}")
    assert list((encoder.parent / "models").iterdir()) == []


def test_a_module_that_changes_vectors_is_refused(encoder: Path):
    (encoder / "modules.json").write_text(
        json.dumps(
            [{"type": f"sentence_transformers.models.{name}"} for name in ("Pooling", "Dense")]
        )
    )
    with pytest.raises(FormatError, match=r"modules.json: type is .*Dense"):
        installed(encoder)


def test_a_classifier_of_several_labels_is_refused(tmp_path: Path):
    weights = tiny_pair_weights()
    weights["classifier.weight"] = np.repeat(weights["classifier.weight"], 3, axis=0)
    weights["classifier.bias"] = np.repeat(weights["classifier.bias"], 3)
    source = tiny_folder(tmp_path / "labels", is_cross=True, weights=weights)
    with pytest.raises(FormatError, match="num_labels is 3, expected 1"):
        installed(source)


@pytest.mark.parametrize("file", ["config.json", "vocab.txt", "model.safetensors"])
def test_a_file_that_is_missing_is_named(encoder: Path, file: str):
    (encoder / file).unlink()
    with pytest.raises(NotFoundError, match=file):
        installed(encoder)


def test_files_of_another_form_are_corrupt(encoder: Path):
    def refuse(match: str) -> None:
        with pytest.raises(CorruptError, match=match):
            installed(encoder)

    (encoder / "vocab.txt").write_text(
        "[UNK]\n[CLS]\n[SEP]\n" + "".join(f"w{n}\n" for n in range(99))
    )
    refuse("60 words, expected")
    (encoder / "vocab.txt").write_bytes(b"\xff")
    refuse("UTF-8")
    (encoder / "config.json").write_text("[]")
    refuse(r"config.json: got list")
    (encoder / "config.json").write_text("{")
    refuse(r"config.json: it is not JSON")


@pytest.mark.parametrize("name", ["", "minilm", "none", "../x", "A", "a b", "ollama:x"])
def test_a_name_that_means_something_else_is_refused(encoder: Path, name: str):
    with pytest.raises(InvalidInputError, match="name"):
        install_from(encoder, encoder.parent / "x", name=name)


def test_each_kind_is_used_as_what_it_is(encoder: Path, cross: Path, tmp_path: Path):
    with pytest.raises(InvalidInputError, match="kind encoder") as caught:
        ExactReranker(installed(encoder))
    assert "--model" in str(caught.value.hint)
    with pytest.raises(InvalidInputError, match="kind cross-encoder"):
        ExactEncoder(installed(cross, "cross"))
    with pytest.raises(NotFoundError) as missing:
        ExactEncoder(tmp_path / "reader")
    assert missing.value.hint == "run 'repo embed install reader --from FOLDER'"


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "model.json").write_text("{}"),
        lambda folder: (folder / "vocab.txt").write_text("other"),
        lambda folder: changed(folder / "model.json", kind="decoder"),
    ],
)
def test_an_installed_model_that_was_changed_is_refused(
    encoder: Path, damage: Callable[[Path], Any]
):
    folder = installed(encoder)
    damage(folder)
    with pytest.raises(CorruptError) as caught:
        ExactEncoder(folder).embed(["x"])
    assert "repo embed install" in str(caught.value.hint)
