"""The settings of one copy of a repository that the library reads: what becomes of questions, when
the index is built, and how much of it and of answers is kept.

They are in `local/settings.json` of the repository's folder, which is never committed or copied;
`repo config` writes others there, too. A file that cannot be read keeps no question. A repository
in memory has the defaults.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from ibidem.objects.errors import InvalidInputError
from ibidem.store.files import change_file, folder_lock, medium_error

FILE = Path("local") / "settings.json"
LOG_QUESTIONS, SLOW_MILLISECONDS = "log_questions", "slow_milliseconds"
SLOW_DEFAULT = 30_000
INDEX_BUILD, INDEX_BUDGET, ANSWER_CACHE = "index_build", "index_budget", "answer_cache"
COMMIT, QUESTION = BUILT_AT = ("commit", "question")
"""When the index of a new head is built."""
INDEX_BUDGET_DEFAULT = 4 << 30
ANSWER_CACHE_DEFAULT = 16 << 20


class LogQuestions(StrEnum):
    """Where the text of a question is written on this machine."""

    NEVER = "never"
    """Nowhere: answers have receipts, but none is logged."""
    RECEIPTS = "receipts"
    """In the log of receipts, so that an answer can be replayed; the default."""
    ALWAYS = "always"
    """There, and in the log of slow questions."""


class LocalSettings:
    """The settings of the copy in one folder, read again when the file changes."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / FILE
        self._name = str(self._path)
        """As text, which takes less time to look up: every question does."""
        self._version: tuple[int, int, int] | None = None
        self._values: Mapping[str, Any] = {}

    @property
    def log_questions(self) -> LogQuestions:
        """Where questions are written."""
        settings = self._read()
        if LOG_QUESTIONS not in settings:
            return LogQuestions.RECEIPTS
        value = settings[LOG_QUESTIONS]
        return LogQuestions(value) if value in tuple(LogQuestions) else LogQuestions.NEVER

    @property
    def slow_milliseconds(self) -> int:
        """How long a question takes that is recorded as slow."""
        value = self._read().get(SLOW_MILLISECONDS, SLOW_DEFAULT)
        return value if type(value) is int and value >= 0 else SLOW_DEFAULT

    @property
    def is_indexed_at_commit(self) -> bool:
        """Whether every commit is indexed at once, not for a question."""
        return bool(self._read().get(INDEX_BUILD) == COMMIT)

    @property
    def index_budget(self) -> int:
        """Bytes that the index of all heads but the current one may occupy."""
        value = self._read().get(INDEX_BUDGET, INDEX_BUDGET_DEFAULT)
        return value if type(value) is int and value >= 0 else INDEX_BUDGET_DEFAULT

    @property
    def answer_cache(self) -> int:
        """Bytes of packs that a process keeps to answer the same question again; 0 for none."""
        value = self._read().get(ANSWER_CACHE, ANSWER_CACHE_DEFAULT)
        return value if type(value) is int and value >= 0 else ANSWER_CACHE_DEFAULT

    def set_log_questions(self, value: LogQuestions | str) -> None:
        """Writes where questions are written.

        Raises:
            InvalidInputError: another value; or a repository in memory, which writes nothing.
        """
        chosen = checked_log_questions(value)
        if self._path is None:
            raise InvalidInputError(
                "log_questions: got it for a repository in memory, expected one in a folder"
            )

        def changed(data: bytes | None) -> bytes:
            found = _decoded(data or b"{}")
            if found is None:
                raise InvalidInputError(f"{FILE.as_posix()}: got no JSON object, expected one")
            return json.dumps({**found, LOG_QUESTIONS: str(chosen)}, indent=2).encode() + b"\n"

        change_file(self._path, changed)

    def remove_slow_log(self) -> None:
        """Removes the log of slow questions, which may have their texts.

        Raises:
            StorageError: a file cannot be removed.
        """
        if self._path is None or not self._path.parent.is_dir():
            return
        with folder_lock(self._path.parent, mode=0o700):
            for path in self._path.parent.glob("slow.*"):
                try:
                    path.unlink(missing_ok=True)
                except OSError as error:
                    raise medium_error(path, error) from error

    def _read(self) -> Mapping[str, Any]:
        if self._path is None:
            return {}
        try:
            status = os.stat(self._name)  # noqa: PTH116
        except FileNotFoundError:
            return {}
        except OSError:
            return _NOTHING
        version = status.st_mtime_ns, status.st_size, status.st_ino
        if version != self._version:
            try:
                found = _decoded(self._path.read_bytes())
            except OSError:
                found = None
            self._values = _NOTHING if found is None else found
            self._version = version
        return self._values


_NOTHING: Mapping[str, Any] = {LOG_QUESTIONS: LogQuestions.NEVER}
"""What is read from a file that is not readable."""


def checked_log_questions(value: object) -> LogQuestions:
    """Returns a value of the setting; raises `InvalidInputError` for another."""
    if isinstance(value, str) and value in tuple(LogQuestions):
        return LogQuestions(value)
    raise InvalidInputError(
        f"log_questions: got {value!r:.80}, expected one of {', '.join(LogQuestions)}"
    )


def _decoded(data: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
