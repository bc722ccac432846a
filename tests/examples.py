"""How many examples a property test tries: fewer in the quick run than in the slow one."""

from __future__ import annotations

from hypothesis import settings

WHOLE = 100
"""Examples that the profile `thorough` tries unless a test says more or fewer."""


def examples(count: int) -> int:
    """Returns the number of examples to try under the profile that is loaded, where `thorough`
    tries `count`."""
    return max(1, count * settings().max_examples // WHOLE)
