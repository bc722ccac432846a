"""English stop words: the closed word classes, which say nothing about what a text is about.

Articles, pronouns, prepositions, conjunctions, auxiliaries, question words and a few adverbs,
frozen with semantics version 1. "may", "us" and "mine" are not on the list: they also name a month,
a country, a pit. Contracted endings ("'ll", "n't") never get here: `words.py` removes them.

Spec: analysis 5.
"""

from __future__ import annotations

_WORDS = (
    # articles, determiners, quantifiers
    "a an the this that these those all any both each either every few more most much neither "
    "no nor not other some such own same another "
    # pronouns
    "i me my myself we our ours ourselves you your yours yourself yourselves he him his "
    "himself she her hers herself it its itself they them their theirs themselves "
    # question words and relatives
    "who whom whose which what when where why how whether "
    # auxiliaries
    "am is are was were be been being have has had having do does did doing done can cannot "
    "could might must shall should will would "
    # prepositions
    "about above after against among at before below between by down during for from in into "
    "of off on onto out over through to toward towards under until up upon with within "
    "without "
    # conjunctions and adverbs
    "and but or if because as while than then so too very also again further once here there "
    "just only even though although "
)

STOP_WORDS = frozenset(_WORDS.split())
"""All of them, lower case, ASCII letters only."""
