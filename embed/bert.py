"""BERT models from a folder that the user supplies, computed exactly: sentence encoders and
cross-encoders.

A folder is in the layout of Hugging Face: `config.json`, `model.safetensors`, and `vocab.txt` or
`tokenizer.json`. What the arithmetic does not define is refused with the name of the field that
asks for it. Installing copies the weights and the vocabulary and writes what was understood to
`model.json`; only that is read afterwards. The identity of a model follows from the hashes of its
weights and vocabulary and from what else decides a result, not from its name or folder.

Spec: embedding 6.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from ibidem.embed import safetensors
from ibidem.embed.encoder import (
    FIRST,
    HEAD_DIM_MAX,
    HIDDEN_MAX,
    MEAN,
    POOLINGS,
    TOKENS_MAX,
    Encoder,
)
from ibidem.embed.files import sha256_of
from ibidem.embed.prepared import ALGORITHM, prepared_weights
from ibidem.embed.protocol import Float32s, batches, identity
from ibidem.embed.wordpiece import WordPiece
from ibidem.objects.errors import (
    CorruptError,
    ErrorKind,
    FormatError,
    InvalidInputError,
    NotFoundError,
    StorageError,
)
from ibidem.objects.record import record
from ibidem.store.files import write_file

MANIFEST = "model.json"
WEIGHTS = "model.safetensors"
VOCABULARY = "vocab.txt"
ENCODER, CROSS_ENCODER = "encoder", "cross-encoder"
_KINDS = {"BertModel": ENCODER, "BertForSequenceClassification": CROSS_ENCODER}
_FIXED: Final[Mapping[str, object]] = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "layer_norm_eps": 1e-12,
}
"""Fields of `config.json` with the only value that the arithmetic defines; if a field is absent,
that is its default."""
_TOKENIZER: Final[Mapping[str, tuple[object, ...]]] = {
    "do_lower_case": (True,),
    "strip_accents": (None, True),
    "tokenize_chinese_chars": (True,),
}
"""Fields of `tokenizer_config.json` with the values that the frozen table stands for."""
_MODULES = ("Transformer", "Pooling", "Normalize")


@record
class BertModel:
    """What is known of a model before its weights are read."""

    name: str
    """Under which vectors are stored and scores are recorded."""
    kind: str
    """ENCODER or CROSS_ENCODER."""
    heads: int
    pooling: str
    """One of POOLINGS; FIRST for a cross-encoder."""
    tokens_max: int
    weights_sha256: str
    vocabulary_sha256: str

    @property
    def digest(self) -> bytes:
        """The identity, 32 bytes."""
        return identity(
            {
                "algorithm": ALGORITHM,
                "kind": self.kind,
                "heads": self.heads,
                "pooling": self.pooling,
                "tokens_max": self.tokens_max,
                "weights": self.weights_sha256,
                "vocabulary": self.vocabulary_sha256,
            }
        )

    @classmethod
    def read(cls, folder: Path, name: str) -> Self:
        """Returns the model that is installed in a folder.

        Raises:
            NotFoundError: kind `unknown-model`: none is; the message has `name`.
            CorruptError: its `model.json` is damaged.
        """
        path = folder / MANIFEST
        try:
            found = json.loads(path.read_bytes())
            model = cls(**found)
        except FileNotFoundError as error:
            raise NotFoundError(
                f"model {name!r} is not installed",
                kind=ErrorKind.UNKNOWN_MODEL,
                hint=f"run 'repo embed install {name} --from FOLDER'",
            ) from error
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error.strerror}") from error
        except (ValueError, TypeError) as error:
            raise CorruptError(f"model: {path} is damaged", hint=_again(name)) from error
        if model.kind not in _KINDS.values() or model.pooling not in POOLINGS:
            raise CorruptError(f"model: {path} is damaged", hint=_again(name))
        return model


class _Loaded:
    """A model in a folder, whose weights are mapped and checked on first use."""

    kind: str

    def __init__(self, folder: Path, *, name: str | None = None, threads: int = 1) -> None:
        """Reads what is known of the model.

        Args:
            folder: where `install_folder` put it.
            name: for the message if it is not there; by default that of the folder.
                threads: compute together; their number changes no bit.

        Raises:
            NotFoundError: kind `unknown-model`: it is not there.
            InvalidInputError: it is of the other kind.
        """
        self._folder, self._threads = folder, threads
        self.model = BertModel.read(folder, name or folder.name)
        if self.model.kind != self.kind:
            use = "--rerank" if self.model.kind == CROSS_ENCODER else "--model"
            raise InvalidInputError(
                f"model {self.model.name!r}: got one of kind {self.model.kind}, "
                f"expected {self.kind}",
                kind=ErrorKind.UNKNOWN_MODEL,
                hint=f"use it with {use}",
            )
        self.name, self.digest = self.model.name, self.model.digest

    @cached_property
    def _words(self) -> WordPiece:
        path = self._folder / VOCABULARY
        if sha256_of(path) != self.model.vocabulary_sha256:
            raise CorruptError(f"vocabulary: {path} has changed", hint=_again(self.name))
        return WordPiece.read(path)

    @cached_property
    def _encoder(self) -> Encoder:
        model = self.model
        prepared = prepared_weights(self._folder / WEIGHTS, model.weights_sha256)
        encoder = Encoder(prepared, heads=model.heads, pooling=model.pooling, threads=self._threads)
        if len(prepared["words"]) < self._words.size:
            raise CorruptError(
                f"weights: {len(prepared['words'])} words, expected the vocabulary's "
                f"{self._words.size}",
                hint=_again(self.name),
            )
        return encoder


class ExactEncoder(_Loaded):
    """A sentence encoder: the same bytes everywhere, for single texts and for batches."""

    kind = ENCODER

    @property
    def dim(self) -> int:
        """The number of components."""
        return self._encoder.dim

    def embed(self, texts: Sequence[str]) -> Float32s:
        """Returns (n, dim) float32 of unit norm; a text is cut to the model's `tokens_max`."""
        words, encoder, tokens_max = self._words, self._encoder, self.model.tokens_max
        rows = [
            encoder.encode([words.tokenize(text, tokens_max=tokens_max) for text in part])
            for part in batches(texts)
        ]
        return np.concatenate(rows) if rows else np.empty((0, encoder.dim), np.float32)


