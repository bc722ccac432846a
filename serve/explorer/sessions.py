"""Sessions of browsers: each begins with a code that is exchanged once.

The code stands in the address that a browser is opened with, so other programs of this machine can
read it in the list of processes. It is worth nothing once the browser has exchanged it, and whoever
tries to exchange it again ends its session: a thief who was faster loses it as soon as the browser
of the user arrives.
"""

from __future__ import annotations

import secrets
from hashlib import sha256


class Sessions:
    """The codes that were given out, and the sessions that began with them."""

    def __init__(self) -> None:
        self._secrets: dict[bytes, bytes | None] = {}
        """The digest of each code, with that of the secret of its session."""

    def code(self) -> str:
        """Returns a new code for one session."""
        code = secrets.token_urlsafe(32)
        self._secrets[_digest(code)] = None
        return code

    def begin(self, code: str) -> str | None:
        """Returns the secret of the session that begins with a code; None for an unknown or used
        one, whose session ends.
        """
        key = _digest(code)
        if self._secrets.pop(key, b"") is not None:
            return None
        secret = secrets.token_urlsafe(32)
        self._secrets[key] = _digest(secret)
        return secret

    def has(self, secret: str) -> bool:
        """Returns whether a secret is that of a session."""
        return _digest(secret) in self._secrets.values()


def _digest(text: str) -> bytes:
    """Returns what is compared instead of a secret, so that its time tells nothing."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
