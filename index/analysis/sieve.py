"""Which texts may have symbols: a quick look at many, so that few are searched.

Most passages of prose have no symbol, and each search for one reads every character. Idea: in UTF-8
each byte is of a class, and two bytes that stand together tell what may be there. A text is
searched for what its pairs allow. What is not ASCII is like a space here, so more may be allowed
than there is, never less.

Spec: analysis 8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ibidem.index.analysis.code import (
    BACKQUOTES,
    CAPITALS,
    CODE_MAX,
    EVERYTHING,
    KIND,
    KINDS,
    NAMES,
    ONE_WORD,
    QUOTES,
    SIGNS,
)

_FEW_TEXTS = 8
_SMALL, _CAPITAL, _POINT, _COLON, _HYPHEN, _RUN, _AFTER_LETTERS, _QUOTE, _BACKQUOTE = range(1, 10)
_CLASSES = {
    _SMALL: "abcdefghijklmnopqrstuvwxyz0123456789_",
    _CAPITAL: "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    _POINT: ".",
    _COLON: ":",
    _HYPHEN: "-",
    _RUN: "!$%&*/<=>?@\\^|~",
    _AFTER_LETTERS: "+#",
    _QUOTE: "'\"",
    _BACKQUOTE: "`",
}
_WORD = {_SMALL, _CAPITAL}
_SIGN = {_COLON, _HYPHEN, _RUN, _AFTER_LETTERS}
_BEFORE_SIGNS = {0, _POINT, _QUOTE, _BACKQUOTE}


def _class_of_bytes() -> bytes:
    table = bytearray(256)
    for number, characters in _CLASSES.items():
        for byte in characters.encode():
            table[byte] = number
    return bytes(table)


def _allowed(first: int, second: int) -> int:
    """Returns what may be where two bytes of these classes stand together."""
    found = 0
    if (second in _SIGN and first in _BEFORE_SIGNS) or second == _AFTER_LETTERS:
        found |= SIGNS
    if (
        (first == _POINT and second in _WORD)
        or (first == second == _COLON)
        or (second == _HYPHEN and first not in _WORD)
    ):
        found |= NAMES
    if first == second == _CAPITAL:
        found |= CAPITALS
    if _BACKQUOTE in (first, second):
        found |= BACKQUOTES
    if second == _QUOTE and first not in _WORD:
        found |= QUOTES
    return found


_CLASS = _class_of_bytes()
_PAIR = bytes(_allowed(pair >> 4, pair & 15) for pair in range(256))


def possible_symbols(texts: Sequence[str]) -> list[int]:
    """Returns for each text what it may have."""
    if len(texts) <= _FEW_TEXTS:
        return [EVERYTHING] * len(texts)
    parts = [text.encode() for text in texts]
    whole = b"\n".join([b"", *parts, b""])
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    starts = np.cumsum(lengths + 1) - lengths - 1
    classes = np.frombuffer(whole.translate(_CLASS), np.uint8)
    pairs = (classes[:-1] << np.uint8(4)) | classes[1:]
    allowed = np.frombuffer(pairs.tobytes().translate(_PAIR), np.uint8)
    found = np.bitwise_or.reduceat(allowed, starts)
    found[lengths <= CODE_MAX] |= ONE_WORD
    for kind in KINDS:
        at = whole.find(kind.encode())
        while at >= 0:
            text = int(np.searchsorted(starts, at, side="right"))
            found[text - 1] |= KIND
            at = whole.find(kind.encode(), int(starts[text])) if text < len(parts) else -1
    return [int(mask) for mask in found]