class ExactReranker(_Loaded):
    """A cross-encoder: reads the question and a text together, and gives the same score
    everywhere."""

    kind = CROSS_ENCODER

    def rerank(self, text: str, rendered: Sequence[str]) -> list[float]:
        """Returns the score of each text for a question, a multiple of 2^-18."""
        words, tokens_max = self._words, self.model.tokens_max
        pairs = [words.tokenize_pair(text, one, tokens_max=tokens_max) for one in rendered]
        return self._encoder.score(pairs)


def install_folder(source: Path, folder: Path, name: str) -> BertModel:
    """Installs the model of a folder into an empty one, and returns what it is.

    Args:
        source: in the layout of Hugging Face; read, never kept.
        folder: gets the weights, the vocabulary, `model.json` and the prepared weights.
        name: of the model.

    Raises:
        NotFoundError: a file is missing in `source`.
        FormatError: the model needs something that the arithmetic does not define; the message
            names the file and the field.
        CorruptError: a file has another form.
        StorageError: a file cannot be read or written.
    """
    kind, heads, tokens_max, layers = _architecture(source)
    pooling = FIRST
    if kind == ENCODER:
        pooling = _pooling(source)
    given = source / "sentence_bert_config.json"
    if given.is_file():
        tokens_max = min(tokens_max, _count(_json(given), given.name, "max_seq_length"))
    pieces = _vocabulary(source)
    (folder / VOCABULARY).write_bytes("".join(f"{piece}\n" for piece in pieces).encode())
    weights = source / WEIGHTS
    if not weights.is_file():
        raise _missing(source, WEIGHTS)
    shutil.copyfile(weights, folder / WEIGHTS)
    model = BertModel(
        name,
        kind,
        heads,
        pooling,
        tokens_max,
        sha256_of(folder / WEIGHTS),
        sha256_of(folder / VOCABULARY),
    )
    write_file(
        folder / MANIFEST,
        json.dumps(asdict(model), indent=2).encode() + b"\n",
    )
    _check_weights(folder / WEIGHTS, kind, layers)
    if kind == ENCODER:
        ExactEncoder(folder).embed([name])
    else:
        ExactReranker(folder).rerank(name, [name])
    return model


def _architecture(source: Path) -> tuple[str, int, int, int]:
    """Returns the kind, the number of heads, the maximal number of tokens, and of layers."""
    name = "config.json"
    config = _json(source / name)
    for field, only in _FIXED.items():
        if config.get(field, only) != only:
            raise _unsupported(name, field, config[field], repr(only))
    if "model_type" not in config:
        raise _unsupported(name, "model_type", None, "'bert'")
    architectures = config.get("architectures")
    known = architectures[0] if isinstance(architectures, list) and architectures else None
    kind = _KINDS.get(known) if isinstance(known, str) else None
    if kind is None:
        raise _unsupported(name, "architectures", architectures, " or ".join(_KINDS))
    hidden = _count(config, name, "hidden_size", HIDDEN_MAX)
    heads = _count(config, name, "num_attention_heads")
    if hidden % heads or hidden // heads > HEAD_DIM_MAX:
        raise _unsupported(
            name,
            "num_attention_heads",
            heads,
            f"a divisor of hidden_size {hidden} that leaves each head at most {HEAD_DIM_MAX}",
        )
    layers = _count(config, name, "num_hidden_layers")
    tokens_max = min(TOKENS_MAX, _count(config, name, "max_position_embeddings"))
    return kind, heads, tokens_max, layers


