"""Hostile copies: repositories that are valid but for what an attacker changed, asked everything.

    python -m tests.fuzz.mutator --minutes 30 --seed 1 --jobs 4
    python -m tests.fuzz.mutator --case found/NAME      # what was saved, once more

A copy of a repository that is rich in every feature (`rich`) is read as values, changed
(`mutations`), and written with the hashes that follow (`graph`), so that every check of hashes
passes. It is taken into a repository by `repo import`, `clone`, `pull` from a file or a push over
HTTP, alone or onto what is there (`cases`). Then it is either

- refused with a typed error, and nothing has changed, except that a fetch may have carried out the
  erasures of the copy: then what is there is what these alone leave; or
- let in, and `fsck` finds nothing, and every command and every public method (`commands`) ends
  with success or a typed error, within 5 s of processor time and 500 MB (`limits`), without a
  character that steers a terminal; and after every command that changes something `fsck` finds
  nothing.

Everything else is a finding. A finding is told by its kind, the command and the place in the code;
of each the smallest case is saved, after changes that it does not need were left out. Case N of
seed S is the same in every run. At the end a table says, for each kind of change, how many copies
were let in and why the others were not: a change that is never let in finds nothing.

Each case runs in a child of a process that has only imported modules, so a case cannot disturb
another one, and a limit ends one case.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing import Pipe, Process
from pathlib import Path
from typing import Any

from tests.tools.modules import modules

from . import limits
from .cases import Case, changed, work, written
from .rich import copies

FOUND = Path("build/fuzz-found")


@dataclass
class Tally:
    """What was seen."""

    cases: int = 0
    accepted: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    tried: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By (name of the change, outcome)."""
    forms: Counter[tuple[str, str]] = field(default_factory=Counter)
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The first fault of each signature, with how often it came."""

    def add(self, other: Tally) -> None:
        """Adds what another process has seen."""
        self.cases += other.cases
        self.accepted += other.accepted
        self.asked += other.asked
        self.tried += other.tried
        self.forms += other.forms
        for signature, fault in other.found.items():
            known = self.found.setdefault(signature, {**fault, "count": 0})
            known["count"] += fault["count"]


def sources(folder: Path | None = None) -> dict[str, bytes]:
    """Returns the valid copies; made in a child, so that this process stays as it is."""
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "copies"
        target.mkdir()

        def write(child: limits.Child) -> None:
            for one, data in copies(Path(name)).items():
                (target / f"{one}.car").write_bytes(data)

        for event in limits.run(write):
            if event["event"] == "fault":
                raise RuntimeError(event["trace"] or event["error"])
        return {path.stem: path.read_bytes() for path in sorted(target.glob("*.car"))}


def warm() -> None:
    """Imports every module of the product, so that a child need not."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in modules():
        if not name.endswith("engine_cbrrr"):
            importlib.import_module(name)


def run_case(
    found: dict[str, bytes], *, seed: str | None = None, case: Case | None = None
) -> Iterator[limits.Event]:
    """Runs one case in a child and yields what it says."""
    yield from limits.run(lambda child: work(child, found, seed, case))


def signature(fault: limits.Event) -> str:
    """Returns what makes two faults one: the kind, the command, the error, the place."""
    what, place = _command(fault["what"]), limits.where(fault["trace"])
    error = re.sub(
        r"[0-9a-f]{8,}|[0-9]+|b[a-z2-7]{20,}|'.*?'", "#", fault["error"].partition("\n")[0]
    )
    parts = [fault["kind"], what]
    if fault["kind"] in ("untyped", "died"):
        parts = [fault["kind"], error.partition(":")[0], re.sub(r":\d+ ", " ", place)]
    elif fault["kind"] == "terminal":
        parts = [fault["kind"], "--json" if "--json" in fault["what"] else what]
    elif fault["kind"] == "fsck":
        after = "let in" if "let in" in fault["what"] else "after a command"
        parts = [fault["kind"], after, fault["error"].partition(":")[0]]
    return " | ".join(parts)


def _command(what: str) -> str:
    try:
        given = json.loads(what)
    except ValueError:
        return what
    while given and given[0] == "-R":
        given = given[2:]
    words = given[:2] if given and given[0] in _GROUPS else given[:1]
    return " ".join(word for word in words if not word.startswith("-"))


_GROUPS = (
    *("node", "edge", "thread", "memory", "trust", "receipt", "run", "snapshot", "remote", "key"),
    *("bisect", "embed"),
)


def search(
    found: dict[str, bytes], seeds: Iterator[str], *, until: float, save: Path | None
) -> Tally:
    """Runs the cases of seeds until a moment of the monotonic clock."""
    tally = Tally()
    for seed in seeds:
        if time.monotonic() > until:
            break
        tally.cases += 1
        case: Case | None = None
        done: list[Any] = []
        for event in run_case(found, seed=seed):
            match event["event"]:
                case "tried":
                    tally.tried[event["name"], event["outcome"]] += 1
                    tally.forms[event["form"], event["outcome"] or "accepted"] += 1
                case "case":
                    case, done = Case.of(event["case"]), event["done"]
                case "accepted":
                    tally.accepted += 1
                case "asked":
                    tally.asked[event["name"]] += 1
                case "fault":
                    is_late = time.monotonic() > until
                    _keep(tally, found, seed, case, done, event, save, is_late=is_late)
    return tally


