"""The words of a question for comparison: case-folded, whole, in every script.

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
        stop: words without meaning of their own.
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
    """Returns the Jaccard similarity of two sets, 0.0 if both are empty."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0
