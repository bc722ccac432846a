"""Records one run of the agent into `recorded.car`: `python record.py`.

The file holds all that a replay needs: what was asked and answered, and the states of the memory.
"""

from __future__ import annotations

from pathlib import Path

from agent import work
from scripted import QUESTIONS, ScriptedModel, fill

import ibidem

FILE = Path(__file__).with_name("recorded.car")
BEGUN = 1_767_225_600_000_000
"""Microseconds since 1970: the same recording gives the same file."""


def record(file: Path = FILE) -> list[str]:
    """Lets the agent work on a new memory, writes the run into a file, and returns the answers."""
    with ibidem.init("memory:", clock=lambda: BEGUN) as repo:
        fill(repo)
        with repo.runs.start("support", agent="scripted-1", task="answer customers") as run:
            answers = work(run, QUESTIONS, ScriptedModel())
        file.unlink(missing_ok=True)
        repo.runs.open("support").export(file)
    return answers


if __name__ == "__main__":
    for question, answer in zip(QUESTIONS, record(), strict=True):
        print(f"{question}\n  {answer}")
