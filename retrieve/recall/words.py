"""Words of a question as people compare them: folded, whole, of every script.

Spec: recall 1.
"""

from __future__ import annotations

from collections.abc import Set

from ibidem.index.analysis import analyse
from ibidem.index.analysis.analyser import UNICODE

LETTERS_MIN = 3


def words(text: str, stop: Set[str], *, letters_min: int = LETTERS_MIN) -> list[str]:
    """Returns the distinct words of a text, in their order, without stop words.

    Args:
        text: any text.
        stop: words that say nothing.
        letters_min: shorter words of ASCII are left out; scripts without spaces have short words.

    >>> words("Deploy the gate, deploy it", {"the"})
    ['deploy', 'gate']
    """
    found = dict.fromkeys(analyse(text, UNICODE))
    return [
        word
        for word in found
        if word not in stop and (len(word) >= letters_min or not word.isascii())
    ]


def shared(one: Set[object], other: Set[object]) -> float:
    """Returns the Jaccard measure of two sets, 0.0 where both are empty."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0
