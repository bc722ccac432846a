"""One question at two revisions of a repository behind a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import NodeCid, ReceiptCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import RemoteError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.repo.history.compare import Cause, Comparison, Move, MoveKind, Placed
from ibidem.repo.history.log import Change
from ibidem.repo.served.answer import lanes_of
from ibidem.repo.served.members import not_served, serves

if TYPE_CHECKING:
    from ibidem.repo.served.answer import ServedAnswer


@serves(Move)
@record
class ServedMove:
    """How an item differs before and after a commit."""

    id: NodeId
    kind: MoveKind


@serves(Cause)
@record
class ServedCause:
    """A commit that changed the answer, or a range of commits of which at least one did."""

    commit: Commit
    """The last commit of the range."""
    commits_count: int
    """Number of commits in the range; 1 if the search found a single commit."""
    moves: tuple[ServedMove, ...]
    """The items that differ."""
    changes: tuple[Change, ...]
    """Its changes of the graph: those of the moved nodes, else any."""
    changes_count: int
    """Number of all its changes, listed or not."""


@serves(Comparison)
@record
class ServedComparison:
    """One question at two revisions, compared by a server."""

    moves: tuple[Move, ...]
    """All items of either answer, in rank order."""
    causes: tuple[ServedCause, ...]
    """Oldest first."""
    evaluations_count: int
    """Number of commits queried in search of the causes, excluding the two ends."""
    is_related: bool
    """Whether the two revisions have a common ancestor; without one, no causes can be found."""
    fields: Mapping[str, Any]
    """Everything that the server says of it."""
    _replay: Callable[[ReceiptCid], ServedAnswer] = field(compare=False, repr=False)

    @property
    def before(self) -> ServedAnswer:
        """The answer at the first revision, which the server replays."""
        return self._end("before")

    @property
    def after(self) -> ServedAnswer:
        """The answer at the second revision, which the server replays."""
        return self._end("after")

    def _end(self, name: str) -> ServedAnswer:
        receipt = self.fields[name]["receipt"]
        if receipt is None:
            raise not_served(f"Comparison.{name} without a receipt")
        return self._replay(ReceiptCid.parse(receipt))

    @classmethod
    def read(
        cls,
        found: Mapping[str, Any],
        commit: Callable[[str], Commit],
        change: Callable[[Mapping[str, Any]], Change],
        replay: Callable[[ReceiptCid], ServedAnswer],
    ) -> ServedComparison:
        """Returns the comparison in the JSON of a server.

        Raises:
            RemoteError: it has another form.
        """

        def cause(row: Mapping[str, Any]) -> ServedCause:
            moves = [
                ServedMove(NodeId.parse(one["id"]), MoveKind(one["kind"])) for one in row["moves"]
            ]
            changes = tuple(change(one) for one in row["changes"])
            counts = row["commit_count"], row["change_count"]
            return ServedCause(
                commit(row["commit"]["cid"]), counts[0], tuple(moves), changes, counts[1]
            )

        try:
            return cls(
                tuple(_move(one) for one in found["items"]),
                tuple(cause(one) for one in found["causes"]),
                found["evaluation_count"],
                found["is_related"],
                found,
                replay,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RemoteError("remote: its answer has another form than a comparison") from error


def _move(row: Mapping[str, Any]) -> Move:
    before, after = (_placed(row, row[end]) for end in ("before", "after"))
    return Move(NodeId.parse(row["id"]), before, after)


def _placed(row: Mapping[str, Any], found: Mapping[str, Any] | None) -> Placed | None:
    if found is None:
        return None
    return Placed(
        NodeId.parse(row["id"]),
        found["rank"],
        NodeCid.parse(found["cid"]),
        found["score"],
        found["tokens"],
        found.get("ntype", row["ntype"]),
        found.get("title", row["title"]),
        lanes_of(found),
    )
