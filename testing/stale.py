"""Tracks the goldens that a session used, in order to report unused ones. Only modules of which
every collected test ran are considered, and only tests that passed: a skipped, deselected or failed
test may not have reached its checks. Standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ibidem.objects.record import record


@dataclass(frozen=True, slots=True)
class Stale:
    """A golden file, or one check in it, that nothing uses."""

    path: Path
    reason: str
    check: str | None = None
    """Of a file that is used otherwise."""


@record(frozen=False)
class Ledger:
    """What was collected, what ran and what it used, in one process or in several."""

    collected: dict[str, dict[str, str]] = field(default_factory=dict)
    """By module, by test, its golden file."""
    partial: set[str] = field(default_factory=set)
    """Modules of which not every test was selected."""
    finished: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    used: dict[str, list[str]] = field(default_factory=dict)
    """By golden file, the names of its checks."""
    written: set[str] = field(default_factory=set)
    reported: list[Any] = field(default_factory=list)
    """For `--retrieval-report`, each check as `report.Reported`."""

    def collect(self, module: str, test: str, path: Path) -> None:
        """Notes a test that is going to run."""
        self.collected.setdefault(module, {})[test] = str(path)

    def use(self, path: Path, names: list[str], *, is_written: bool) -> None:
        """Notes the checks that a test made."""
        if names:
            self.used[str(path)] = names
        if is_written:
            self.written.add(str(path))

    def account(self) -> dict[str, Any]:
        """Returns the record for another process, as plain lists and maps."""
        return {
            "collected": self.collected,
            "partial": sorted(self.partial),
            "finished": sorted(self.finished),
            "passed": sorted(self.passed),
            "used": self.used,
            "written": sorted(self.written),
            "reported": self.reported,
        }

    def merge(self, account: dict[str, Any]) -> None:
        """Merges the record of another process."""
        self.collected.update(account["collected"])
        self.used.update(account["used"])
        self.reported += account["reported"]
        for name in ("partial", "finished", "passed", "written"):
            getattr(self, name).update(account[name])

    def stale(self, directory: str) -> list[Stale]:
        """Returns the unused goldens, by path.

        Args:
            directory: the name of the folder of goldens beside the tests.
        """
        found: dict[Path, list[Stale]] = {}
        for module, tests in self.collected.items():
            if module in self.partial or not self.finished.issuperset(tests):
                continue
            path = Path(module)
            goldens = path.parent / directory
            for one in (*self._of_module(goldens / path.stem, tests), *_of_gone_modules(goldens)):
                entries = found.setdefault(one.path, [])
                if one not in entries:
                    entries.append(one)
        return [one for path in sorted(found) for one in found[path]]

    def _of_module(self, folder: Path, tests: dict[str, str]) -> Iterator[Stale]:
        owners = {path: test for test, path in tests.items()}
        for path in sorted(folder.glob("*.txt")):
            owner = owners.get(str(path))
            if owner is None:
                yield Stale(path, "there is no such test")
            elif owner in self.passed and str(path) not in self.used:
                yield Stale(path, "its test checks nothing")
            elif owner in self.passed:
                for name in _names(path):
                    if name not in self.used[str(path)]:
                        yield Stale(path, "its test does not make this check", name)


def remove(stale: list[Stale]) -> None:
    """Deletes unused files, and folders that become empty."""
    for one in stale:
        if one.check is None:
            one.path.unlink(missing_ok=True)
            for folder in one.path.parents[:2]:
                with suppress(OSError):
                    folder.rmdir()


def _of_gone_modules(goldens: Path) -> Iterator[Stale]:
    for folder in sorted(goldens.glob("*/")):
        if not (goldens.parent / f"{folder.name}.py").exists():
            for path in sorted(folder.glob("*.txt")):
                yield Stale(path, "there is no such module")


def _names(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        if line.startswith("check "):
            with suppress(ValueError):
                yield json.loads(line.removeprefix("check "))
