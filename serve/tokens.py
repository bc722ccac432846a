"""Tokens of a server: each is bound to a viewer, so that a client cannot choose what it sees.

The registry is a file of the repository's folder; it is never copied. Only the hash of a token is
kept: a token has 256 random bits, so a plain hash cannot be reversed, and a reader of the file
cannot use it. A server reads the registry at each request, so rotating and revoking take effect at
once.

Spec: trust 7.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from blake3 import blake3

from ibidem.objects.errors import CorruptError, InvalidInputError, NotFoundError
from ibidem.objects.forking import ForkLock
from ibidem.objects.record import record
from ibidem.retrieve.access.policy import ALL, Viewer
from ibidem.store.files import change_file, read_file

FILE = Path("local") / "tokens.json"
OWNER = "owner"
"""The name of the token that the owner of the repository gives to a server; not in the registry."""
TOKENS_MAX = 1000
TOKEN_CHARACTERS_MIN = 16
_PREFIX = "ibidem_"
"""Lets scanners for secrets recognise a token."""
_TOKEN_BYTES = 32
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_VERSION = 1


class Scope(StrEnum):
    """What a token allows beside what its viewer may see."""

    READ = "read"
    WRITE = "write"


@record
class Token:
    """A token as the registry knows it."""

    name: str
    viewer: Viewer
    scope: str
    digest: str
    """Of the token, 64 hexadecimal digits."""
    created: int
    """Microseconds since 1970 UTC, as all times here; of the rotation, if it was rotated."""
    expires: int | None = None
    """From this time on it is not accepted."""

    def __post_init__(self) -> None:
        """Raises `InvalidInputError` if a field has the wrong form."""
        check_name(self.name)
        if type(self.viewer) is not Viewer:
            raise InvalidInputError(f"viewer: got {self.viewer!r:.80}, expected a Viewer")
        if self.scope not in tuple(Scope):
            raise InvalidInputError(f"scope: got {self.scope!r:.80}, expected 'read' or 'write'")
        object.__setattr__(self, "scope", str(self.scope))
        if not isinstance(self.digest, str) or not _DIGEST.fullmatch(self.digest):
            raise InvalidInputError("digest: expected 64 hexadecimal digits")
        if type(self.created) is not int:
            raise InvalidInputError(f"created: got {self.created!r:.80}, expected microseconds")
        if self.expires is not None and type(self.expires) is not int:
            raise InvalidInputError(f"expires: got {self.expires!r:.80}, expected microseconds")
        if self.expires is not None and self.expires <= self.created:
            raise InvalidInputError(
                f"expires: got {self.expires}, expected a time after {self.created}"
            )

    def is_valid(self, time: int) -> bool:
        """Returns whether the token is accepted at a time."""
        return self.expires is None or time < self.expires


class Issued(NamedTuple):
    """A new token; its text is kept nowhere."""

    text: str
    token: Token


class Tokens:
    """The registry of one repository; in memory if it has no folder."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / FILE
        self._in_memory: dict[str, Token] = {}
        self._lock = ForkLock()
        """Of what is in memory."""

    def all(self) -> dict[str, Token]:
        """Returns the tokens by name, in order; expired ones too.

        Raises:
            CorruptError: the file is malformed; then no token is accepted.
            StorageError: it cannot be read.
        """
        if self._path is None:
            return dict(self._in_memory)
        return _read(read_file(self._path), self._path)

    def create(
        self,
        name: str,
        *,
        viewer: Viewer,
        time: int,
        scope: str = Scope.READ,
        expires: int | None = None,
    ) -> Issued:
        """Creates a token. Durable on return.

        Args:
            name: lower-case letters, digits, `.`, `_` and `-`; the audit log shows it.
            viewer: what the client may see.
            time: now.
            scope: `write` also allows pushes, for a viewer who sees everything.
            expires: from then on it is not accepted.

        Raises:
            InvalidInputError: there is one of that name, or an argument is malformed.
            StorageError: a disk error; nothing was changed.
        """
        if name == OWNER:
            raise InvalidInputError(f"token: the name {OWNER!r} is the server's own token")
        text = _PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)
        made = Token(name, viewer, scope, digest_of(text), time, expires)

        def added(known: dict[str, Token]) -> dict[str, Token]:
            if name in known:
                raise InvalidInputError(
                    f"token: {name!r} exists", hint="rotate it, or revoke it first"
                )
            if len(known) >= TOKENS_MAX:
                raise InvalidInputError(f"token: there are {len(known)}, the maximum")
            return {**known, name: made}

        self._change(added)
        return Issued(text, made)

    def rotate(self, name: str, *, time: int, expires: int | None = None) -> Issued:
        """Replaces a token by a new one of the same name, viewer and scope; the old one is not
        accepted from now on. Durable on return.

        Args:
            name: of a token in the registry.
            time: now.
            expires: by default that of the old one.

        Raises:
            NotFoundError: there is none of that name.
            InvalidInputError: it has expired, and no new time is given.
            StorageError: a disk error; nothing was changed.
        """
        text = _PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)
        made: list[Token] = []

        def rotated(known: dict[str, Token]) -> dict[str, Token]:
            old = _known(known, name)
            until = old.expires if expires is None else expires
            made.append(replace(old, digest=digest_of(text), created=time, expires=until))
            return {**known, name: made[0]}

        self._change(rotated)
        return Issued(text, made[0])

    def revoke(self, name: str) -> Token:
        """Removes a token, which is not accepted from now on, and returns it. Durable on return.

        Raises:
            NotFoundError: there is none of that name.
            StorageError: a disk error; nothing was changed.
        """
        gone: list[Token] = []

        def removed(known: dict[str, Token]) -> dict[str, Token]:
            gone.append(_known(known, name))
            return {other: token for other, token in known.items() if other != name}

        self._change(removed)
        return gone[0]

    def _change(self, change: Callable[[dict[str, Token]], dict[str, Token]]) -> None:
        path = self._path
        if path is None:
            with self._lock:
                self._in_memory = dict(sorted(change(self._in_memory).items()))
            return
        change_file(
            path, lambda data: _text(change(_read(data, path))), mode=0o600, folder_mode=0o700
        )


