"""Compares an answer with its golden: the modes, and the report of differences. A failure lists
first what moved, then the commit that moved it, then the bytes that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from ibidem.objects.errors import IbidemError, InvalidInputError
from ibidem.objects.record import record
from ibidem.repo.history.ancestry import first_parents, read_ends
from ibidem.repo.history.bisect import search_answers
from ibidem.repo.history.compare import Ask, Cause, MoveKind, compare, placed
from ibidem.repo.history.diff_format import cause_lines, move_lines
from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.query.match import requested_options
from ibidem.retrieve.query.vector import VECTOR_OPTIONS
from ibidem.testing.golden import Check, answer_digest

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source
    from ibidem.objects.cid import CommitCid
    from ibidem.repo.core import Core
    from ibidem.repo.graph import Graph
    from ibidem.repo.history.ancestry import CommitEnds


OTHER_QUESTION = "the question is not the recorded one"


class ModeName(StrEnum):
    """How similar two answers must be."""

    EXACT = "exact"
    RANKS = "ranks"
    SET = "set"
    TOLERANCE = "tolerance"


@dataclass(frozen=True, slots=True)
class Mode:
    """How similar two answers must be. The numbers are for `tolerance`."""

    name: ModeName = ModeName.EXACT
    score: float | None = None
    """Maximal difference of a score; None for any."""
    moved: int = 1
    """Maximal number of ranks that an item may move."""
    left: int = 0
    """Maximal number of items that may leave, and that may enter."""

    @classmethod
    def of(cls, name: str, tolerance: Mapping[str, Any] | None = None) -> Mode:
        """Returns the mode of a name; `tolerance` has some of `score`, `moved` and `left`.

        Raises:
            InvalidInputError: there is no such mode, or no such number.
        """
        if name not in list(ModeName):
            raise InvalidInputError(f"mode: got {name!r}, expected one of {', '.join(ModeName)}")
        given = dict(tolerance or {})
        if given and name != ModeName.TOLERANCE:
            raise InvalidInputError(f"tolerance: got one with mode {name!r}, expected 'tolerance'")
        for key, value in given.items():
            is_count = key in ("moved", "left") and type(value) is int and value >= 0
            is_score = key == "score" and (
                value is None or (isinstance(value, int | float) and value >= 0)
            )
            if not is_count and not is_score:
                raise InvalidInputError(
                    f"tolerance.{key}: got {value!r}, "
                    "expected a score, or whole numbers moved and left, from 0 on"
                )
        return cls(ModeName(name), **given)

    def form(self) -> dict[str, Any]:
        """Returns the mode in the form of a golden."""
        if self.name is not ModeName.TOLERANCE:
            return {"name": str(self.name)}
        numbers = {"score": self.score, "moved": self.moved, "left": self.left}
        return {"name": str(self.name), **numbers}

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> Mode:
        """Returns the mode recorded in a golden."""
        return cls.of(form["name"], {key: form[key] for key in form if key != "name"})

    def accepts(self, check: Check, result: Answer[Any]) -> bool:
        """Returns whether an answer agrees with the recorded one in this mode."""
        old = [item.id for item in check.items]
        new = [item.id for item in placed(result)]
        match self.name:
            case ModeName.EXACT:
                return check.answer == answer_digest(result)
            case ModeName.RANKS:
                return old == new
            case ModeName.SET:
                return set(old) == set(new)
            case ModeName.TOLERANCE:
                return self._tolerates(check, result)

    def _tolerates(self, check: Check, result: Answer[Any]) -> bool:
        moves = compare(check.items, placed(result))
        kinds = [move.kind for move in moves]
        if max(kinds.count(MoveKind.LEFT), kinds.count(MoveKind.ENTERED)) > self.left:
            return False
        for move in moves:
            before, after = move.before, move.after
            if before is None or after is None:
                continue
            if abs(before.rank - after.rank) > self.moved:
                return False
            if self.score is not None and abs(before.score - after.score) > self.score:
                return False
        return True


def question_differences(check: Check, result: Answer[Any], mode: Mode) -> list[str]:
    """Returns how the question differs from the recorded one; other vectors only if exact. Rules of
    the release alone make no other question: what they change shows in the answer."""
    old, new = (
        {name: requested_options(name, value) for name, value in query.form().items()}
        for query in (check.query, result.query)
    )
    if mode.name is not ModeName.EXACT:
        old, new = _without_vectors(old), _without_vectors(new)
    old.pop("semantics", None)
    new.pop("semantics", None)
    return [
        f"{name}: {_short(one)} -> {_short(other)}" for name, one, other in _differing(old, new)
    ]


def _differing(
    old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Yields the values that differ, by name; of two maps only those in them that do."""
    for name in sorted({**old, **new}):
        one, other = old.get(name), new.get(name)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from _differing(one, other, f"{prefix}{name}.")
        elif one != other:
            yield f"{prefix}{name}", one, other


@record
class Responsible:
    """The first commit at which an answer differs from the recorded one."""

    cause: Cause | None
    """What it changed; None if no commit can be named."""
    note: str
    """How far back it is and how it was found, or why no commit can be named."""


