"""The log of slow questions: how long each took, its lanes, counts and the names of its options.

It is kept in `local/` of the repository's folder and is never read by ranking: deleting it changes
no answer. It has the text of a question only where the setting `log_questions` is `always`, and no
question of a restricted viewer, because all callers of a folder share it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from ibidem.objects.errors import StorageError
from ibidem.repo.local_settings import LogQuestions
from ibidem.store.files import read_file

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.query.query import Query
    from ibidem.store.line_log import LineLog

T = TypeVar("T")
R = TypeVar("R")
BYTES_MAX = 2 << 20
"""Size in bytes at which the log is rotated; one older part is kept."""
FOLDER, FILE = "local", "slow.jsonl"
WAIT_SECONDS = 0.5
"""How long an answer waits for the lock of the folder; then it is not recorded."""
_FIELDS = {"operation", "milliseconds", "items", "candidates", "lanes", "options", "time"}


def note_slow(core: Core, graph: Graph, answer: Answer[Any], seconds: float) -> None:
    """Records a question that took at least as long as the setting `slow_milliseconds`.

    Args:
        core: of the repository that was asked; nothing is recorded in memory.
        graph: what was asked, as the caller saw it.
        answer: the answer.
        seconds: how long it took.
    """
    took = int(seconds * 1000)
    query = answer.query
    is_shown = query.viewer is None or query.viewer.everything
    if core.folder is None or not is_shown or took < core.local.slow_milliseconds:
        return
    from ibidem.store.files import folder_lock

    line: dict[str, Any] = {
        "operation": _operation(answer),
        "milliseconds": took,
        "items": len(answer.items),
        "candidates": answer.candidates_seen,
        "lanes": {name: str(status) for name, status in sorted(answer.status.items())},
        "options": _options(query),
        "time": core.now(),
    }
    folder = core.folder / FOLDER
    # Where nothing can be written, the answer is given all the same.
    with suppress(StorageError), folder_lock(folder, mode=0o700, wait_seconds=WAIT_SECONDS):
        # Decided under the lock under which an erasure and `log_questions` remove questions.
        is_before_erasure = graph.generation != core.receipts.generation()
        is_always = core.local.log_questions is LogQuestions.ALWAYS
        if is_always and not is_before_erasure and query.text is not None:
            line["question"] = query.text
        _log(folder).append(line)


def slow_questions(folder: Path | None) -> Iterator[dict[str, Any]]:
    """Yields the slow questions of a repository's folder, oldest first; lines without all of the
    fields are left out."""
    if folder is not None:
        yield from (line for line in _log(folder / FOLDER).lines() if line.keys() >= _FIELDS)


def has_questions(folder: Path | None) -> bool:
    """Returns whether the log has the text of a question, be it in a line that was cut off."""
    if folder is None:
        return False
    parts = (folder / FOLDER).glob("slow.*")
    return any(b'"question"' in (read_file(path) or b"") for path in parts)


class Timer:
    """Seconds that were spent in a generator, without those of who reads it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, steps: Generator[T, None, R]) -> Generator[T, None, R]:
        """Yields what a generator yields, and returns its result."""
        while True:
            start = perf_counter()
            try:
                one = next(steps)
            except StopIteration as end:
                result: R = end.value
                return result
            finally:
                self.seconds += perf_counter() - start
            yield one


def _operation(answer: Answer[Any]) -> str:
    packs = answer.query.packs
    if packs is not None:
        return "packs" if packs.sources is None else "context"
    return "records" if answer.query.records is not None else "retrieve"


def _options(query: Query) -> list[str]:
    """Returns the names of the fields of a query that differ from one with nothing but its text,
    where nothing is configured."""
    from ibidem.objects.config import Config
    from ibidem.retrieve.query.match import requested_options
    from ibidem.retrieve.query.query import resolve

    plain = resolve(Config(), text=query.text or "any")
    if query.text is None:
        plain = replace(plain, text=None, mentions=None)
    form = plain.form()
    return sorted(
        name
        for name, value in query.form().items()
        if requested_options(name, form.get(name)) != requested_options(name, value)
    )


def _log(folder: Path) -> LineLog:
    from ibidem.store.line_log import LineLog

    return LineLog(folder / FILE, bytes_max=BYTES_MAX)
