"""Keys and signatures: who signed a commit, and whether this copy trusts that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ibidem.repo.revspec import HEAD
from ibidem.repo.signing import keyring
from ibidem.repo.signing.verify import Verifier

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.signing.keyring import Keyring, TrustedKey
    from ibidem.repo.signing.verify import Verdict


class Keys:
    """The keys of a copy, and what the signatures of commits are worth here."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def ring(self) -> Keyring:
        """The keys of this copy: private ones, and those that it trusts."""
        return self._core.keyring

    def sign_with(self, name: str | None) -> None:
        """Signs every commit that is made through this object from now on.

        Args:
            name: of a private key; None: commits are not signed unless a call asks for it.
        """
        self._core.signing_key = None if name is None else self.ring.private(name)

    def verify(self, rev: object = HEAD) -> Iterator[Verdict]:
        """Yields what the signature of each commit behind a revision is worth, newest first."""
        start = self._core.commit_cid_of(rev)
        return Verifier(self._core.store, self.ring.trust()).history(start)

    def revoke(self, name: str, *, good: Iterable[object] = (), reason: str = "") -> TrustedKey:
        """Trusts a key no more, but for what it signed behind the revisions that are known good.

        Args:
            name: of the key.
            good: revisions from before it could be misused; what is not behind one of them is
                not trusted, whatever time it claims.

        Raises:
            NotFoundError: no such key is trusted, or no such revision.
        """
        found = [self._core.commit_cid_of(rev) for rev in good]
        return keyring.revoke(self.ring, name, found, reason)

    def require_signed(self, refs: Iterable[str]) -> None:
        """Says under which refs, by the beginnings of their full names such as `heads/`, commits
        that are brought in must be signed by keys that are trusted here; none for nowhere."""
        keyring.require_signed(self.ring, refs)
