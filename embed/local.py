"""Models on the local disk, run by optional libraries: sentence-transformers and ONNX Runtime.

Neither library is required, and neither downloads anything: a model is a folder. Its identity is
the hash of every file in it. Their results differ in the last bits between machines and thread
counts, so vectors are stored and never computed twice.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ibidem.embed.files import sha256_of
from ibidem.embed.protocol import Float32s, batches, checked, identity
from ibidem.objects.errors import CorruptError, ErrorKind, InvalidInputError, NotFoundError

_ONNX_TOKENS_MAX = 512


class SentenceTransformersEmbedder:
    """A folder that `SentenceTransformer.save` wrote, run on the CPU."""

    provider = "sentence-transformers"

    def __init__(self, folder: Path) -> None:
        self._folder = _checked_folder(folder)
        self.name = f"{self.provider}:{folder.name}"

    @cached_property
    def digest(self) -> bytes:
        """The identity: the provider and the files."""
        return identity({"provider": self.provider, "files": _files(self._folder)})

    @property
    def dim(self) -> int:
        """The number of components."""
        return int(self._model.get_sentence_embedding_dimension())

    def embed(self, texts: Sequence[str]) -> Float32s:
        """Returns (n, dim) float32, as the model returns them."""
        rows = [
            checked(
                self._model.encode(list(part), convert_to_numpy=True, show_progress_bar=False),
                count=len(part),
                dim=self.dim,
                name=self.name,
            )
            for part in batches(texts)
        ]
        return np.concatenate(rows) if rows else np.empty((0, self.dim), np.float32)

    @cached_property
    def _model(self) -> Any:
        library = package("sentence_transformers", "sentence-transformers")
        return library.SentenceTransformer(str(self._folder), device="cpu", local_files_only=True)


class OnnxEmbedder:
    """A folder with `model.onnx` and `tokenizer.json`; token states are averaged and scaled to unit
    norm.

    If a model returns one vector per text instead of one per token, it is used unchanged.
    """

    provider = "onnx"

    def __init__(self, folder: Path, *, tokens_max: int = _ONNX_TOKENS_MAX) -> None:
        self._folder = _checked_folder(folder)
        self._tokens_max = tokens_max
        self.name = f"{self.provider}:{folder.name}"

    @cached_property
    def digest(self) -> bytes:
        """The identity: the provider, the files and the length that texts are cut to."""
        parts = {"provider": self.provider, "files": _files(self._folder)}
        return identity({**parts, "tokens_max": self._tokens_max})

    @cached_property
    def dim(self) -> int:
        """The number of components."""
        return len(self._run("dimension"))

    def embed(self, texts: Sequence[str]) -> Float32s:
        """Returns (n, dim) float32, each text run by itself."""
        rows = [self._run(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.dim), np.float32)

    def _run(self, text: str) -> Float32s:
        session = self._session
        encoding = self._tokenizer.encode(text)
        given = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        wanted = [each.name for each in session.get_inputs()]
        if not set(wanted) <= set(given):
            raise InvalidInputError(f"{self.name}: takes {wanted}, expected some of {[*given]}")
        output = session.run(None, {name: np.array([given[name]], np.int64) for name in wanted})[0]
        if output.ndim == 2:
            return np.asarray(output[0], np.float32)
        if output.ndim != 3:
            raise CorruptError(f"{self.name}: gives shape {output.shape}, expected (1, tokens, d)")
        mean = output[0].astype(np.float64).mean(axis=0)
        norm = np.sqrt((mean * mean).sum())
        return np.asarray(mean / norm if norm else mean, np.float32)

    @cached_property
    def _session(self) -> Any:
        library = package("onnxruntime", "onnxruntime")
        path = self._folder / "model.onnx"
        return library.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    @cached_property
    def _tokenizer(self) -> Any:
        library = package("tokenizers", "tokenizers")
        tokenizer = library.Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.enable_truncation(self._tokens_max)
        tokenizer.no_padding()
        return tokenizer


def package(module: str, name: str) -> Any:
    """Returns an optional library.

    Raises:
        NotFoundError: kind `missing-package`; the message names the package.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NotFoundError(
            f"the package {name!r} is not installed: {error}",
            kind=ErrorKind.MISSING_PACKAGE,
            hint=f"pip install {name}",
        ) from error


def _checked_folder(folder: Path) -> Path:
    if not folder.is_dir():
        raise NotFoundError(
            f"model: there is no folder {str(folder)!r}",
            kind=ErrorKind.UNKNOWN_MODEL,
            hint="models are not fetched from anywhere: name the folder that holds one",
        )
    return folder


def _files(folder: Path) -> dict[str, str]:
    """Returns the hash of each file by its path in the folder; hidden files are ignored."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {
        path.as_posix(): sha256_of(folder / path)
        for path in sorted(found)
        if not any(part.startswith(".") for part in path.parts)
    }
