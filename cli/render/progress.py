"""A progress bar on a terminal, nothing in a pipe.

It is drawn on standard error, apart from data, and rich is loaded only when it is drawn.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ibidem.cli.session import Session

Advance = Callable[[int, int | None], None]
"""Called with the amount done and the total, None if unknown."""


@contextmanager
def progress_bar(session: Session, title: str) -> Iterator[Advance]:
    """Shows a bar with this title until the block ends, then removes it."""
    if session.json or not sys.stderr.isatty() or session.environment.get("TERM") == "dumb":
        yield _ignore
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, no_color=not session.colored(sys.stderr))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _ignore(_done: int, _total: int | None) -> None:
    return None
