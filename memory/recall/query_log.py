"""The sidecar of recall: the last answer of each session, and all impressions.

It is kept in `.ibidem/local/` and is never read by ranking: deleting it changes no answer. It
contains no text of a question: one is kept as a digest keyed with a key of this folder, which shows
only whether two questions are equal.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from blake3 import blake3

from ibidem.objects.record import record
from ibidem.store.files import folder_lock, read_file, write_file
from ibidem.store.line_log import LineLog

SESSIONS_MAX = 50
LOG_BYTES_MAX = 2 << 20
"""Size in bytes at which a log is rotated; one older part is kept."""
_KEPT_MAX = 1000
FOLDER = "local"
_LAST, _IMPRESSIONS = "last.json", "impressions.jsonl"
_FIELDS = {"session", "time", "question", "characters", "receipt", "result", "ids"}
_KEY = "key"
_KEY_BYTES = 32


@record
class LastRecall:
    """The newest answer of a session."""

    session: str
    time: int
    """Microseconds since 1970 UTC."""
    question: str
    """Its digest, 32 digits."""
    characters: int
    receipt: str | None
    result: str
    ids: tuple[str, ...]


class QueryLog:
    """The log files of one repository; in memory if it has no folder."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = None if folder is None else folder / FOLDER
        self._memory: dict[str, Any] = {"last": {}, _IMPRESSIONS: []}
        self._own_key: bytes | None = None

    def digest(self, question: str | bytes) -> str:
        """Returns the digest of a question, or of its canonical form, by the folder's key."""
        data = question.encode() if isinstance(question, str) else question
        return blake3(data, key=self._key()).hexdigest(16)

    def remember(self, entry: LastRecall) -> None:
        """Records an answer as the newest of its session, and as an impression."""
        with self._locked():
            sessions = self._sessions()
            sessions.pop(entry.session, None)
            sessions[entry.session] = asdict(entry)
            oldest = sorted(sessions, key=lambda name: (sessions[name]["time"], name))
            for name in oldest[: max(0, len(sessions) - SESSIONS_MAX)]:
                del sessions[name]
            self._write_sessions(sessions)
            self._append(_IMPRESSIONS, asdict(entry))

    def last(self, session: str | None = None) -> LastRecall | None:
        """Returns the newest answer of a session, or of all; None if there is none."""
        sessions = self._sessions()
        if session is None:
            newest = sorted(sessions.values(), key=lambda one: (one["time"], one["session"]))
            found = newest[-1] if newest else None
        else:
            found = sessions.get(session)
        return None if found is None else LastRecall(**{**found, "ids": tuple(found["ids"])})

    def sessions(self) -> list[str]:
        """Returns the sessions that have an entry, by name."""
        return sorted(self._sessions())

    def impressions(self) -> Iterator[dict[str, Any]]:
        """Yields the answers that were given, oldest first."""
        if self._folder is None:
            yield from self._memory[_IMPRESSIONS]
        else:
            yield from filter(_is_entry, self._log(_IMPRESSIONS).lines())

    # -- files ---------------------------------------------------------------------------------

    def _key(self) -> bytes:
        if self._own_key is None:
            self._own_key = self._read_key()
        return self._own_key

    def _read_key(self) -> bytes:
        if self._folder is None:
            return os.urandom(_KEY_BYTES)
        path = self._folder / _KEY
        with self._locked():
            key = read_file(path)
            if key is None or len(key) != _KEY_BYTES:
                key = os.urandom(_KEY_BYTES)
                write_file(path, key, mode=0o600, is_durable=False)
            return key

    def _sessions(self) -> dict[str, Any]:
        if self._folder is None:
            return dict(self._memory["last"])
        try:
            found = json.loads((self._folder / _LAST).read_bytes())
        except (OSError, ValueError):
            return {}
        if not isinstance(found, dict):
            return {}
        return {name: one for name, one in found.items() if _is_entry(one)}

    def _write_sessions(self, sessions: dict[str, Any]) -> None:
        if self._folder is None:
            self._memory["last"] = sessions
        else:
            data = json.dumps(sessions).encode()
            write_file(self._folder / _LAST, data, mode=0o600, is_durable=False)

    def _append(self, name: str, line: dict[str, Any]) -> None:
        if self._folder is None:
            self._memory[name] = [*self._memory[name][1 - _KEPT_MAX :], line]
            return
        self._log(name).append(line)

    def _log(self, name: str) -> LineLog:
        assert self._folder is not None, "BUG: a log in memory has no file"
        return LineLog(self._folder / name, bytes_max=LOG_BYTES_MAX)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Holds the folder's lock, which is released when its process is killed."""
        if self._folder is None:
            yield
            return
        with folder_lock(self._folder, mode=0o700):
            yield


def _is_entry(found: object) -> bool:
    """Returns whether a value of the file is an entry of this version."""
    if not isinstance(found, dict) or found.keys() != _FIELDS:
        return False
    return isinstance(found["time"], int) and isinstance(found["ids"], list)
