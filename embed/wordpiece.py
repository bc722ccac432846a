"""Converts text to the token ids of an uncased BERT, without the tables of the running interpreter.

A frozen table maps each code point: lower case without accents, control characters removed,
punctuation and ideographs as words of their own. Then words are cut greedily into the longest
pieces that the vocabulary has.

Spec: embedding 2.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from ibidem.objects.errors import CorruptError, InvalidInputError

PAD, UNKNOWN, BEGIN, END, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
WORD_CHARS_MAX = 100
"""A longer word becomes [UNK]."""
_SPECIAL = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")
_CACHE_MAX = 1 << 16
_STRETCH_CHARS = 2048
_REMOVED, _SPACE, _ALONE = 1, 2, 3
_SYLLABLE, _SYLLABLES, _VOWELS, _TRAILS = 0xAC00, 11172, 21, 28


class WordPiece:
    """A tokenizer over one vocabulary; its cache of words affects only its speed."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {piece: number for number, piece in enumerate(vocabulary)}
        missing = [piece for piece in (UNKNOWN, BEGIN, END) if piece not in self._ids]
        if missing or len(self._ids) != len(vocabulary):
            raise CorruptError(
                f"vocabulary: {missing or 'a piece twice'}, expected each piece once"
            )
        self._special = {name: self._ids.get(name) for name in (PAD, UNKNOWN, BEGIN, END, MASK)}
        self._unknown = [self._ids[UNKNOWN]]
        self._words: dict[str, list[int]] = {}

    @property
    def size(self) -> int:
        """The number of pieces."""
        return len(self._ids)

    @classmethod
    def read(cls, path: Path) -> WordPiece:
        """Returns the tokenizer of a `vocab.txt`: one piece per line; the line number from 0 is the
        token id."""
        return cls(path.read_bytes().decode("utf-8").removesuffix("\n").split("\n"))

    def tokenize(self, text: str, *, tokens_max: int) -> list[int]:
        """Returns the ids of a text between those of [CLS] and [SEP], at most `tokens_max` in all.

        Raises:
            InvalidInputError: the text has a lone surrogate.
        """
        return [self._ids[BEGIN], *self._ids_of(text, tokens_max - 2), self._ids[END]]

    def tokenize_pair(self, first: str, second: str, *, tokens_max: int) -> tuple[list[int], int]:
        """Returns the ids of [CLS], a text, [SEP], another text and [SEP], at most `tokens_max` in
        all, and the number of them up to the first [SEP], included. What is too long is cut from
        the longer text.

        Raises:
            InvalidInputError: a text has a lone surrogate.
        """
        room = tokens_max - 3
        one, other = self._ids_of(first, room), self._ids_of(second, room)
        count = min(len(one), max(room - len(other), -(-room // 2)))
        begin, end = self._ids[BEGIN], self._ids[END]
        head = [begin, *one[:count], end]
        return [*head, *other[: room - count], end], len(head)

    def _ids_of(self, text: str, room: int) -> list[int]:
        ids: list[int] = []
        for span in _stretches(text):
            for part in _SPECIAL.split(span) if "[" in span else (span,):
                special = self._special.get(part)
                if special is not None:
                    ids.append(special)
                    continue
                for word in normalise(part).split(" "):
                    if word:
                        ids += self._words.get(word) or self._pieces(word)
            if len(ids) >= room:
                break
        return ids[:room]

    def _pieces(self, word: str) -> list[int]:
        if len(self._words) >= _CACHE_MAX:
            self._words.clear()
        found = self._words[word] = self._cut(word)
        return found

    def _cut(self, word: str) -> list[int]:
        """Returns the longest pieces from left to right; [UNK] if the rest of the word begins with
        no piece."""
        if len(word) > WORD_CHARS_MAX:
            return self._unknown
        pieces: list[int] = []
        start = 0
        while start < len(word):
            lead = "##" if start else ""
            stops = range(len(word), start, -1)
            found = next((s for s in stops if lead + word[start:s] in self._ids), None)
            if found is None:
                return self._unknown
            pieces.append(self._ids[lead + word[start:found]])
            start = found
        return pieces


def _stretches(text: str) -> Iterator[str]:
    """Yields a text in parts that end before a space, so that the tail of a long text need not be
    read.

    A space ends every word and is in no special token, so the tokens are those of the whole.
    """
    start = 0
    while start < len(text):
        stop = text.find(" ", start + _STRETCH_CHARS)
        stop = len(text) if stop < 0 else stop
        yield text[start:stop]
        start = stop


def normalise(text: str) -> str:
    """Returns the words of a text, with one or more spaces between them.

    Raises:
        InvalidInputError: the text has a lone surrogate.
    """
    return text.translate(_replacements())


class _Replacements(dict[int, str]):
    """A table for `str.translate` that is filled on first use of each code point."""

    def __missing__(self, code: int) -> str:
        if 0xD800 <= code <= 0xDFFF:
            raise InvalidInputError(
                f"text: got the lone surrogate U+{code:04X}, expected valid text"
            )
        found = self[code] = _table().replacement(code)
        return found


class _Table:
    def __init__(self, data: bytes) -> None:
        range_count, text_count = struct.unpack_from("<II", data)
        numbers = np.frombuffer(data, "<u4", range_count + 2 * text_count + 1, 8).tolist()
        self._starts = numbers[:range_count]
        self._codes = numbers[range_count : range_count + text_count]
        self._offsets = numbers[range_count + text_count :]
        rest = data[8 + 4 * len(numbers) :]
        self._kinds, self._texts = rest[:range_count], rest[range_count:]
        self._places = {code: position for position, code in enumerate(self._codes)}

    def replacement(self, code: int) -> str:
        if _SYLLABLE <= code < _SYLLABLE + _SYLLABLES:
            return _letters_of_syllable(code - _SYLLABLE)
        position = self._places.get(code)
        if position is not None:
            return self._texts[self._offsets[position] : self._offsets[position + 1]].decode()
        char = chr(code)
        kind = self._kinds[bisect_right(self._starts, code) - 1]
        return {_REMOVED: "", _SPACE: " ", _ALONE: f" {char} "}.get(kind, char)


def _letters_of_syllable(number: int) -> str:
    lead, rest = divmod(number, _VOWELS * _TRAILS)
    vowel, trail = divmod(rest, _TRAILS)
    letters = chr(0x1100 + lead) + chr(0x1161 + vowel)
    return letters + chr(0x11A7 + trail) if trail else letters


@cache
def _table() -> _Table:
    return _Table(Path(__file__).with_name("bert-uncased.bin").read_bytes())


@cache
def _replacements() -> _Replacements:
    return _Replacements()
