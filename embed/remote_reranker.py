"""A reranker that calls a service: the request `POST …/rerank` that Cohere and Jina define, and
that vLLM, llama.cpp, Infinity and LiteLLM offer too.

Its weights cannot be inspected, so the identity is the provider's name for the model, and the
address is not part of it. The scores are not the same numbers on every machine; they are recorded
in the receipt, so a replay calls nobody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ibidem.embed.http import Service, post_json
from ibidem.embed.protocol import identity
from ibidem.objects.errors import CorruptError


class RemoteReranker:
    """Scores texts for a question by one request to a service, such as those of Cohere and Jina.

    Its scores are kept in the receipt, so a replay sends nothing.
    """

    def __init__(self, service: Service, model: str) -> None:
        """Names the address and the model.

        Args:
            service: the address of the request; its name is that of the provider.
            model: as the service names it.
        """
        self._service = service
        self._model = model
        self.name = f"{service.name}:{model}"

    @property
    def digest(self) -> bytes:
        """The identity: provider and model, 32 bytes."""
        return identity({"reranker": self._service.name, "model": self._model})

    def rerank(self, text: str, rendered: Sequence[str]) -> Sequence[float | None]:
        """Returns the score of each text, in their order.

        Raises:
            InvalidInputError: the service rejects the request.
            StorageError: the service does not answer.
            CorruptError: the answer does not have one finite score for each text.
        """
        body = {
            "model": self._model,
            "query": text,
            "documents": list(rendered),
            "top_n": len(rendered),
        }
        answer = post_json(self._service, body)
        try:
            rows = answer["results"]
            scores = {_index(row["index"]): float(row["relevance_score"]) for row in rows}
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CorruptError(
                f"{self.name}: the answer has no list 'results' of scores: {error}"
            ) from error
        if set(scores) != set(range(len(rendered))) or not all(map(math.isfinite, scores.values())):
            raise CorruptError(
                f"{self.name}: got {len(scores)} scores, expected a finite one for each of "
                f"{len(rendered)} texts"
            )
        return [scores[index] for index in range(len(rendered))]


def _index(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"got the index {value!r:.40}")
    return value
