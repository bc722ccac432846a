"""Refs: names that point to commits, runs and receipts, in a tree of ref blocks inside the view.

Examples of full names are `heads/NAME`, `tags/NAME` and `refs/NAME`. Refs under `runs/` and
`receipts/` record the past: undo does not affect them. Names are lower-case ASCII, so that no two
of them look alike on any system. A ref contains the number of its moves and its previous target.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import Cid, TreeCid
from ibidem.objects.derive import ref_key
from ibidem.objects.errors import (
    UNREADABLE,
    CorruptError,
    IbidemError,
    InvalidInputError,
)
from ibidem.objects.tree import Tree, diff, mutate
from ibidem.objects.view import RECEIPTS, RUNS, Ref, View

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source, WriteBatch

HEADS = "heads/"
TAGS = "tags/"
OWN = "refs/"
"""Refs of users, which move where they are set."""
DEFAULT_BRANCH = "main"
NAME_BYTES_MAX = 255
_NAME = r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*"
_CID_LIKE = r"bafy[a-z2-7]{4,}|bafk[a-z2-7]{4,}"


def check_name(field: str, name: object) -> str:
    """Returns the short name of a branch or tag.

    Raises:
        InvalidInputError: it is not lower-case ASCII letters, digits and `. _ - /` in the form
            `part/part`, each part beginning with a letter or digit; or it is too long, contains
            `..`, has a part that ends with `.` or `.lock`, begins as a full name does, or could be
            taken for the beginning of a CID.
    """
    expected = "lower-case letters, digits and . _ - /, such as 'feature/retries'"
    if not isinstance(name, str) or not re.fullmatch(_NAME, name) or len(name) > NAME_BYTES_MAX:
        raise InvalidInputError(f"{field}: got {name!r:.80}, expected {expected}")
    parts = name.split("/")
    if ".." in name or any(part.endswith((".", ".lock")) for part in parts):
        raise InvalidInputError(
            f"{field}: got {name!r:.80}, expected no '..' and no part that ends with '.' or '.lock'"
        )
    if name.startswith((HEADS, TAGS, OWN, RUNS, RECEIPTS)) or re.fullmatch(_CID_LIKE, name):
        raise InvalidInputError(
            f"{field}: got {name!r:.80}, expected what cannot be taken for a CID or a full name"
        )
    return name


def read(source: Source, view: View, full_name: str) -> Ref | None:
    """Returns the ref of that full name, None if there is none."""
    if not full_name.isascii():  # as no name is, and lone surrogates have no bytes
        return None
    cid = Tree(source, view.refs).get(ref_key(full_name))
    if cid is None:
        return None
    ref = Ref.decode(source.get(cid))
    if ref.name != full_name:
        raise CorruptError(f"ref: got {ref.name!r:.80}, expected {full_name!r:.80} at its key")
    return ref


class Targets(dict[str, Any]):
    """Short names of refs with their targets, by name."""

    def __init__(
        self,
        targets: Mapping[str, Any],
        damaged: Sequence[IbidemError] = (),
    ) -> None:
        super().__init__(targets)
        self.damaged = tuple(damaged)
        """For each ref of any prefix that cannot be read, why: its block is damaged or missing, or
        a newer program wrote it. Its key does not tell its name, so the error names its block where
        the name is not found elsewhere."""

    def whole(self) -> dict[str, Any]:
        """Returns the targets as a plain `dict`; raises the first error of `damaged`."""
        for error in self.damaged:
            raise error
        return dict(self)


def listed(source: Source, view: View, prefix: str) -> dict[str, Any]:
    """Returns the short names under a prefix, such as `heads/` or `runs/`, with their targets, by
    name; raises if any ref of the view cannot be read.
    """
    return readable(source, view, prefix).whole()


def readable(source: Source, view: View, prefix: str) -> Targets:
    """Returns the same of the refs that can be read, and why the others cannot."""
    targets: dict[str, Any] = {}
    damaged: list[IbidemError] = []
    for key, cid in Tree(source, view.refs).items():
        try:
            ref = Ref.decode(source.get(cid))
        except UNREADABLE as error:
            shown = name_at(source, view, key) or cid
            damaged.append(type(error)(f"ref {shown}: {error}", kind=error.kind, hint=error.hint))
            continue
        if ref.name.startswith(prefix):
            targets[ref.name] = ref.target
    return Targets({name[len(prefix) :]: targets[name] for name in sorted(targets)}, damaged)


def name_at(source: Source, view: View, key: bytes) -> str | None:
    """Returns the full name of a ref whose block cannot be read, by its key; None if it is neither
    the current branch nor read in an older view, where it had another target."""
    if ref_key(view.head) == key:
        return view.head
    with suppress(*UNREADABLE):
        while view.previous is not None:
            view = View.decode(source.get(view.previous))
            cid = Tree(source, view.refs).get(key)
            if cid is None:
                break
            with suppress(*UNREADABLE):
                return Ref.decode(source.get(cid)).name
    return None


def changed(view: View, moves: Mapping[str, Cid | None], buffer: WriteBatch) -> TreeCid:
    """Returns the refs tree with each full name at its new target, or removed if that is None."""
    edits: dict[bytes, Cid | None] = {}
    for full_name, target in moves.items():
        before = read(buffer, view, full_name)
        if target is None:
            edits[ref_key(full_name)] = None
            continue
        ref = Ref(
            full_name,
            target,
            seq=0 if before is None else before.seq + 1,
            previous=None if before is None else before.target,
        )
        block = ref.encode()
        cid = type(ref.cid).of(block)
        buffer.put(cid, block)
        edits[ref_key(full_name)] = cid
    return mutate(view.refs, edits, buffer)


def with_records_of(now: TreeCid, restored: TreeCid, buffer: WriteBatch) -> TreeCid:
    """Returns the refs tree `restored` with runs and kept receipts as they are in `now`."""
    edits = {
        key: after
        for key, before, after in diff(buffer, restored, now)
        if _is_record(buffer, before or after)
    }
    return mutate(restored, edits, buffer)


def is_only_records(source: Source, before: TreeCid, after: TreeCid) -> bool:
    """Returns whether two refs trees differ, and only in runs and kept receipts."""
    return before != after and all(
        _is_record(source, was or now) for _, was, now in diff(source, before, after)
    )


def _is_record(source: Source, cid: Cid | None) -> bool:
    assert cid is not None, "BUG: a difference without a side"
    return Ref.decode(source.get(cid)).name.startswith((RUNS, RECEIPTS))
