"""A sparse encoder that calls a service: `POST …/embed_sparse` of text-embeddings-inference, which
serves SPLADE and its kin.

Its weights cannot be inspected, so the name of the vocabulary stands for them: `tei:` and the name
that the caller gives the model. The address is not part of it. What it returns is stored with the
nodes, and in the receipt of a question, so a replay calls nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ibidem.embed.http import Service, post_json
from ibidem.embed.protocol import SparseRow, batches
from ibidem.objects.errors import CorruptError

_TOKENS = 1 << 32
_WEIGHT_MAX = float(np.finfo(np.float32).max)


class RemoteSparseEncoder:
    """Encodes texts by requests to a service; what it returns is kept, so a replay sends none."""

    def __init__(self, service: Service, model: str, *, batch_texts: int = 32) -> None:
        """Names the address and the model.

        Args:
            service: the address of the request.
            model: which model is served there; the requests do not have it.
            batch_texts: the most texts of one request.
        """
        self._service = service
        self._batch_texts = batch_texts
        self.name = f"{service.name}:{model}"

    def encode(self, texts: Sequence[str]) -> list[SparseRow]:
        """Returns the tokens and weights of each text, in their order; a text that is too long for
        the model is cut by the service.

        Raises:
            InvalidInputError: the service rejects the request.
            StorageError: the service does not answer.
            CorruptError: the answer has the wrong form.
        """
        rows: list[SparseRow] = []
        for part in batches(texts, texts_max=self._batch_texts):
            answer = post_json(self._service, {"inputs": list(part), "truncate": True})
            if not isinstance(answer, list) or len(answer) != len(part):
                raise CorruptError(
                    f"{self.name}: the answer is no list of {len(part)} sparse vectors"
                )
            try:
                rows += map(_row, answer)
            except (KeyError, TypeError, ValueError, OverflowError) as error:
                raise CorruptError(
                    f"{self.name}: the answer holds no sparse vectors: {error}"
                ) from error
        return rows


def _row(entries: Any) -> SparseRow:
    weights: dict[int, float] = {}
    for entry in entries:
        token, weight = entry["index"], entry["value"]
        if type(token) is not int or not 0 <= token < _TOKENS or token in weights:
            raise ValueError(f"got the index {token!r:.40}")
        if type(weight) not in (int, float) or not abs(weight) <= _WEIGHT_MAX:
            raise ValueError(f"got the value {weight!r:.40}")
        weights[token] = float(weight)
    tokens = sorted(weights)
    values = [weights[token] for token in tokens]
    return np.array(tokens, np.uint32), np.array(values, np.float32)
