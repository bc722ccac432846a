"""Rerankers with a timeout. Only this layer and those above it may depend on elapsed time."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ibidem.objects.errors import InvalidInputError
from ibidem.retrieve.rerank import Reranker

TIMEOUT_SECONDS = 8.0
TIMEOUT_SECONDS_MAX = 3600.0


class Limited:
    """A reranker whose call raises `TimeoutError` after some seconds.

    The call continues in its own thread, which does not keep the process alive; its result is
    discarded.
    """

    def __init__(self, reranker: Reranker, seconds: float) -> None:
        self._reranker = reranker
        self._seconds = seconds
        self.name = reranker.name
        self.digest = reranker.digest

    def rerank(self, text: str, rendered: Sequence[str]) -> Sequence[float | None]:
        """Returns the reranker's scores, or raises its error or `TimeoutError`."""
        answers: list[Sequence[float | None]] = []
        errors: list[BaseException] = []

        def call() -> None:
            try:
                answers.append(self._reranker.rerank(text, rendered))
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        thread.join(self._seconds)
        if answers:
            return answers[0]
        if errors:
            raise errors[0]
        raise TimeoutError(f"no answer after {self._seconds} seconds")


def limited(reranker: Reranker | None, seconds: object) -> Limited | None:
    """Returns a reranker with a timeout; None if there is no reranker.

    Args:
        reranker: the reranker, or None.
        seconds: the timeout; None for 8.

    Raises:
        InvalidInputError: the timeout is not a positive number in range, or there is no reranker.
    """
    if reranker is None:
        if seconds is not None:
            raise InvalidInputError(
                f"rerank_timeout: got {seconds!r:.80} without rerank, expected both"
            )
        return None
    wanted = TIMEOUT_SECONDS if seconds is None else seconds
    is_number = isinstance(wanted, (int, float)) and not isinstance(wanted, bool)
    if not is_number or not 0 < wanted <= TIMEOUT_SECONDS_MAX:  # type: ignore[operator]
        raise InvalidInputError(
            f"rerank_timeout: got {wanted!r:.80}, expected seconds above 0, "
            f"at most {TIMEOUT_SECONDS_MAX:g}"
        )
    if not hasattr(reranker, "name") or not hasattr(reranker, "digest"):
        raise InvalidInputError(
            f"rerank: got {type(reranker).__name__}, expected a name, a digest and rerank()"
        )
    return Limited(reranker, float(wanted))  # type: ignore[arg-type]
