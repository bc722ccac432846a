"""How long a writer that lost a race waits before it tries again.

The wait is drawn at random from a range that doubles with every loss, so that writers that met once
do not meet again in step. It decides when something is written, never what.
"""

from __future__ import annotations

import time
from random import SystemRandom

FIRST_SECONDS = 0.0005
LONGEST_SECONDS = 0.05
_RANDOM = SystemRandom()


def pause(losses: int) -> None:
    """Waits, after so many races lost in a row, from 1 on."""
    longest = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0 ** min(losses, 16))
    time.sleep(_RANDOM.uniform(0.0, longest))