def failure(
    check: Check,
    result: Answer[Any],
    found: Responsible,
    store: Source,
    question_changes: Sequence[str] = (),
) -> list[str]:
    """Returns lines on what changed, in which commit, and which bytes differ.

    Args:
        check: the recorded answer.
        result: the new answer.
        found: the responsible commit.
        store: has the blocks of the commit.
        question_changes: how the question differs from the recorded one.
    """
    lines = []
    if question_changes:
        lines += [OTHER_QUESTION, *(f"  {line}" for line in question_changes), ""]
    lines += [
        f"  {line}" for line in move_lines(compare(check.items, placed(result, is_located=True)))
    ]
    lines += [f"  {name}: {old} -> {new}" for name, old, new in changed_facts(check, result)]
    if not lines or lines[-1]:
        lines.append("")
    if found.cause is None:
        lines += found.note.split("\n")
    else:
        first, *rest = cause_lines(store, [found.cause])
        lines += [f"caused by {first}", f"  {found.note}", *rest]
    return [*lines, "", *_bytes(check, result)]


def responsible(
    check: Check, result: Answer[Any], mode: Mode, *, repository: Core, at: Graph, ask: Ask
) -> Responsible:
    """Returns the first commit at which the answer differs from the recorded one.

    If the question differs too, the first commit at which it does is searched: a question has the
    options that it leaves out from the configuration, which a commit may change.

    The search goes back to the commit, or the root, that the golden names; where the history has
    neither, to the nearest commit, 1, 2, 4, ... back, that gives the recorded answer.

    Args:
        check: the recorded answer.
        result: the new answer.
        mode: the mode that rejects it.
        repository: the source of the answer.
        at: its revision.
        ask: returns the answer at a revision.
    """
    asks = question_differences(check, result, mode)
    if check.root == result.root:
        why = "no commit caused this, the program did;\nrun 'repo doctor --full'"
        return Responsible(
            None, f"the root is the recorded one: {'the test was changed' if asks else why}"
        )
    unknown = "no commit can be named: "
    if at.commit is None:
        return Responsible(None, f"{unknown}this revision has none")
    line = dict(first_parents(partial(read_ends, repository.store), at.commit.cid))
    cids = list(line)
    weakest = _weakest(check, result, mode)

    def holds(answer: Answer[Any]) -> bool:
        if asks:
            return not question_differences(check, answer, mode)
        return weakest.accepts(check, answer)

    good = _recorded_at(check, line)
    bad = 0
    if asks:
        if good is None:
            return Responsible(None, f"{unknown}the history does not have the recorded one")
        try:
            is_test = not holds(ask(repository.graph(cids[good])))
        except IbidemError:
            is_test = True
        if is_test:
            why = "the test was changed: it asks this at the recorded commit, too"
            return Responsible(None, why)
    elif good is None:
        bad, good = _nearest(lambda one: holds(ask(repository.graph(one))), cids)
    if good is None:
        why = "no earlier commit tested gives the recorded answer"
        return Responsible(None, unknown + why)
    found = search_answers(
        repository, ask, holds, cids[bad:good][::-1], cids[good], is_last_bad=True
    )
    if found.first_bad is None or found.cause is None:
        return Responsible(None, f"{unknown}every commit tested gives the recorded answer")
    assert found.cause.commit == found.first_bad, "BUG: another commit is explained"
    back = cids.index(found.first_bad.cid)
    distance = "the newest commit" if back == 0 else f"{back} back"
    count = len(found.steps)
    effort = f", found by asking {count} more commit{'s' * (count > 1)}" if count else ""
    return Responsible(found.cause, distance + effort)


def _weakest(check: Check, result: Answer[Any], mode: Mode) -> Mode:
    """Returns the least demanding mode that fails too: a changed rank matters more than a score."""
    if mode.name is not ModeName.TOLERANCE:
        for name in (ModeName.SET, ModeName.RANKS):
            if not Mode(name).accepts(check, result):
                return Mode(name)
    return mode


def _recorded_at(check: Check, line: Mapping[CommitCid, CommitEnds]) -> int | None:
    by_commit = (index for index, cid in enumerate(line) if cid == check.commit)
    by_root = (index for index, ends in enumerate(line.values()) if ends.root == check.root)
    found = next(by_commit, None)
    return next(by_root, None) if found is None else found


def _nearest(
    holds: Callable[[CommitCid], bool], line: Sequence[CommitCid]
) -> tuple[int, int | None]:
    """Returns the last place that fails and the first that holds, 1, 2, 4, ... back."""
    bad, step = 0, 1
    while bad < len(line) - 1:
        position = min(step, len(line) - 1)
        if holds(line[position]):
            return bad, position
        bad, step = position, 2 * step
    return bad, None


def changed_facts(check: Check, result: Answer[Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yields the values beside the items that differ: name, recorded value, new value."""
    warnings = tuple(str(warning.code) for warning in result.warnings)
    pairs = (
        ("tokens together", check.tokens_used, result.tokens_used),
        ("candidates", check.candidates_seen, result.candidates_seen),
        ("left out", dict(check.dropped_counts), dict(result.dropped_counts)),
        ("warnings", list(check.warnings), list(warnings)),
    )
    for name, old, new in pairs:
        if old != new:
            yield name, old, new


def _bytes(check: Check, result: Answer[Any]) -> Iterator[str]:
    receipt = "-" if result.receipt is None else str(result.receipt.cid)
    pairs = (
        ("answer", check.answer, answer_digest(result)),
        ("root", str(check.root), str(result.root)),
        ("receipt", str(check.receipt or "-"), receipt),
    )
    for name, old, new in pairs:
        if old == new:
            yield f"{name:<8} {old}, as recorded"
        else:
            yield f"{name:<8} {old}"
            yield f"{'':8} {new} now"


def _without_vectors(form: dict[str, Any]) -> dict[str, Any]:
    kept = dict(form)
    for name, option in VECTOR_OPTIONS.items():
        if kept.get(name):
            kept[name] = kept[name][option.name]
    return kept


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:99] + "…"