def _pooling(source: Path) -> str:
    """Returns the pooling of a sentence encoder, MEAN unless its files say otherwise."""
    modules = source / "modules.json"
    if modules.is_file():
        for module in _json(modules, list):
            kind = str(module.get("type", "")) if isinstance(module, dict) else ""
            if kind.rpartition(".")[2] not in _MODULES:
                raise _unsupported(modules.name, "type", kind, "one of " + ", ".join(_MODULES))
    path = source / "1_Pooling" / "config.json"
    if not path.is_file():
        return MEAN
    chosen = sorted(
        field
        for field, value in _json(path).items()
        if field.startswith("pooling_mode_") and value is True
    )
    modes = {"pooling_mode_mean_tokens": MEAN, "pooling_mode_cls_token": FIRST}
    if len(chosen) != 1 or chosen[0] not in modes:
        raise _unsupported(
            "1_Pooling/config.json", "pooling_mode", ", ".join(chosen), " or ".join(modes)
        )
    return modes[chosen[0]]


def _vocabulary(source: Path) -> list[str]:
    """Returns the pieces by id, from `vocab.txt`, else from `tokenizer.json`."""
    given = source / "tokenizer_config.json"
    if given.is_file():
        config = _json(given)
        for field, known in _TOKENIZER.items():
            if config.get(field, known[0]) not in known:
                raise _unsupported(given.name, field, config[field], repr(known[0]))
    plain, full = source / VOCABULARY, source / "tokenizer.json"
    if plain.is_file():
        try:
            return plain.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
        except UnicodeDecodeError as error:
            raise CorruptError(f"{VOCABULARY}: it is not UTF-8") from error
    if not full.is_file():
        raise _missing(source, f"{VOCABULARY} or tokenizer.json")
    whole = _json(full)
    model, normaliser = whole.get("model"), whole.get("normalizer")
    if isinstance(normaliser, dict) and normaliser.get("lowercase", True) is not True:
        raise _unsupported(full.name, "normalizer.lowercase", normaliser["lowercase"], "True")
    pieces_by_id = model.get("vocab") if isinstance(model, dict) else None
    if not isinstance(model, dict) or model.get("type", "WordPiece") != "WordPiece":
        kind = model.get("type") if isinstance(model, dict) else None
        raise _unsupported(full.name, "model.type", kind, "'WordPiece'")
    if not isinstance(pieces_by_id, dict) or sorted(
        value for value in pieces_by_id.values() if type(value) is int
    ) != list(range(len(pieces_by_id))):
        raise CorruptError(f"{full.name}: model.vocab is no numbering of pieces")
    return sorted(pieces_by_id, key=pieces_by_id.__getitem__)


def _check_weights(path: Path, kind: str, layers: int) -> None:
    """Raises if the weights have another number of layers than `config.json`, or no score."""
    arrays = {name.removeprefix("bert."): a for name, a in safetensors.read(path)[0].items()}
    last, more = (f"encoder.layer.{at}.output.dense.weight" for at in (layers - 1, layers))
    if last not in arrays or more in arrays:
        raise _unsupported("config.json", "num_hidden_layers", layers, "that of the weights")
    head = arrays.get("classifier.weight")
    if kind == CROSS_ENCODER and (head is None or head.shape[0] != 1):
        found = None if head is None else head.shape[0]
        raise _unsupported("config.json", "num_labels", found, "1")


def _json(path: Path, kind: type[Any] = dict) -> Any:
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise _missing(path.parent, path.name) from error
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise CorruptError(f"{path.name}: it is not JSON") from error
    if not isinstance(found, kind):
        raise CorruptError(f"{path.name}: got {type(found).__name__}, expected {kind.__name__}")
    return found


def _count(config: Mapping[str, Any], name: str, field: str, most: int = 1 << 30) -> int:
    value = config.get(field)
    if type(value) is not int or not 1 <= value <= most:
        wanted = f"a whole number from 1 to {most}" if most < 1 << 30 else "a whole number above 0"
        raise _unsupported(name, field, value, wanted)
    return value


def _unsupported(name: str, field: str, value: object, wanted: str) -> FormatError:
    return FormatError(
        f"{name}: {field} is {value!r:.80}, expected {wanted}",
        kind=ErrorKind.UNSUPPORTED_SEMANTICS,
        hint="only uncased BERT models in float32 are computed exactly; "
        "run others with --model sentence-transformers:FOLDER or onnx:FOLDER",
    )


def _missing(source: Path, name: str) -> NotFoundError:
    return NotFoundError(
        f"model: {source} has no {name}",
        kind=ErrorKind.UNKNOWN_MODEL,
        hint="name a folder with config.json, vocab.txt or tokenizer.json, and model.safetensors",
    )


def _again(name: str) -> str:
    return f"run 'repo embed install {name} --from FOLDER' again"