def owner_token(text: str) -> Token:
    """Returns the token of the owner, who sees everything and may write.

    Args:
        text: at least 16 printable characters.

    Raises:
        InvalidInputError: it is too short, or has others; the message does not show it.
    """
    if len(text) < TOKEN_CHARACTERS_MIN or not text.isascii() or not text.isprintable():
        raise InvalidInputError(
            f"token: got {len(text)} characters, "
            f"expected {TOKEN_CHARACTERS_MIN} or more that are printable ASCII"
        )
    return Token(OWNER, ALL, Scope.WRITE, digest_of(text), 0)


def matching(text: str, tokens: Iterable[Token], *, time: int) -> Token | None:
    """Returns the token with a text that is accepted at a time; None if there is none.

    Every token is compared, each in constant time, so that how long it takes says nothing about
    the text or which token it is.
    """
    given, found = digest_of(text), None
    for token in tokens:
        if hmac.compare_digest(given, token.digest) and token.is_valid(time):
            found = token
    return found


def digest_of(text: str) -> str:
    """Returns the hash of a token that is kept in its place."""
    return blake3(text.encode("utf-8", "replace")).hexdigest()


def check_name(name: object) -> str:
    """Returns the name of a token; raises `InvalidInputError` if it is malformed."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"token: got the name {name!r:.80}, expected 1 to 64 of a-z, 0-9, '.', '_' and '-', "
            "the first a letter or a digit"
        )
    return name


def _known(tokens: Mapping[str, Token], name: str) -> Token:
    found = tokens.get(name)
    if found is None:
        raise NotFoundError(
            f"token {name!r:.80} does not exist", hint="`repo trust token list` shows them"
        )
    return found


def _text(tokens: Mapping[str, Token]) -> bytes:
    rows = {
        name: {**asdict(token), "viewer": token.viewer.form()}
        for name, token in sorted(tokens.items())
    }
    for row in rows.values():
        del row["name"]
    return (json.dumps({"version": _VERSION, "tokens": rows}, indent=2) + "\n").encode()


def _read(data: bytes | None, path: Path) -> dict[str, Token]:
    if data is None:
        return {}
    try:
        found = json.loads(data)
        if found["version"] != _VERSION:
            raise ValueError("version")
        return {name: _token(name, row) for name, row in sorted(found["tokens"].items())}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CorruptError(
            f"tokens: {path} is damaged",
            hint="delete it and create the tokens again; no data is affected",
        ) from error


def _token(name: str, row: Mapping[str, Any]) -> Token:
    return Token(name, **{**row, "viewer": Viewer.from_form(row["viewer"])})
