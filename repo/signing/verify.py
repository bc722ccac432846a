"""The verification of commit signatures: who signed, and whether this copy trusts the key.

Signatures of a revoked key are good only in the histories of the commits that were named as good
when it was revoked. The time in a commit is claimed by its author, so it decides nothing: a thief
of the key can write any time, but cannot add an ancestor to an existing commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from ibidem.objects.cid import CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.erasure import Erasure
from ibidem.objects.errors import ErrorKind, IbidemError, InvalidInputError
from ibidem.objects.record import record
from ibidem.repo.history.ancestry import newest_first, read_commit
from ibidem.repo.signing.key import signer_of

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.repo.signing.keyring import Trust, TrustedKey


class Standing(StrEnum):
    """The status of a signature."""

    GOOD = "good"
    """Valid, by a trusted key."""
    UNSIGNED = "unsigned"
    BAD = "bad"
    """Invalid for these bytes, or of another scheme."""
    UNKNOWN = "unknown"
    """Valid, by a key that is not trusted here."""
    REVOKED = "revoked"
    """Valid, by a revoked key, and not in the history of a commit known to be good."""


@record
class Verdict:
    """One commit's signature."""

    commit: CommitCid
    standing: Standing
    public: bytes | None = None
    """The key that signed, if the signature is valid."""
    name: str = ""
    """Its name here."""


class Verifier:
    """Judges commits by the trust of one copy."""

    def __init__(self, source: Source, trust: Trust) -> None:
        self._source = source
        self._trust = trust
        self._good: dict[str, frozenset[bytes]] = {}

    def verdict(self, cid: CommitCid, commit: Commit) -> Verdict:
        """Returns the verdict on a commit's signature."""
        if commit.signature is None:
            return Verdict(cid, Standing.UNSIGNED)
        public = signer_of(commit)
        if public is None:
            return Verdict(cid, Standing.BAD)
        key = self._trust.of(public)
        if key is None:
            return Verdict(cid, Standing.UNKNOWN, public)
        if key.is_revoked and cid.raw not in self._known_good(key):
            return Verdict(cid, Standing.REVOKED, public, key.name)
        return Verdict(cid, Standing.GOOD, public, key.name)

    def history(self, start: CommitCid) -> Iterator[Verdict]:
        """Yields the verdicts of a commit and all its ancestors, newest first."""
        for cid, commit in newest_first(partial(read_commit, self._source), (start,)):
            yield self.verdict(cid, commit)

    def _known_good(self, key: TrustedKey) -> frozenset[bytes]:
        """Returns the histories of the commits named as good when the key was revoked."""
        found = self._good.get(key.name)
        if found is None:
            cids: set[bytes] = set()
            for head in key.good_heads:
                try:
                    read = partial(read_commit, self._source)
                    cids.update(cid.raw for cid, _ in newest_first(read, (head,)))
                except IbidemError:
                    continue  # not here: its ancestors are unknown
            found = self._good[key.name] = frozenset(cids)
        return found


def check_signed(
    source: Source,
    trust: Trust,
    targets: Iterable[tuple[str, CommitCid]],
    is_known: Callable[[CommitCid], bool],
) -> None:
    """Raises for commits that are not signed where this copy requires it.

    Called before received commits become visible, with everything readable from `source`.

    Args:
        source: has the commits.
        trust: the trusted keys, and the refs that require signatures.
        targets: full names of the refs that move, and their new targets.
        is_known: whether a commit was here before; its ancestors are not checked.

    Raises:
        InvalidInputError: kind `unsigned`, naming the first commit that is not good.
    """
    verifier = Verifier(source, trust)
    listed: set[bytes] = set()
    for name, target in targets:
        if not name.startswith(trust.signed_refs) or not trust.signed_refs:
            continue
        waiting = [target]
        while waiting:
            cid = waiting.pop()
            if cid.raw in listed or is_known(cid):
                continue
            listed.add(cid.raw)
            commit = Commit.decode(source.get(cid))
            found = verifier.verdict(cid, commit)
            if found.standing is not Standing.GOOD:
                raise InvalidInputError(
                    f"commit {cid}: its signature is {found.standing}, {name} wants good ones",
                    kind=ErrorKind.UNSIGNED,
                    hint="sign it, or trust the key that did",
                )
            waiting.extend(commit.parents)


def may_erase(trust: Trust, erasure: Erasure) -> bool:
    """Returns whether an erasure from elsewhere is signed by a key that may erase here."""
    public = signer_of(erasure)
    key = None if public is None else trust.of(public)
    return key is not None and key.may_erase and not key.is_revoked
