"""Related words: which terms may stand in a text for a term of a question.

A question is asked in other words than the text that answers it: "turn off" for "disable",
"several" for "multiple". Idea: a frozen table of English has for each of 3,302 terms up to eight
that can take its place. It serves to rank passages again that were found by the question's own
words (`retrieve/lexical/heading.py`); nothing is found by it alone.

The table was written for this purpose, word by word, and has terms of the analyser `english-1`.

Spec: analysis 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ibidem.index.analysis.analyser import ENGLISH, analyse


def related_terms(term: str) -> tuple[str, ...]:
    """Returns the terms that may stand for a term; none for most terms.

    Spec: analysis 9.

    >>> related_terms("sever")
    ('multipl', 'mani', 'few', 'some')
    """
    return _table().get(term, ())


def has_related_terms(question: str) -> bool:
    """Returns whether a word of a question, read as English, has related ones.

    >>> has_related_terms("How do I turn it off?"), has_related_terms("Wie geht das?")
    (True, False)
    """
    return not _table().keys().isdisjoint(analyse(question, ENGLISH))


@cache
def _table() -> Mapping[str, tuple[str, ...]]:
    lines = Path(__file__).with_name("related-english.txt").read_text(encoding="ascii").splitlines()
    rows = (line.split(" ") for line in lines)
    return {row[0]: tuple(row[1:]) for row in rows}
