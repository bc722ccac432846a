"""The grammar of revisions: the ways to name a commit in any command or call.

main   heads/main   v1   tags/v1   refs/x   HEAD   a CID, or a prefix of 8 characters or more
origin/main   remotes/origin/heads/main                  where that branch of a remote was fetched
main@{2026-01-01T00:00:00Z}   2026-01-01T00:00:00Z       where that pointed then, by the local log
main@{2026-01-01}             2026-01-01                 likewise at the end of that day in UTC
any of these with ~N (N first parents back), ^ (the first parent) or ^N (the Nth parent) after it
"""

from __future__ import annotations

import re
from base64 import b32decode
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ibidem.objects.cid import CommitCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import ErrorKind, IbidemError, InvalidInputError, NotFoundError
from ibidem.objects.links import fields_of_kind
from ibidem.objects.printable import moment
from ibidem.repo import refs
from ibidem.repo.arguments import microseconds
from ibidem.repo.refs import HEADS, OWN, TAGS
from ibidem.repo.sync.names import REMOTES, tracking

if TYPE_CHECKING:
    from ibidem.repo.operation_log import OperationLog
    from ibidem.repo.state import LogEntry, State

HEAD = "HEAD"
PREFIX_CHARACTERS_MIN = 8
_CID_CHARACTERS = 59
_STEP = r"([~^])(\d{0,9})"
_DAY = r"\d{4}-\d\d(-\d\d)?([ ~^]|$)"
_DATE = r"\d{4}-\d\d-\d\d"
_DAY_US = timedelta(days=1) // timedelta(microseconds=1)
_DATED = r"(.*)@\{(.*)\}"


def resolve(operations: OperationLog, state: State, rev: object) -> CommitCid | None:
    """Returns the commit that a revision names in a state; None for a branch without commits.

    Args:
        rev: text of the grammar above, a CommitCid, or a datetime with an offset.

    Raises:
        NotFoundError: kind `revision-not-found`, or `ambiguous`.
        InvalidInputError: the text is not a revision.
    """
    if isinstance(rev, CommitCid):
        return _checked_commit(operations, rev)
    text = rev
    if isinstance(rev, datetime):
        return _at_time(operations, state, microseconds(rev))
    if not isinstance(text, str) or not text:
        raise no_revision(text)
    name, steps = _split(text)
    commit = _named(operations, state, name)
    for sign, count in steps:
        if commit is None:
            raise _not_found(text, "the branch has no commits")
        commit = _step(operations, text, commit, sign, count)
    return commit


def no_revision(rev: object) -> InvalidInputError:
    """Returns the error for a value that names no revision."""
    return InvalidInputError(
        f"revision: got {rev!r:.80}, expected a branch, tag, CID or time",
        hint="a commit is named by its cid, a time by a datetime or a text such as 2026-01-31",
    )


