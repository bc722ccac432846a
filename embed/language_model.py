"""Language models: what writes a text for a text, behind one method.

A model may answer differently each time, so what it wrote is stored where it is used, with the name
of the model, and it is not called again.
"""

from __future__ import annotations

from typing import Protocol

from ibidem.embed.http import Service, post_json
from ibidem.objects.errors import CorruptError

TEXT_CHARACTERS_MAX = 100_000


class LanguageModel(Protocol):
    """Writes a text from instructions and what they are about; any object with a `name` and
    `complete` will do.
    """

    @property
    def name(self) -> str:
        """Names the provider and the model; stored with what it wrote."""

    def complete(self, system: str, text: str) -> str:
        """Returns what the model writes.

        Args:
            system: the instructions.
            text: what they are about.

        Raises:
            IbidemError: it cannot be reached, or does not answer.
        """


class RemoteLanguageModel:
    """`POST …/chat/completions`, as OpenAI, Ollama and many servers offer it."""

    def __init__(self, service: Service, model: str) -> None:
        """Names the address and the model.

        Args:
            service: the address of the request; its name is that of the provider.
            model: as the service names it.
        """
        self._service = service
        self._model = model
        self.name = f"{service.name}:{model}"

    def complete(self, system: str, text: str) -> str:
        """Returns what the model writes, without white space around it.

        Raises:
            InvalidInputError: the service rejects the request.
            StorageError: the service does not answer.
            CorruptError: the answer has no text, or one that is blank or too long.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
        answer = post_json(
            self._service, {"model": self._model, "messages": messages, "stream": False}
        )
        try:
            found = answer["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError) as error:
            raise CorruptError(f"{self.name}: the answer has no message: {error}") from error
        if not isinstance(found, str) or not found.strip():
            raise CorruptError(f"{self.name}: got {found!r:.40}, expected a text that is not blank")
        if len(found) > TEXT_CHARACTERS_MAX:
            raise CorruptError(
                f"{self.name}: got {len(found)} characters, expected {TEXT_CHARACTERS_MAX} at most"
            )
        return found.strip()
