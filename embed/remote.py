"""Embedders that call a service: OpenAI's embeddings API, which many servers offer, and Ollama's.

Their weights cannot be inspected, so the identity is the service's name for the model. The address
is not part of it: the same model at another address is the same model.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from ibidem.embed.http import Service, post_json
from ibidem.embed.protocol import Float32s, batches, checked, identity
from ibidem.objects.errors import CorruptError

_PROBE = "dimension"


class RemoteEmbedder:
    """The common part of both: batches, the dimension, the check of answers."""

    provider: str

    def __init__(
        self, service: Service, model: str, *, dim: int | None = None, batch_texts: int = 32
    ) -> None:
        self._service = service
        self._model = model
        self._dim = dim
        self._batch_texts = batch_texts
        self.name = f"{self.provider}:{model}"

    @property
    def digest(self) -> bytes:
        """The identity: provider, model and, if it was chosen, the dimension."""
        return identity({"provider": self.provider, "model": self._model, **self._options()})

    @property
    def dim(self) -> int:
        """The number of components: as given, else found by one call of the service."""
        if self._dim is None:
            self._dim = self._ask([_PROBE]).shape[1]
        return self._dim

    def embed(self, texts: Sequence[str]) -> Float32s:
        """Returns (n, dim) float32, as the service returns them.

        Raises:
            InvalidInputError: the service rejects the request, or a vector has the wrong dimension.
            StorageError: the service does not answer.
            CorruptError: the answer has the wrong form.
        """
        rows = []
        for part in batches(texts, texts_max=self._batch_texts):
            found = self._ask(part)
            self._dim = self._dim or found.shape[1]
            rows.append(checked(found, count=len(part), dim=self._dim, name=self.name))
        return np.concatenate(rows) if rows else np.empty((0, self.dim), np.float32)

    def _options(self) -> dict[str, Any]:
        return {}

    def _ask(self, texts: Sequence[str]) -> Float32s:
        raise NotImplementedError

    def _array(self, vectors: list[Any], count: int) -> Float32s:
        if len(vectors) != count:
            raise CorruptError(f"{self.name}: {len(vectors)} vectors, expected {count}")
        try:
            rows = [_vector(vector) for vector in vectors]
            lengths = {len(row) for row in rows}
            if len(lengths) != 1 or 0 in lengths:
                raise ValueError(f"vectors of {sorted(lengths)} components")
            return np.stack(rows)
        except (ValueError, TypeError, OverflowError) as error:
            raise CorruptError(f"{self.name}: the answer holds no vectors: {error}") from error


class OpenAiEmbedder(RemoteEmbedder):
    """`POST /v1/embeddings`, as OpenAI and many servers offer it; vectors come in base64."""

    provider = "openai"

    def __init__(
        self,
        service: Service,
        model: str,
        *,
        dimensions: int | None = None,
        batch_texts: int = 32,
    ) -> None:
        self._dimensions = dimensions
        super().__init__(service, model, dim=dimensions, batch_texts=batch_texts)

    def _options(self) -> dict[str, Any]:
        return {} if self._dimensions is None else {"dimensions": self._dimensions}

    def _ask(self, texts: Sequence[str]) -> Float32s:
        body = {"model": self._model, "input": list(texts), "encoding_format": "base64"}
        answer = post_json(self._service, {**body, **self._options()})
        try:
            entries = answer["data"]
            placed = {entry["index"]: entry["embedding"] for entry in entries}
            vectors = [placed[index] for index in range(len(entries))]
        except (KeyError, TypeError) as error:
            raise CorruptError(f"{self.name}: the answer has no list 'data' of vectors") from error
        return self._array(vectors, len(texts))


class OllamaEmbedder(RemoteEmbedder):
    """`POST /api/embed`; a text that is too long for the model is cut by Ollama."""

    provider = "ollama"

    def _ask(self, texts: Sequence[str]) -> Float32s:
        body = {"model": self._model, "input": list(texts), "truncate": True}
        answer = post_json(self._service, body)
        vectors = answer.get("embeddings") if isinstance(answer, dict) else None
        if not isinstance(vectors, list):
            raise CorruptError(f"{self.name}: the answer has no list 'embeddings'")
        return self._array(vectors, len(texts))


def _vector(value: object) -> Float32s:
    if isinstance(value, str):
        return np.frombuffer(base64.b64decode(value, validate=True), "<f4").astype(np.float32)
    array = np.asarray(value)
    if array.ndim != 1 or array.dtype.kind not in "fi":
        raise ValueError(f"got {str(value)[:40]}")
    with np.errstate(over="ignore"):  # overflow is detected by the check for finite numbers
        return array.astype(np.float32)
