"""The keys of one copy of a repository: private ones, public ones that it trusts, and revocation.

They are kept in separate files outside the history and are never copied: which keys a copy trusts
is its owner's decision. A private key is a file that only its owner may read. A revoked key stays
in the list, with the commits that were good when it was revoked: signatures in their histories stay
valid, and nothing else signed by that key is valid, whatever time it claims.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from ibidem.objects.cid import CommitCid
from ibidem.objects.errors import (
    CorruptError,
    IbidemError,
    InvalidInputError,
    NotFoundError,
)
from ibidem.objects.forking import ForkLock
from ibidem.objects.record import record
from ibidem.repo.signing.ed25519 import has_prime_order
from ibidem.repo.signing.key import PUBLIC_BYTES, SEED_BYTES, SigningKey
from ibidem.store.files import change_file, medium_error, read_file, write_file

if TYPE_CHECKING:
    from ibidem.objects.cid import CommitCid


TRUST_FILE = "trusted"
SUFFIX = ".key"
_NAME = r"[a-z0-9][a-z0-9._-]{0,63}"
_CHECK_DIGITS = 16


@record
class TrustedKey:
    """A public key, and its permissions in this copy."""

    name: str
    public: bytes
    """32 bytes."""
    may_erase: bool = False
    """Whether erasures from elsewhere that it signed are carried out here."""
    is_revoked: bool = False
    reason: str = ""
    good_heads: tuple[CommitCid, ...] = ()
    """For a revoked key: the commits in whose histories its signatures stay valid."""


@record
class Trust:
    """The keys that a copy trusts, and the refs that require signatures."""

    keys: Mapping[str, TrustedKey]
    """By name."""
    signed_refs: tuple[str, ...] = ()
    """Prefixes of full ref names, such as `heads/`: commits brought in under them must be signed by
    trusted keys.
    """

    def of(self, public: bytes) -> TrustedKey | None:
        """Returns the key with this public key."""
        return next((key for key in self.keys.values() if key.public == public), None)


class Keyring:
    """Reads and writes the keys of one copy; those of a repository in memory are lost when it is
    closed.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._private: dict[str, SigningKey] = {}
        self._trust = Trust({})
        self._lock = ForkLock()
        """Of what is in memory."""

    def generate(self, name: str, *, may_erase: bool = True) -> SigningKey:
        """Creates a private key, which this copy trusts from then on.

        Both are durable on return; on failure, neither exists. If a process was killed between the
        two writes, the private key that it left is used.

        Raises:
            InvalidInputError: the name is malformed, or is taken.
            StorageError: a disk error.
        """
        check_name(name)
        key = SigningKey.generate(name)

        def add(trust: Trust) -> Trust:
            nonlocal key
            if name in trust.keys:
                raise InvalidInputError(f"key: {name!r} exists", hint="choose another name")
            if name in self.names():
                key = self.private(name)
            else:
                self._keep(key)
            return _with(trust, TrustedKey(name, key.public, may_erase=may_erase))

        try:
            self.change(add)
        except BaseException:
            self._drop(key)
            raise
        return key

    def names(self) -> list[str]:
        """Returns the names of the private keys, ascending."""
        if self._folder is None:
            return sorted(self._private)
        try:
            found = os.listdir(self._folder)  # noqa: PTH208  pathlib hides what cannot be read
        except FileNotFoundError:
            return []
        except OSError as error:
            raise medium_error(self._folder, error) from error
        return sorted(name.removesuffix(SUFFIX) for name in found if _is_private(name))

    def private(self, name: str | None = None) -> SigningKey:
        """Returns a private key, by its name or the only one there is.

        Raises:
            NotFoundError: there is none of that name; or without a name, there is none or several.
            InvalidInputError: others may read the file.
            CorruptError: the file is damaged.
        """
        names = self.names()
        if name is None:
            if len(names) != 1:
                raise NotFoundError(
                    f"key: there are {len(names)} private keys here, expected a name",
                    hint="repo key list; repo key generate NAME makes one",
                )
            name = names[0]
        if name not in names:
            raise NotFoundError(f"key: {name!r:.80} is not here", hint="repo key list")
        if self._folder is None:
            return self._private[name]
        path = self._path_of(name)
        if os.name != "nt" and _mode(path) & 0o077:
            raise InvalidInputError(
                f"key: others may read {path}", hint=f"chmod 600 {path}, if nobody has"
            )
        data = read_file(path)
        if data is None:
            raise NotFoundError(f"key: {name!r:.80} is not here", hint="repo key list")
        return SigningKey(name, _hex(_checked(data, path), SEED_BYTES, str(path)))

    def chosen(self, sign: str | bool | None) -> SigningKey | None:
        """Returns the private key selected by a `sign` argument.

        Args:
            sign: its name; True for the only one there is; None for that one, if there is exactly
                one, else for no key; False for no key.

        Raises:
            NotFoundError: there is none of that name, or not exactly one.
        """
        if sign is None:
            return self.private() if len(self.names()) == 1 else None
        if sign is False:
            return None
        return self.private(None if sign is True else sign)

    def trust(self) -> Trust:
        """Returns the trusted keys and signature requirements of this copy.

        Raises:
            CorruptError: the file is damaged.
        """
        if self._folder is None:
            return self._trust
        path = self._folder / TRUST_FILE
        return _read_trust(read_file(path), path)

    def add(self, key: TrustedKey) -> None:
        """Trusts a key under its name, replacing an older entry of the same key.

        Raises:
            InvalidInputError: the name is that of another key, or the key has another name.
            StorageError: a disk error.
        """
        if not isinstance(key, TrustedKey):
            raise InvalidInputError(f"key: got {key!r:.80}, expected a TrustedKey")
        check_name(key.name)
        if not isinstance(key.public, bytes) or not has_prime_order(key.public):
            raise InvalidInputError(
                f"key: got public {key.public!r:.80}, expected the {PUBLIC_BYTES} bytes of a key"
            )
        self.change(lambda trust: _with(trust, key))

    def change(self, change: Callable[[Trust], Trust]) -> Trust:
        """Replaces the trust of this copy by the result of `change`, and returns it.

        No concurrent change is lost: `change` is called under a lock, with the current trust. The
        new list is durable on return. On failure, the list is unchanged.

        Raises:
            CorruptError: the file is damaged.
            StorageError: a disk error.
        """
        if self._folder is None:
            with self._lock:
                self._trust = change(self._trust)
                return self._trust
        path, made = self._folder / TRUST_FILE, Trust({})

        def changed(data: bytes | None) -> bytes:
            nonlocal made
            made = change(_read_trust(data, path))
            return _line(_trust_text(made))

        change_file(path, changed, mode=0o644, folder_mode=0o700)
        return made

    def _keep(self, key: SigningKey) -> None:
        if self._folder is None:
            self._private[key.name] = key
        else:
            write_file(self._path_of(key.name), _line(key.seed.hex()), mode=0o600)

    def _drop(self, key: SigningKey) -> None:
        """Removes a private key that was not acknowledged, if it was written at all."""
        if self._folder is None:
            if self._private.get(key.name) == key:
                del self._private[key.name]
            return
        with suppress(OSError, CorruptError):
            path = self._path_of(key.name)
            if _checked(path.read_bytes(), path) == key.seed.hex():
                path.unlink()

    def _path_of(self, name: str) -> Path:
        assert self._folder is not None, "BUG: a keyring in memory has no files"
        return self._folder / (name + SUFFIX)


