"""Keys and signatures: who signed a commit, and whether this copy trusts that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ibidem.objects.cid import CommitCid
from ibidem.repo import revspec
from ibidem.repo.core import Core

if TYPE_CHECKING:
    from ibidem.repo.signing.keyring import TrustedKey
    from ibidem.repo.signing.verify import Verdict


class KeysApi(Core):
    """The methods of `Repository` about signatures."""

    def sign_with(self, name: str | None) -> None:
        """Signs every commit that is made through this object from now on.

        Args:
            name: of a private key; None: commits are not signed unless a call asks for it.
        """
        self.signing_key = None if name is None else self.keyring.private(name)

    def verify(self, rev: object = revspec.HEAD) -> Iterator[Verdict]:
        """Yields what the signature of each commit behind a revision is worth, newest first."""
        from ibidem.repo.signing.verify import Verifier

        start = self.resolve(rev)
        assert start is not None, "BUG: resolve returned None"
        return Verifier(self.store, self.keyring.trust()).history(start)

    def revoke_key(self, name: str, *, good: Iterable[object] = (), reason: str = "") -> TrustedKey:
        """Trusts a key no more, but for what it signed behind the revisions that are known good.

        Args:
            name: of the key.
            good: revisions from before it could be misused; what is not behind one of them is
                not trusted, whatever time it claims.

        Raises:
            NotFoundError: no such key is trusted, or no such revision.
        """
        from ibidem.repo.signing.keyring import revoke

        heads = [self.resolve(rev) for rev in good]
        found = [CommitCid(head.raw) for head in heads if head is not None]
        return revoke(self.keyring, name, found, reason)

    def require_signed(self, refs: Iterable[str]) -> None:
        """Says under which refs, by the beginnings of their full names such as `heads/`, commits
        that are brought in must be signed by keys that are trusted here; none for nowhere."""
        from ibidem.repo.signing.keyring import require_signed

        require_signed(self.keyring, refs)