def _keep(
    tally: Tally,
    found: dict[str, bytes],
    seed: str,
    case: Case | None,
    done: list[Any],
    fault: limits.Event,
    save: Path | None,
    *,
    is_late: bool,
) -> None:
    """Counts a fault; of a new one, saves the case, made smaller where there is time."""
    name = signature(fault)
    if name in tally.found:
        tally.found[name]["count"] += 1
        return
    place = limits.where(fault["trace"])
    tally.found[name] = {**fault, "place": place, "seed": seed, "done": done, "count": 1}
    if save is None:
        return
    folder = save / re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:100]
    if (folder / "case.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder, found, case, {**fault, "seed": seed, "place": place, "done": done})
    if case is not None and not is_late:
        smaller = _smaller(found, case, name, fault["what"])
        changes = changed(smaller, found)[1]
        tally.found[name].update(done=changes, case=smaller.to_json())
        _write(folder, found, smaller, {**tally.found[name], "done": changes})


def _smaller(found: dict[str, bytes], case: Case, name: str, what: str) -> Case:
    """Returns a case with fewer changes and commands that shows the same fault."""
    asked = "library" if what[:1].isupper() or what.startswith("recall ") else _command(what)
    alone = replace(case, asked=(asked,))
    if _shows(found, alone, name):
        case = alone
    for number in case.changes:
        changes = tuple(one for one in case.changes if one != number)
        if changes and _shows(found, replace(case, changes=changes), name):
            case = replace(case, changes=changes)
    return case


def _shows(found: dict[str, bytes], case: Case, name: str) -> bool:
    """Tells whether a case shows a fault of a signature."""
    events = run_case(found, case=case)
    return any(event["event"] == "fault" and signature(event) == name for event in events)


def _write(folder: Path, found: dict[str, bytes], case: Case | None, fault: dict[str, Any]) -> None:
    fields = {"fault": fault, "case": None if case is None else case.to_json()}
    (folder / "case.json").write_text(json.dumps(fields, indent=1, sort_keys=True) + "\n")
    if case is not None:
        (folder / "copy.car").write_bytes(written(changed(case, found)[0]))


def report(tally: Tally) -> str:
    """Returns the tables: changes and what became of them, commands, findings."""
    lines = [
        f"{tally.cases} cases, {tally.accepted} let in, {sum(tally.asked.values())} calls",
        "",
    ]
    names = sorted({name for name, _ in tally.tried})
    lines.append(f"{'change':<18}{'let in':>8}{'refused':>9}  why")
    for name in names:
        outcomes = Counter({why: count for (one, why), count in tally.tried.items() if one == name})
        let_in = outcomes.pop("accepted", 0)
        whys = ", ".join(f"{why} {count}" for why, count in outcomes.most_common(5))
        lines.append(f"{name:<18}{let_in:>8}{sum(outcomes.values()):>9}  {whys}")
    lines += ["", f"{'form':<18}{'let in':>8}{'refused':>9}"]
    for form in sorted({form for form, _ in tally.forms}):
        outcomes = Counter({why: count for (one, why), count in tally.forms.items() if one == form})
        let_in = outcomes.pop("accepted", 0)
        lines.append(f"{form:<18}{let_in:>8}{sum(outcomes.values()):>9}")
    lines += ["", f"{len(tally.found)} findings"]
    for name, fault in sorted(tally.found.items(), key=lambda one: (-one[1]["count"], one[0])):
        lines.append(f"{fault['count']:>5}  {name}")
        lines.append(
            f"       seed {fault['seed']!r}, {fault.get('place', '')}, {fault['what'][:160]}"
        )
        lines.append(f"       {fault['error'][:200]}; changes {fault['done']}")
    return "\n".join(lines)


def seeds_of(seed: int, job: int = 0, jobs: int = 1) -> Iterator[str]:
    """Yields the seeds of one of several jobs, which together have every number once."""
    number = job
    while True:
        yield f"{seed} {number}"
        number += jobs


def search_in_jobs(
    seed: int,
    *,
    jobs: int,
    seconds: float,
    save: Path | None,
    found: dict[str, bytes],
    cases_max: int | None = None,
) -> Tally:
    """Runs cases for some seconds in several processes, the first `cases_max` of the seed at most
    (a multiple of `jobs`)."""
    warm()
    until = time.monotonic() + seconds
    each_max = None if cases_max is None else cases_max // jobs
    if jobs == 1:
        return search(found, islice(seeds_of(seed), each_max), until=until, save=save)
    tally, pipes, workers = Tally(), [], []
    for job in range(jobs):
        receiver, sender = Pipe(duplex=False)

        def job_of(job: int = job, sender: Any = sender) -> None:
            seeds = islice(seeds_of(seed, job, jobs), each_max)
            sender.send(search(found, seeds, until=until, save=save))

        worker = Process(target=job_of)
        worker.start()
        sender.close()
        pipes.append(receiver)
        workers.append(worker)
    for receiver, worker in zip(pipes, workers, strict=True):
        tally.add(receiver.recv())
        worker.join()
    return tally


def main() -> int:
    """Searches, or runs a case that was saved."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.mutator")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--found", type=Path, default=FOUND, help="where findings are saved")
    parser.add_argument(
        "--case", type=Path, help="a folder that was saved, or a seed such as '1 7'"
    )
    arguments = parser.parse_args()
    found = sources()
    if arguments.case is not None:
        return _again(found, arguments.case)
    tally = search_in_jobs(
        arguments.seed,
        jobs=arguments.jobs,
        seconds=arguments.minutes * 60,
        save=arguments.found,
        found=found,
    )
    print(report(tally))
    return 1 if tally.found else 0


def _again(found: dict[str, bytes], place: Path) -> int:
    warm()
    case, seed = None, str(place)
    if (place / "case.json").exists():
        case = Case.of(json.loads((place / "case.json").read_text())["case"])
    faults = 0
    for event in run_case(found, seed=seed, case=case):
        if event["event"] in ("case", "tried"):
            print(json.dumps(event))
        elif event["event"] == "fault":
            faults += 1
            print(f"{signature(event)}\n{event['what']}\n{event['error']}\n{event['trace']}")
    print(f"{faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