def check_name(name: object) -> None:
    """Raises unless a name is lower-case letters, digits and `. _ -`."""
    if not isinstance(name, str) or not re.fullmatch(_NAME, name):
        raise InvalidInputError(f"key: got name {name!r:.80}, expected a-z, 0-9 and . _ -")


def parse_public(text: str) -> bytes:
    """Returns a public key written as 64 hexadecimal digits."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if not has_prime_order(found):
        raise InvalidInputError(
            f"key: got {text!r:.80}, expected the {2 * PUBLIC_BYTES} hex digits of a public key"
        )
    return found


def problem(folder: Path) -> str | None:
    """Returns the fault of a keyring's files, None if there is none."""
    ring = Keyring(folder)
    try:
        ring.trust()
        for name in ring.names():
            path = folder / (name + SUFFIX)
            data = read_file(path)
            if data is not None:  # removed meanwhile
                _hex(_checked(data, path), SEED_BYTES, name)
    except IbidemError as error:
        return str(error)
    return None


def _with(trust: Trust, key: TrustedKey) -> Trust:
    """Returns the trust with one more key, or with a changed entry of a key."""
    known = trust.of(key.public)
    if known is not None and known.name != key.name:
        raise InvalidInputError(f"key: its bytes are those of {known.name!r}, expected another key")
    before = trust.keys.get(key.name)
    if before is not None and before.public != key.public:
        raise InvalidInputError(f"key: {key.name!r} is another key", hint="choose a name")
    return replace(trust, keys={**trust.keys, key.name: key})


