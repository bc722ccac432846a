"""Words of code: options of commands, names in parts, and keywords, as texts write them.

Words are what letters make and stop words are none, so `--all` and `with` were nothing, `-d` a
letter, and `push.default` two words that stand apart elsewhere. Idea: what a text writes as code is
a symbol too, a term beside its words.

    option   `--all`, `-d`; it keeps its case, because `-d` and `-D` are two options; a text of
             one word, such as a heading, is an option too: `all`
    name     `push.default`, `std::env`; in small letters
    keyword  a stop word in marks (`with`), in capitals (WITH) or of a kind ("the with statement");
             it becomes WITH, which no word, option or name is

Spec: analysis 8.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

CODE_MAX = 64
"""The most code points of an option or name."""
_WORD = "[A-Za-z0-9_]"
_BEFORE = r" \t\r\n`'\"(\[{,;.|/<>="
_EITHER = r"\[no-\]"
_SIGN = re.compile(
    rf"(?:\.(?<={_WORD}\.)|:(?<={_WORD}:):|-(?<![^{_BEFORE}]-)(?:-{_EITHER}|-?))(?={_WORD})"
)
"""What makes an option or name: a sign between two words, or before one."""
_RUN = re.compile(rf"(?:--?(?:(?<=--){_EITHER})?)?{_WORD}+(?:(?:[-.]|::){_WORD}+)*")
_TWO = re.compile(rf"{_WORD}{{2}}")
_WORD_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")

_OF_A_KIND = (
    "and as at before after between by do for from having if in into is nor not of off on or out "
    "over then to under until up when where while with within without"
)
KEYWORDS = frozenset(f"{_OF_A_KIND} all any both each no once only some this which".split())
"""The stop words of English that are words of programs and queries. The last ten are determiners,
which stand before the name of any kind."""
KINDS = ("statement", "clause", "keyword", "operator", "loop", "expression")
_OF_A_NAME = re.compile(r"[A-Za-z0-9_.:\]-]")
_ANY = "|".join(sorted(KEYWORDS))
_IN_CAPITALS = re.compile(rf"(?:{_ANY.upper()})(?![A-Za-z0-9_-])")
_BETWEEN_BACKQUOTES = re.compile(r"``[^`\n]{1,80}``|`[^`\n]{1,80}`")
_BETWEEN_QUOTES = re.compile(
    rf"(['\"])(?<!{_WORD}.)[a-z]{{1,64}}(?: [a-z]{{1,64}}){{0,2}}\1(?!{_WORD})"
)
_SMALL = re.compile(rf"(?:{_ANY})(?![A-Za-z0-9_-])")
_KIND = re.compile(rf"[ \n](?:{'|'.join(KINDS)})s?(?!{_WORD})")
_BEFORE_A_KIND = re.compile(rf"(?<!{_OF_A_NAME.pattern})(?:{_OF_A_KIND.replace(' ', '|')})\Z")

_ONE_WORD = re.compile(r"[ \t\r\n]*`{0,2}([a-z][a-z0-9]*(?:-[a-z0-9]+)*)`{0,2}[ \t\r\n]*")

SIGNS, NAMES, CAPITALS, BACKQUOTES, QUOTES, KIND, ONE_WORD = 1, 2, 4, 8, 16, 32, 64
EVERYTHING = 127
"""What a text may have: signs, options or names, keywords in capitals, between backquotes, between
quotes, and before the name of a kind; and whether it may be one word."""

Found = tuple[str, int, int]
"""A symbol with its half-open range in code points."""


def code_positions(text: str, may_have: int = EVERYTHING) -> list[Found]:
    """Returns the words of code of a text in text order, each with its range.

    Spec: analysis 8.3.

    Args:
        text: any text.
        may_have: what is looked for, a sum of the numbers above.

    >>> text = "`git -C x --[no-]all` and Push.default, e.g. WITH or a `for x` loop"
    >>> [symbol for symbol, _, _ in code_positions(text)]
    ['-C', '--all', '--no-all', 'push.default', 'WITH', 'FOR']
    """
    found = _options_and_names(text) if may_have & NAMES else []
    one = _ONE_WORD.fullmatch(text) if may_have & ONE_WORD and len(text) <= CODE_MAX else None
    if one is not None:
        found.append((f"--{one[1]}", *one.span(1)))
    keywords = _keywords(text, may_have)
    return sorted([*found, *keywords], key=lambda one: one[1]) if keywords else found


def _options_and_names(text: str) -> list[Found]:
    found: list[Found] = []
    end = 0
    for sign in _SIGN.finditer(text):
        at = sign.start()
        if at < end:
            continue
        start = at if text[at] == "-" else _begin(text, at, end)
        match = _RUN.match(text, start)
        assert match is not None, "BUG: a sign without a word after it"
        run, end = match[0], match.end()
        if end - start <= CODE_MAX:
            found += [(symbol, start, end) for symbol in _symbols(run)]
    return found


def _symbols(run: str) -> Iterable[str]:
    """Returns what a run of ASCII stands for: one symbol, none, or an option and its negation."""
    name = run.removeprefix("--[no-]")
    lower = name.lower()
    if lower == name.upper():  # without a letter
        return ()
    if name != run:
        return f"--{name}", f"--no-{name}"
    if name[0] == "-":
        return (name,)
    return (lower,) if _TWO.search(name) else ()


def _begin(text: str, sign: int, end: int) -> int:
    """Returns where the name begins that a sign is in: at the first of the words before it that
    are joined by hyphens, and not before the end of the last name, nor far before the sign."""
    low = max(end, sign - CODE_MAX)
    start = sign
    while start > low and (
        text[start - 1] in _WORD_CHARACTERS
        or (text[start - 1] == "-" and start < sign and text[start] != "-")
    ):
        start -= 1
    return start + (text[start] == "-")


def _keywords(text: str, may_have: int) -> set[Found]:
    """Returns the keywords of a text."""
    words = list(_IN_CAPITALS.finditer(text)) if may_have & CAPITALS else []
    for mark, between in ((BACKQUOTES, _BETWEEN_BACKQUOTES), (QUOTES, _BETWEEN_QUOTES)):
        for part in between.finditer(text) if may_have & mark else ():
            words += _SMALL.finditer(text, part.start(), part.end())
    if may_have & KIND:
        words += _before_kinds(text)
    return {
        (word[0].upper(), word.start(), word.end())
        for word in words
        if not _OF_A_NAME.fullmatch(text[max(0, word.start() - 1) : word.start()])
    }


def _before_kinds(text: str) -> Iterator[re.Match[str]]:
    """Yields the words that say which statement, clause, ... is meant."""
    for kind in _KIND.finditer(text):
        word = _BEFORE_A_KIND.search(text, max(0, kind.start() - 10), kind.start())
        if word:
            yield word