def time_of(text: str, name: str = "time") -> int:
    """Returns an ISO 8601 time with an offset, or the beginning of a date in UTC, in microseconds
    since 1970 UTC.

    Raises:
        InvalidInputError: a malformed time, or one without an offset; the message begins with
            `name`.
    """
    try:
        if re.fullmatch(_DATE, text):
            return microseconds(datetime.fromisoformat(f"{text}T00:00:00Z"))
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInputError(
            f"{name}: got {text!r:.80}, expected such as 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from error
    return microseconds(moment, name)


def _end_of(text: str) -> int:
    """Returns a time, the last moment of the day for a date."""
    return time_of(text) + (_DAY_US - 1 if re.fullmatch(_DATE, text) else 0)


def _split(text: str) -> tuple[str, list[tuple[str, int]]]:
    start = min(
        (at for sign in "~^" if (at := text.find(sign, text.rfind("}") + 1)) >= 0),
        default=len(text),
    )
    steps, rest = [], text[start:]
    while rest:
        match = re.match(_STEP, rest)
        if match is None:
            raise InvalidInputError(f"revision: got {text!r:.80}, expected ~N or ^N after the name")
        steps.append((match[1], int(match[2] or 1)))
        rest = rest[match.end() :]
    return text[:start], steps


def _named(operations: OperationLog, state: State, name: str) -> CommitCid | None:
    if match := re.fullmatch(_DATED, name):
        entry = _entry_at(operations, state, _end_of(match[2]))
        full_name = entry.view.head if match[1] in ("", HEAD) else None
        return _ref(operations, entry, match[1], full_name)
    if name == HEAD:
        return _ref(operations, state, name, state.view.head)
    if re.match(r"\d{4}-?\d\d-?\d\dT", name):
        return _at_time(operations, state, time_of(name))
    found = _candidates(operations, state, name)
    if found:
        return found
    if state.view.head in (name, HEADS + name):
        return None
    if re.fullmatch(_DATE, name):
        return _at_time(operations, state, _end_of(name))
    by_cid = _by_prefix(operations, name)
    if by_cid is None:
        raise _not_found(name, "no branch, tag or commit has that name")
    return by_cid


def _at_time(operations: OperationLog, state: State, time: int) -> CommitCid | None:
    entry = _entry_at(operations, state, time)
    return _ref(operations, entry, HEAD, entry.view.head)


def _checked_commit(operations: OperationLog, cid: CommitCid) -> CommitCid:
    if not operations.store.has(cid) or not _is_commit(operations.store.get(cid)):
        raise _not_found(str(cid), "no such commit is in this repository")
    return cid


def _ref(
    operations: OperationLog, entry: LogEntry, name: str, full_name: str | None
) -> CommitCid | None:
    if full_name is not None:
        ref = refs.read(operations.store, entry.view, full_name)
        return None if ref is None else ref.target
    found = _candidates(operations, entry, name)
    if found is None:
        raise _not_found(name, "no branch or tag had that name then")
    return found


def _candidates(operations: OperationLog, entry: LogEntry, name: str) -> CommitCid | None:
    if name.startswith((HEADS, TAGS, OWN)):
        return _target(operations, entry, name)
    found = [_target(operations, entry, prefix + name) for prefix in (HEADS, TAGS)]
    targets = {target for target in found if target is not None}
    if len(targets) > 1:
        raise NotFoundError(
            f"revision {name!r}: a branch and a tag have that name",
            kind=ErrorKind.AMBIGUOUS,
            hint=f"use {HEADS}{name} or {TAGS}{name}",
        )
    if targets:
        return targets.pop()
    remote, _, branch = name.removeprefix(REMOTES).partition("/")
    if not branch or entry.view.head == HEADS + name:
        return None
    return _target(operations, entry, tracking(remote, HEADS + branch.removeprefix(HEADS)))


def _target(operations: OperationLog, entry: LogEntry, full_name: str) -> CommitCid | None:
    ref = refs.read(operations.store, entry.view, full_name)
    return None if ref is None else CommitCid(ref.target.raw)


def _by_prefix(operations: OperationLog, text: str) -> CommitCid | None:
    """Returns the only commit whose CID has this prefix, None if there is none."""
    if not PREFIX_CHARACTERS_MIN <= len(text) <= _CID_CHARACTERS or not re.fullmatch(
        r"b[a-z2-7]+", text
    ):
        return None
    first = b32decode(text[1:].upper() + "A" * (_CID_CHARACTERS - len(text)) + "======")
    found: list[CommitCid] = []
    for cid in operations.store.cids(start=first):
        if not str(cid).startswith(text):
            break
        if _is_commit(operations.store.get(cid)):
            found.append(CommitCid(cid.raw))
        if len(found) > 1:
            raise NotFoundError(
                f"revision {text!r}: {found[0]} and {found[1]} both have this prefix",
                kind=ErrorKind.AMBIGUOUS,
                hint="give more characters",
            )
    return found[0] if found else None


def _is_commit(block: bytes) -> bool:
    try:
        if fields_of_kind(block, "commit") is None:
            return False
        Commit.decode(block)
    except IbidemError:
        return False
    return True


def _step(
    operations: OperationLog, text: str, commit: CommitCid, sign: str, count: int
) -> CommitCid:
    if sign == "^":
        parents = Commit.decode(operations.store.get(commit)).parents
        if count == 0:
            return commit
        if count > len(parents):
            raise _not_found(text, f"the commit has {len(parents)} parents")
        return parents[count - 1]
    for done in range(count):
        parents = Commit.decode(operations.store.get(commit)).parents
        if not parents:
            ends = (
                f"{done} commit{'s' * (done != 1)} back" if done else "there, at its first commit"
            )
            raise _not_found(text, f"the history ends {ends}")
        commit = parents[0]
    return commit


def _entry_at(operations: OperationLog, state: State, time: int) -> LogEntry:
    began = time
    for entry in operations.history(state):
        began = entry.operation.time
        if began <= time:
            return entry
    given, first = (moment(one, seconds_only=True) for one in (time, began))
    raise _not_found(given, f"the repository is younger than that: it began at {first}")


def _not_found(text: str, reason: str) -> NotFoundError:
    hint = "run 'repo log', 'repo branch' or 'repo tag' to list what exists"
    if re.match(r"bafyr?[a-z2-7]{0,2}([~^]|$)", text):
        hint = f"the beginning of a CID has {PREFIX_CHARACTERS_MIN} characters or more"
    if re.match(_DAY, text):
        hint = "a time is a date such as 2026-01-31, or 2026-01-31T12:00:00Z with an offset"
    return NotFoundError(
        f"revision {text!r:.80}: {reason}", kind=ErrorKind.REVISION_NOT_FOUND, hint=hint
    )