def _is_private(name: str) -> bool:
    """Returns whether a file holds a private key; incomplete files left by a crash begin with a
    dot.
    """
    return name.endswith(SUFFIX) and not name.startswith(".")


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except OSError as error:
        raise medium_error(path, error) from error


def _line(text: str) -> bytes:
    body = text.encode()
    return body + b" " + blake3(body).hexdigest()[:_CHECK_DIGITS].encode() + b"\n"


def _checked(data: bytes, path: Path) -> str:
    body, _, _ = data.rpartition(b" ")
    if _line(body.decode("utf-8", "replace")) != data:
        raise CorruptError(f"key file {path}: it does not have its stated checksum")
    return body.decode()


def _hex(text: str, size: int, where: str) -> bytes:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != size:
        raise CorruptError(f"key file {where}: it does not hold {size} bytes")
    return found


def _trust_text(trust: Trust) -> str:
    keys = [
        {
            "name": key.name,
            "public": key.public.hex(),
            "may_erase": key.may_erase,
            "revoked": key.is_revoked,
            "reason": key.reason,
            "good_heads": [str(cid) for cid in key.good_heads],
        }
        for key in trust.keys.values()
    ]
    fields = {"version": 1, "keys": keys, "signed_refs": list(trust.signed_refs)}
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))


def _read_trust(data: bytes | None, path: Path) -> Trust:
    if data is None:
        return Trust({})
    try:
        fields: dict[str, Any] = json.loads(_checked(data, path))
        if fields["version"] != 1:
            raise CorruptError(f"key file {path}: its version is {fields['version']!r}")
        keys = [
            TrustedKey(
                one["name"],
                _hex(one["public"], PUBLIC_BYTES, str(path)),
                one["may_erase"],
                one["revoked"],
                one["reason"],
                tuple(CommitCid.parse(text) for text in one["good_heads"]),
            )
            for one in fields["keys"]
        ]
        return Trust({key.name: key for key in keys}, tuple(fields["signed_refs"]))
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptError(f"key file {path}: it is not a list of keys") from error


SPACES = ("heads/", "tags/", "refs/", "remotes/", "notes/")
"""Prefixes of refs to commits."""


def revoke(keyring: Keyring, name: str, good: Sequence[CommitCid], reason: str) -> TrustedKey:
    """Revokes a key, except for signatures in the histories of the commits known to be good."""
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
    """Sets the ref prefixes under which commits brought in must be signed."""
    wanted = tuple(sorted(set(refs)))
    for name in wanted:
        if not isinstance(name, str) or not name.startswith(SPACES):
            raise InvalidInputError(
                f"refs: got {name!r:.80}, expected the beginning of a full name, such as 'heads/'"
            )
    keyring.change(lambda trust: replace(trust, signed_refs=wanted))
