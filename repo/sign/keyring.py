"""The keys of one copy of a repository: private ones, and the public ones that it trusts.

They lie in files of their own beside the blocks and are copied by nothing: whom a copy trusts is
its owner's decision. A private key is a file that only its owner may read. A revoked key stays in
the list, with the commits that were good when it was revoked: what they contain keeps its
signatures, and nothing else does, whatever time it claims.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from blake3 import blake3

from ibidem.objects.cid import CommitCid
from ibidem.objects.errors import (
    CorruptError,
    IbidemError,
    InvalidInputError,
    NotFoundError,
    StorageError,
)
from ibidem.objects.record import record
from ibidem.repo.sign.key import PUBLIC_BYTES, SEED_BYTES, SigningKey

TRUST_FILE = "trusted"
SUFFIX = ".key"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_CHECK_DIGITS = 16


@record
class TrustedKey:
    """A public key, and what this copy lets it do."""

    name: str
    public: bytes
    """32 bytes."""
    may_erase: bool = False
    """Whether an erasure that it signed elsewhere is carried out here."""
    is_revoked: bool = False
    reason: str = ""
    good_heads: tuple[CommitCid, ...] = ()
    """Of a revoked key: the commits whose histories it signed rightly."""


@record
class Trust:
    """Whom a copy trusts, and what it wants signed."""

    keys: Mapping[str, TrustedKey]
    """By name."""
    signed_refs: tuple[str, ...] = ()
    """Beginnings of full ref names, such as `heads/`: what is brought in under them must be signed
    by keys that are trusted."""

    def of(self, public: bytes) -> TrustedKey | None:
        """Returns the key with these bytes."""
        return next((key for key in self.keys.values() if key.public == public), None)


class Keyring:
    """Reads and writes the keys of one copy; for one in memory, until it ends."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._private: dict[str, SigningKey] = {}
        self._trust = Trust({})

    def generate(self, name: str, *, may_erase: bool = True) -> SigningKey:
        """Makes a private key, which this copy trusts from then on.

        Raises:
            InvalidInputError: the name has another form, or is taken.
            StorageError: the disk refuses.
        """
        check_name(name)
        if name in self.trust().keys or name in self.names():
            raise InvalidInputError(f"key: {name!r} exists", hint="choose another name")
        key = SigningKey.generate(name)
        if self._folder is None:
            self._private[name] = key
        else:
            _write(self._folder / (name + SUFFIX), _line(key.seed.hex()), mode=0o600)
        self.add(TrustedKey(name, key.public, may_erase=may_erase))
        return key

    def names(self) -> list[str]:
        """Returns the names of the private keys, ascending."""
        if self._folder is None:
            return sorted(self._private)
        if not self._folder.is_dir():
            return []
        return sorted(path.stem for path in self._folder.glob("*" + SUFFIX))

    def private(self, name: str | None = None) -> SigningKey:
        """Returns a private key, by its name or the only one there is.

        Raises:
            NotFoundError: there is none of that name, or none at all, or several.
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
        path = self._folder / (name + SUFFIX)
        if os.name != "nt" and path.stat().st_mode & 0o077:
            raise InvalidInputError(
                f"key: others may read {path}", hint=f"chmod 600 {path}, if nobody has"
            )
        seed = _hex(_checked(path), SEED_BYTES, str(path))
        return SigningKey(name, seed)

    def chosen(self, sign: str | bool | None) -> SigningKey | None:
        """Returns the private key that a caller asks for.

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
        """Returns whom this copy trusts.

        Raises:
            CorruptError: the file is damaged.
        """
        if self._folder is None:
            return self._trust
        path = self._folder / TRUST_FILE
        return _read_trust(path) if path.exists() else Trust({})

    def add(self, key: TrustedKey) -> None:
        """Trusts a key under its name, in the place of another one of that name."""
        check_name(key.name)
        trust = self.trust()
        known = trust.of(key.public)
        if known is not None and known.name != key.name:
            raise InvalidInputError(
                f"key: its bytes are those of {known.name!r}, expected another key"
            )
        before = trust.keys.get(key.name)
        if before is not None and before.public != key.public:
            raise InvalidInputError(f"key: {key.name!r} is another key", hint="choose a name")
        self.write(replace(trust, keys={**trust.keys, key.name: key}))

    def write(self, trust: Trust) -> None:
        """Replaces whom this copy trusts, in one step."""
        if self._folder is None:
            self._trust = trust
        else:
            _write(self._folder / TRUST_FILE, _line(_trust_text(trust)), mode=0o644)


def check_name(name: object) -> None:
    """Raises unless a name is lower-case letters, digits and `. _ -`."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInputError(f"key: got name {name!r:.80}, expected a-z, 0-9 and . _ -")


def parse_public(text: str) -> bytes:
    """Returns a public key written as 64 hexadecimal digits."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != PUBLIC_BYTES:
        raise InvalidInputError(f"key: got {text!r:.80}, expected {2 * PUBLIC_BYTES} hex digits")
    return found


def problem(folder: Path) -> str | None:
    """Returns what is wrong with the files of a keyring, None where nothing is."""
    ring = Keyring(folder)
    try:
        ring.trust()
        for name in ring.names():
            _hex(_checked(folder / (name + SUFFIX)), SEED_BYTES, name)
    except (IbidemError, OSError) as error:
        return str(error)
    return None


def _line(text: str) -> bytes:
    body = text.encode()
    return body + b" " + blake3(body).hexdigest()[:_CHECK_DIGITS].encode() + b"\n"


def _checked(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StorageError(f"key file {path}: {error.strerror}") from error
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


def _write(path: Path, data: bytes, *, mode: int) -> None:
    """Writes a file in one step, readable by whom `mode` says from the beginning."""
    building = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(building, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        try:
            os.write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        building.replace(path)
    except OSError as error:
        building.unlink(missing_ok=True)
        raise StorageError(f"key file {path}: {error.strerror}") from error


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


def _read_trust(path: Path) -> Trust:
    try:
        fields: dict[str, Any] = json.loads(_checked(path))
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
