"""Keys and signatures: signing, verifying, and the keys that this copy trusts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ibidem.repo.revspec import HEAD

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.signing.keyring import Keyring, TrustedKey
    from ibidem.repo.signing.verify import Verdict


class Keys:
    """The keys of a copy, and the verification of commits."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def ring(self) -> Keyring:
        """The keys of this copy: private ones, and those that it trusts."""
        return self._core.keyring

    def sign_with(self, name: str | None) -> None:
        """Signs every commit made through this object from now on.

        Args:
            name: of a private key; None: commits are not signed unless a call asks for it.
        """
        self._core.signing_key = None if name is None else self.ring.private(name)

    def verify(self, at: object = HEAD) -> Iterator[Verdict]:
        """Yields the verdict on the signature of a revision and each ancestor, newest first."""
        from ibidem.repo.signing.verify import Verifier

        start = self._core.commit_cid_of(at)
        return Verifier(self._core.store, self.ring.trust()).history(start)

    def revoke(self, name: str, *, good: Iterable[object] = (), reason: str = "") -> TrustedKey:
        """Revokes a key, except for signatures up to the given good revisions.

        Args:
            name: of the key.
            good: revisions from before it could be misused; only these and their ancestors stay
                trusted, whatever time a commit claims.

        Raises:
            NotFoundError: no such key is trusted, or no such revision.
        """
        from ibidem.repo.signing.keyring import revoke

        found = [self._core.commit_cid_of(rev) for rev in good]
        return revoke(self.ring, name, found, reason)

    def require_signed(self, refs: Iterable[str]) -> None:
        """Requires signatures by trusted keys on commits that arrive on refs with these prefixes,
        such as `heads/`; none to require nothing.
        """
        from ibidem.repo.signing.keyring import require_signed

        require_signed(self.ring, refs)
