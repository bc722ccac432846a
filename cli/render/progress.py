"""Shows the advance of long work on standard error, apart from data.

On a terminal a bar with an estimate of the remaining time, elsewhere a line after a second, and
one every few seconds. Nothing is shown for work that ends within a second, with `--quiet` or with
`--json`. rich is loaded only when a bar is drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ibidem.cli.render import output

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

SHORT_S = 1.0
"""Work that takes no longer is not shown."""
LINE_S = 5.0
"""Time between two lines where there is no terminal."""


@dataclass
class Meter:
    """Shows one piece of work after the other; an `objects.progress.Progress`."""

    is_shown: bool
    is_terminal: bool
    is_colored: bool
    clock: Callable[[], float] = time.monotonic
    """Seconds."""
    _work: str = ""
    _began: float = 0.0
    _shown: float = 0.0
    _bar: tuple[Bar, TaskID] | None = field(default=None)

    def __call__(self, work: str, done: int, total: int | None) -> None:
        """Shows the state of some work, as `Progress` is called."""
        if not self.is_shown:
            return
        now = self.clock()
        if work != self._work:
            self.stop()
            self._work, self._began, self._shown = work, now, now - LINE_S
        if done == total:
            self.stop()
        elif now - self._began >= SHORT_S:
            if self.is_terminal:
                self._draw(work, done, total)
            elif now - self._shown >= LINE_S:
                self._shown = now
                output.note(_line(work, done, total, now - self._began))

    def stop(self) -> None:
        """Removes the bar, if there is one."""
        self._work = ""
        if self._bar is not None:
            self._bar[0].stop()
            self._bar = None

    def _draw(self, work: str, done: int, total: int | None) -> None:
        if self._bar is None:
            self._bar = self._new_bar(work, total)
        bar, task = self._bar
        bar.update(task, completed=done, total=total)

    def _new_bar(self, work: str, total: int | None) -> tuple[Bar, TaskID]:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True, no_color=not self.is_colored),
            transient=True,
        )
        bar.start()
        return bar, bar.add_task(work, total=total)


def _line(work: str, done: int, total: int | None, elapsed_s: float) -> str:
    if total is None or not done:
        return f"{work}: {done:,}"
    remaining_s = elapsed_s * (total - done) / done
    return (
        f"{work}: {done:,} of {total:,} ({done * 100 // total} %), about {remaining_s:,.0f} s left"
    )
