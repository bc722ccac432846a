"""Erasures received from elsewhere are carried out only if a key that may erase here signed them.

An erasure destroys data, so only its signature counts: neither general trust in the remote nor the
absence of the node there is enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ibidem.objects.record import record
from ibidem.repo.erasure.erase import EraseReport, carry_out
from ibidem.repo.signing.verify import may_erase

if TYPE_CHECKING:
    from ibidem.objects.erasure import Erasure
    from ibidem.repo.core import Core


@record
class AcceptReport:
    """The result of accepting erasures from elsewhere."""

    accepted: tuple[Erasure, ...]
    """Carried out, now or earlier."""
    refused: tuple[Erasure, ...]
    """Without a valid signature of a key that may erase here; they were ignored."""
    done: EraseReport | None = None
    """What was destroyed; None if everything had been destroyed before."""


def accept(
    repository: Core,
    erasures: Iterable[Erasure],
    *,
    author: str = "",
    time: int | None = None,
) -> AcceptReport:
    """Carries out the erasures that are signed by a key that may erase here."""
    trust = repository.keyring.trust()
    known = {erasure.cid for erasure in repository.guard.erased().erasures}
    accepted: list[Erasure] = []
    refused: list[Erasure] = []
    for erasure in erasures:
        is_right = erasure.cid in known or may_erase(trust, erasure)
        (accepted if is_right else refused).append(erasure)
    done = carry_out(repository, accepted, author=author, time=time)
    return AcceptReport(tuple(accepted), tuple(refused), done)
