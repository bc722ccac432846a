"""Token counts: an estimator with the same result on every machine, and a protocol for exact ones.

A count decides what fits a budget and is part of the answer, so an estimator is pure and has a name
that the query records.

Spec: retrieval 8.2.
"""

from __future__ import annotations

from typing import Protocol

from ibidem.objects.errors import InvalidInputError
from ibidem.retrieve.query import checks


class TokenEstimator(Protocol):
    """Counts the tokens of a text. It is pure: a name and a text always give the same count."""

    @property
    def name(self) -> str:
        """Names the estimator and its version; stored in every query that used it."""

    @property
    def digest(self) -> bytes | None:
        """The identity of its data, 32 bytes; None if the name identifies it fully."""

    def estimate(self, text: str) -> int:
        """Returns the number of tokens, 0 for the empty text."""


class Estimated(Protocol):
    """The name of an estimator, as in queries."""

    @property
    def estimator(self) -> str:
        """The estimator's name."""

    @property
    def estimator_digest(self) -> bytes | None:
        """The estimator's digest."""


class HeuristicEstimator:
    """Four ASCII characters a token, one and a half others a token, both rounded up.

    >>> HeuristicEstimator().estimate("naïve"), HeuristicEstimator().estimate("")
    (2, 0)
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name that queries record."""
        return "heuristic"

    @property
    def digest(self) -> None:
        """None: the name identifies it fully."""
        return None

    def estimate(self, text: str) -> int:
        """Returns ceil(ascii / 4) + ceil(non_ascii * 2 / 3), in integers."""
        if text.isascii():
            return (len(text) + 3) // 4
        ascii_count = len(text.encode("ascii", "ignore"))
        other_count = len(text) - ascii_count
        return (ascii_count + 3) // 4 + (2 * other_count + 2) // 3


HEURISTIC = HeuristicEstimator()
"""The default estimator."""


def check_estimator(wanted: Estimated, estimator: TokenEstimator) -> None:
    """Raises `InvalidInputError` unless the estimator is the one that a query names."""
    if (estimator.name, estimator.digest) != (wanted.estimator, wanted.estimator_digest):
        raise InvalidInputError(
            f"estimator: got {_shown(estimator.name, estimator.digest)}, "
            f"expected the query's {_shown(wanted.estimator, wanted.estimator_digest)}"
        )


def checked_estimator(estimator: object) -> tuple[str, bytes | None]:
    """Returns the name and digest of an estimator, given as an object, or as a name alone.

    Raises:
        InvalidInputError: it is neither.
    """
    if isinstance(estimator, str):
        return checks.name("estimator", estimator), None
    try:
        name, digest = estimator.name, estimator.digest  # type: ignore[attr-defined]
    except AttributeError as error:
        raise InvalidInputError(
            f"estimator: got {checks.show(estimator)}, expected a name or an estimator"
        ) from error
    return checks.name("estimator", name), checked_digest(digest)


def checked_digest(digest: object) -> bytes | None:
    """Returns the digest of an estimator, 32 bytes or None."""
    if digest is not None and (not isinstance(digest, bytes) or len(digest) != 32):
        raise InvalidInputError(
            f"estimator.digest: got {checks.show(digest)}, expected 32 bytes or None"
        )
    return digest


def _shown(name: str, digest: bytes | None) -> str:
    return repr(name) if digest is None else f"{name!r} {digest.hex()}"
