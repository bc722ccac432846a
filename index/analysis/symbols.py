"""Symbols: operators and signs that stand alone in a text, such as `:=`, and the words for them,
and words of code.

Words are what letters make, so a question about an operator would find nothing: neither `//` nor
"two slashes" is a word of the text that explains it. Idea: a short run of signs between spaces,
quotes or brackets is a term of its own, beside the words. It has no length, so that a text is as
long as its words. In a question a sign may be named: "slash" stands for `/` and `//`.

Bullets and other marks at the beginning of a line are layout and no symbols.

Spec: analysis 8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import itemgetter

from ibidem.index.analysis.code import EVERYTHING, ONE_WORD, SIGNS, code_positions
from ibidem.index.analysis.fold import ASCII_LOWER

SymbolWord = tuple[str, ...]
"""The symbols that one sign or name of a question stands for, ascending."""

_RUN_MAX = 3
_OF_A_RUN = r"[!#$%&*+\-/:<=>?@\\^|~]"
_BEFORE = " \t\r\n`'\"([{,;."
_RUN = re.compile(
    rf"{_OF_A_RUN}(?:(?<![^{re.escape(_BEFORE)}].){_OF_A_RUN}{{0,{_RUN_MAX}}}"
    r"|(?<=[A-Za-z]\+)\+|(?<=[A-Za-z]#))(?=[ \t\r\n`'\")\]},;.]|\Z)"
)
"""A run, or the first signs of one that is too long and therefore none; `++` and `#` also after a
letter. Most signs are between letters, and passed over here."""
_QUOTES = frozenset("`'\"")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_LETTERS_MAX = {"++": 16, "#": 1}
"""By run, how many letters may stand directly before it and belong to it, as in C++ and C#."""
_WORD = re.compile("[a-z]+")
_START = itemgetter(1)
_SIGN = ("sign", "signs", "symbol", "symbols", "character", "characters")


def _named() -> Iterator[tuple[tuple[str, ...], SymbolWord]]:
    """Yields each name, in words, with its symbols."""
    for names, symbols in (
        ("slash slashes", ("/", "//")),
        ("backslash backslashes", ("\\",)),
        ("asterisk asterisks star stars", ("*", "**")),
        ("walrus", (":=",)),
        ("arrow arrows", ("->", "=>")),
        ("ampersand ampersands", ("&", "&&")),
        ("pipe pipes", ("|", "||")),
        ("tilde tildes", ("~",)),
        ("caret carets", ("^",)),
        ("colon colons", (":", "::")),
        ("cpp", ("c++",)),
        ("csharp", ("c#",)),
    ):
        yield from (((name,), symbols) for name in names.split())
    for names, symbols in (
        ("at", ("@",)),
        ("hash pound number", ("#",)),
        ("percent", ("%",)),
        ("dollar", ("$",)),
        ("plus", ("+", "++")),
        ("minus", ("-",)),
        ("equal equals", ("=", "==")),
    ):
        yield from (((name, sign), symbols) for name in names.split() for sign in _SIGN)
    for name, symbols in (
        ("vertical bar", ("|", "||")),
        ("vertical bars", ("|", "||")),
        ("double dash", ("--",)),
        ("double dashes", ("--",)),
        ("two dashes", ("--",)),
        ("double equals", ("==",)),
        ("question mark", ("?",)),
        ("question marks", ("?",)),
        ("exclamation mark", ("!",)),
        ("exclamation marks", ("!",)),
        ("exclamation point", ("!",)),
        ("c sharp", ("c#",)),
    ):
        yield tuple(name.split()), symbols


_NAMES = dict(_named())


def symbols_of(text: str, may_have: int = EVERYTHING) -> list[str]:
    """Returns the symbols of a text in text order, repeats kept.

    Spec: analysis 8.1, 8.3.

    Args:
        text: any text.
        may_have: what it may have at all (`sieve.py`).

    >>> symbols_of("Unlike C#, `a := b // c` is an expression, see http://x1.org/y")
    ['c#', ':=', '//', 'x1.org']
    >>> symbols_of("- one * two --all")
    ['*', '--all']
    """
    return [symbol for symbol, _, _ in symbol_positions(text, may_have)] if may_have else []


def symbol_positions(text: str, may_have: int = EVERYTHING) -> list[tuple[str, int, int]]:
    """Returns the same with the half-open range of each in the text, in code points."""
    found = [
        (symbol, start, start + len(symbol))
        for symbol, start in (_found(text) if may_have & SIGNS else ())
        if symbol[0] in _LETTERS or not _begins_line(text, start)
    ]
    code = code_positions(text, may_have)
    return sorted(found + code, key=_START) if found and code else found or code


def symbol_words(question: str) -> list[SymbolWord]:
    """Returns what the signs of a question, and the names of signs in it, stand for, each once.

    Spec: analysis 8.2.

    >>> symbol_words("What does := do, and a final slash?")
    [(':=',), ('/', '//')]
    """
    found: dict[SymbolWord, None] = {}
    for symbol, start in _found(question):
        is_quoted = start > 0 and question[start - 1] in _QUOTES
        if is_quoted or not _is_punctuation(symbol):
            found[symbol,] = None
    words = _WORD.findall(question.translate(ASCII_LOWER))
    for index, word in enumerate(words):
        for name in ((word,), tuple(words[index : index + 2])):
            if name in _NAMES:
                found[_NAMES[name]] = None
    return list(found)


def code_words(question: str) -> list[SymbolWord]:
    """Returns the words of code that a question has, each once. A question of one word is no option
    unless it has a hyphen: most are just that word.

    Spec: analysis 8.4.

    >>> code_words("What do --all and `push.default` do? And --all, and the with statement?")
    [('--all',), ('push.default',), ('WITH',)]
    """
    may_have = EVERYTHING if "-" in question else EVERYTHING - ONE_WORD
    return list(dict.fromkeys((name,) for name, _, _ in code_positions(question, may_have)))


def _found(text: str) -> Iterator[tuple[str, int]]:
    """Yields the symbols of a text, those at the beginning of a line included, with their start."""
    for match in _RUN.finditer(text):
        run, start, stop = match[0], match.start(), match.end()
        if stop - start > _RUN_MAX:
            continue
        first = start - _LETTERS_MAX.get(run, 0)
        while start > max(first, 0) and text[start - 1].translate(ASCII_LOWER) in _LETTERS:
            start -= 1
        if start == match.start():
            yield run, start
        elif start == 0 or text[start - 1] in _BEFORE:
            yield text[start:stop].translate(ASCII_LOWER), start


def _is_punctuation(symbol: str) -> bool:
    """Returns whether a run divides sentences if it stands between spaces: `!?`, `--`, `:`."""
    return symbol == ":" or not symbol.strip("!?") or not symbol.strip("-")


def _begins_line(text: str, start: int) -> bool:
    """Returns whether only spaces stand before a place in its line."""
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    return start == 0 or text[start - 1] in "\r\n"
