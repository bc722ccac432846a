"""Changes of trust: taking it back from a key, and saying where signatures are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ibidem.objects.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid
    from ibidem.repo.sign.keyring import Keyring, Trust, TrustedKey

SPACES = ("heads/", "tags/", "remotes/", "notes/")
"""Under these are refs to commits."""


def revoke(keyring: Keyring, name: str, good: Sequence[CommitCid], reason: str) -> TrustedKey:
    """Trusts a key no more, but for the histories of the commits known good."""
    for field, value in (("name", name), ("reason", reason)):
        if not isinstance(value, str):
            raise InvalidInputError(f"{field}: got {value!r:.80}, expected text")
    good_heads = tuple(sorted(set(good)))

    def take_back(trust: Trust) -> Trust:
        key = trust.keys.get(name)
        if key is None:
            raise NotFoundError(f"key: {name!r:.80} is not trusted here", hint="repo key list")
        revoked = replace(
            key, is_revoked=True, may_erase=False, reason=reason, good_heads=good_heads
        )
        return replace(trust, keys={**trust.keys, name: revoked})

    return keyring.change(take_back).keys[name]


def require_signed(keyring: Keyring, refs: Iterable[str]) -> None:
    """Says under which refs commits that are brought in must be signed."""
    wanted = tuple(sorted(set(refs)))
    for name in wanted:
        if not isinstance(name, str) or not name.startswith(SPACES):
            raise InvalidInputError(
                f"refs: got {name!r:.80}, expected the beginning of a full name, such as 'heads/'"
            )
    keyring.change(lambda trust: replace(trust, signed_refs=wanted))
