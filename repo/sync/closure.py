"""Everything that some refs need: their commits, runs and receipts, with every root behind them.

The order in which this finds blocks is the order in which a receiver can check them: parents before
children, and a root before what stands in it. Sender and receiver differ in one thing only, how
they know where to stop, and that is given from outside.

Spec: sync 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ibidem.objects import codec
from ibidem.objects.cid import Cid, CommitCid, ReceiptCid, RootCid, StepCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import CorruptError
from ibidem.objects.links import check_kind, links
from ibidem.objects.root import Root
from ibidem.repo.sync.delta import Need, root_needs

if TYPE_CHECKING:
    from ibidem.objects.blocks import Source


_TARGET_KINDS: Mapping[type[Cid], tuple[str, ...]] = {
    CommitCid: ("commit",),
    StepCid: ("step",),
    ReceiptCid: ("receipt",),
}
_ANY_TARGET = ("commit", "step", "receipt")


@dataclass(slots=True)
class Records:
    """Steps and receipts behind some refs, and what they lead to."""

    needs: list[Need] = field(default_factory=list)
    commits: list[CommitCid] = field(default_factory=list)
    """What receipts were read against: heads of annotations."""
    roots: list[RootCid] = field(default_factory=list)
    """States that steps and receipts read, oldest first."""


def kind_of(block: bytes) -> str:
    """Returns the kind of a DAG-CBOR block; raises for one that is not known."""
    return check_kind(codec.decode(block))


def split_targets(source: Source, targets: Iterable[Cid]) -> tuple[list[CommitCid], list[Cid]]:
    """Returns which of some targets of refs are commits, and which steps or receipts.

    Args:
        targets: of the class that the name of their ref says; a plain `Cid` where no name is known.

    Raises:
        CorruptError: a block is of another kind than its class says, or nothing that a ref may
            point to.
    """
    commits: list[CommitCid] = []
    records: list[Cid] = []
    for target in targets:
        found = "raw block" if target.is_raw else kind_of(source.get(target))
        expected = _TARGET_KINDS.get(type(target), _ANY_TARGET)
        if found not in expected:
            raise CorruptError(
                f"ref target {target}: got a {found}, expected a {' or '.join(expected)}",
                hint="the name of a ref says what it points to; 'repo fsck' names refs that differ",
            )
        if found == "commit":
            commits.append(CommitCid(target.raw))
        else:
            records.append(target)
    return commits, records


def records_behind(
    source: Source, targets: Iterable[Cid], is_had: Callable[[Cid], bool]
) -> Records:
    """Returns the steps and receipts from `targets` back to those that are had.

    Raises:
        CorruptError: a step or receipt leads to a block of a kind that it cannot lead to.
    """
    found = Records()
    seen: set[Cid] = set()
    waiting = list(targets)
    while waiting:
        cid = waiting.pop()
        if cid in seen or is_had(cid):
            continue
        seen.add(cid)
        if cid.is_raw:
            found.needs.append(Need(cid, "part"))
            continue
        block = source.get(cid)
        kind = kind_of(block)
        if kind == "root":
            found.roots.append(RootCid(cid.raw))
        elif kind == "commit":
            found.commits.append(CommitCid(cid.raw))
        elif kind in ("step", "receipt", "result"):
            found.needs.append(Need(cid, kind))
            waiting.extend(links(block))
        else:
            raise CorruptError(f"block {cid}: got kind {kind!r}, expected a step or a receipt")
    found.roots.reverse()
    return found


def needs_of(
    source: Source,
    commits: Mapping[CommitCid, Commit],
    records: Records,
    is_covered: Callable[[RootCid], bool],
    *,
    after_root: Callable[[Mapping[RootCid, Root]], None] | None = None,
) -> Iterator[Need]:
    """Yields every block that commits, steps and receipts need beyond what is had.

    Args:
        commits: parents before children; the parents that are not among them are had.
        is_covered: whether a root that only steps and receipts name is had, or is behind `commits`.
        after_root: called after the needs of each root with those that it was compared with.
    """
    yield from records.needs

    def of_root(cid: RootCid, before: list[RootCid]) -> Iterator[Need]:
        bases = {base: Root.decode(source.get(base)) for base in before}
        yield from root_needs(source, cid, list(bases.values()))
        if after_root is not None:
            after_root(bases)

    for cid, commit in commits.items():
        yield Need(cid, "commit")
        parents = [
            (commits[parent] if parent in commits else Commit.decode(source.get(parent))).root
            for parent in commit.parents
        ]
        if commit.root not in parents:
            yield from of_root(commit.root, parents)
    before: list[RootCid] = []
    for root in records.roots:
        if not is_covered(root):
            yield from of_root(root, before)
        before = [root]
