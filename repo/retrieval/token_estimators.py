"""Token estimators by name: the heuristic, and exact ones from optional packages.

    heuristic              always there
    tiktoken:ENCODING      the package `tiktoken`, such as tiktoken:cl100k_base
    tokenizers:FILE        the package `tokenizers` and a `tokenizer.json`

A query records the name and a digest of the estimator's data, never a path: the same file elsewhere
is the same estimator, and another file under the same path is another.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, cast

from blake3 import blake3

from ibidem.objects.errors import InvalidInputError, NotFoundError, StorageError
from ibidem.retrieve.query import checks
from ibidem.retrieve.tokens import HEURISTIC, HeuristicEstimator, TokenEstimator, checked_estimator

_FORMS = "'heuristic', 'tiktoken:ENCODING' or 'tokenizers:FILE'"
_opened: dict[tuple[str, int, int], TokenEstimator] = {}


class TiktokenEstimator:
    """Counts with an encoding of tiktoken; special tokens in the text count as plain text."""

    def __init__(self, encoding: Any) -> None:
        self.name = f"tiktoken:{encoding.name}"
        self.digest = _digest_of(encoding)
        self._encoding = encoding

    def estimate(self, text: str) -> int:
        """Returns the number of tokens."""
        return len(self._encoding.encode_ordinary(text))


class TokenizersEstimator:
    """Counts with a `tokenizer.json`, without special tokens, truncation or padding."""

    name = "tokenizers"

    def __init__(self, tokenizer: Any, data: bytes) -> None:
        self.digest = blake3(data).digest()
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer

    def estimate(self, text: str) -> int:
        """Returns the number of tokens."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)


class CheckedEstimator:
    """An estimator of the caller, whose counts are checked. Two are equal if they check the same
    object."""

    def __init__(self, estimator: TokenEstimator) -> None:
        self.name, self.digest = checked_estimator(estimator)
        self._estimator = estimator

    def estimate(self, text: str) -> int:
        """Returns the number of tokens; raises `InvalidInputError` for anything but a count."""
        return checks.count(f"estimator {self.name!r:.80}", self._estimator.estimate(text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CheckedEstimator) and self._estimator is other._estimator

    def __hash__(self) -> int:
        return id(self._estimator)


_OWN = (HeuristicEstimator, TiktokenEstimator, TokenizersEstimator, CheckedEstimator)


def estimator_of(estimator: object) -> TokenEstimator:
    """Returns the estimator with a given name, or the given estimator; one of the caller's own
    with checks of its counts.

    Raises:
        InvalidInputError: it is neither.
        NotFoundError: the package or the file is missing; the message names it.
        StorageError: the encoding's data cannot be fetched.
    """
    if not isinstance(estimator, str):
        if not all(hasattr(estimator, part) for part in ("name", "digest", "estimate")):
            raise InvalidInputError(
                f"estimator: got {estimator!r:.80}, expected {_FORMS}, or an estimator"
            )
        known = cast("TokenEstimator", estimator)
        return known if type(known) in _OWN else CheckedEstimator(known)
    if estimator == HEURISTIC.name:
        return HEURISTIC
    kind, colon, argument = estimator.partition(":")
    if colon and argument and kind == "tiktoken":
        return _tiktoken(argument)
    if colon and argument and kind == "tokenizers":
        return _tokenizers(Path(argument))
    raise InvalidInputError(f"estimator: got {estimator!r:.80}, expected {_FORMS}")


def _tiktoken(encoding: str) -> TokenEstimator:
    key = (encoding, 0, 0)
    if key not in _opened:
        tiktoken = _package("tiktoken")
        try:
            found = tiktoken.get_encoding(encoding)
        except ValueError as error:
            raise InvalidInputError(
                f"estimator: got the encoding {encoding!r:.80}, "
                f"expected one of {', '.join(tiktoken.list_encoding_names())}"
            ) from error
        except Exception as error:  # whatever its network client raises
            raise StorageError(
                f"estimator: the data of tiktoken:{encoding} cannot be fetched: {error}",
                hint="fetch it once while online; TIKTOKEN_CACHE_DIR says where it is kept",
            ) from error
        _opened[key] = TiktokenEstimator(found)
    return _opened[key]


def _tokenizers(path: Path) -> TokenEstimator:
    try:
        status = path.stat()
        key = (str(path.resolve()), status.st_size, status.st_mtime_ns)
        data = b"" if key in _opened else path.read_bytes()
    except OSError as error:
        raise NotFoundError(f"estimator: cannot read {str(path)!r}: {error.strerror}") from error
    if key not in _opened:
        tokenizers = _package("tokenizers")
        try:
            found = tokenizers.Tokenizer.from_buffer(data)
        except Exception as error:  # the package raises plain exceptions
            raise InvalidInputError(
                f"estimator: {str(path)!r} is no tokenizer.json: {error}"
            ) from error
        _opened[key] = TokenizersEstimator(found, data)
    return _opened[key]


def _digest_of(encoding: Any) -> bytes:
    """Returns the identity of an encoding: its pattern and its tokens in order of rank.

    Each part is preceded by its length, so that different encodings have different identities.
    """
    digest = blake3()
    pattern = encoding._pat_str.encode()
    digest.update(len(pattern).to_bytes(8, "big") + pattern)
    ranks = encoding._mergeable_ranks
    for token in sorted(ranks, key=ranks.__getitem__):
        digest.update(ranks[token].to_bytes(8, "big") + len(token).to_bytes(8, "big") + token)
    return digest.digest()


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise NotFoundError(
            f"estimator: the package {name!r} is not installed",
            hint=f"pip install {name}, or ibidem[tokens]",
        ) from error
