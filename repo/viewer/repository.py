"""A repository as a restricted viewer gets it: what the table allows, and nothing else.

He can query revisions that can be named without knowing the history: the head, a branch, a tag, or
a CID from an answer. His writes concern visible nodes only, so a write reveals no more about hidden
ones than a read does.

Spec: trust 6.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.errors import UNREADABLE, ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.repo.api.notes import NoteSpaces
from ibidem.repo.arguments import check_no_request
from ibidem.repo.layers import Layers, Recalling
from ibidem.repo.questions import Questions
from ibidem.repo.revision import Revision
from ibidem.repo.revspec import HEAD
from ibidem.repo.viewer.exposure import Proxy, not_permitted
from ibidem.repo.viewer.notes import ViewerNotes
from ibidem.repo.viewer.revision import ViewerRevision
from ibidem.repo.viewer.transaction import ViewerTransaction
from ibidem.retrieve.access.policy import Viewer
from ibidem.retrieve.query import checks
from ibidem.store.closing import Closing

if TYPE_CHECKING:
    from ibidem.repo.core import Core
    from ibidem.repo.merge.conflicts import OpenConflict
    from ibidem.repo.refs import Targets
    from ibidem.repo.retrieval.retriever import Retriever
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import Item
    from ibidem.retrieve.answer.receipt import Receipt
    from ibidem.retrieve.answer.sealed import SealedReceipt
    from ibidem.retrieve.context.prompt import Citation
    from ibidem.retrieve.tokens import TokenEstimator


class ViewerRepository(Layers, Recalling, Questions, Proxy, Closing):
    """A repository as a viewer who may not see everything uses it."""

    proxy_of = "Repository"

    def __init__(self, core: Core, viewer: Viewer, author: str) -> None:
        """Wraps a repository for a viewer, with the author of his changes.

        Raises:
            InvalidInputError: no context, or one that sees everything.
        """
        if type(viewer) is not Viewer or viewer.everything:
            raise InvalidInputError(
                f"viewer: got {viewer!r:.80}, expected a Viewer who may not see everything",
                hint="whoever sees everything uses the repository itself",
            )
        self._core = core
        self.author = author
        """Of what the viewer writes; empty for any."""
        self.viewer = viewer
        """The viewer."""

    def __repr__(self) -> str:
        return f"<ViewerRepository level {self.viewer.level}>"

    def close(self) -> None:
        """Closes the repository."""
        self._core.close()

    def as_viewer(self, viewer: Viewer, *, author: str = "") -> ViewerRepository:
        """Returns this object if the viewer is the same.

        Raises:
            InvalidInputError: kind `not-permitted`: another viewer.
        """
        if viewer != self.viewer:
            raise not_permitted("another viewer")
        return ViewerRepository(self._core, viewer, author or self.author)

    # -- names ---------------------------------------------------------------------------------

    @property
    def head(self) -> CommitCid | None:
        """The commit of the current branch; None before the first."""
        return self._core.head

    @property
    def current_branch(self) -> str:
        """The current branch."""
        return self._core.current_branch

    def branches(self) -> Targets:
        """Returns the branches that have commits, by name."""
        return self._core.branches()

    def tags(self) -> Targets:
        """Returns the tags, by name."""
        return self._core.tags()

    def resolve(self, rev: object, *, missing_ok: bool = False) -> CommitCid | None:
        """Returns the commit that a revision names; `at` says which a viewer can name."""
        return self._core.resolve(self._nameable(rev), missing_ok=missing_ok)

    def now(self, time: int | datetime | None = None) -> int:
        """Returns a time in microseconds since 1970 UTC: the one given, else the clock's."""
        return self._core.now(time)

    # -- reading and asking --------------------------------------------------------------------

    def at(
        self, rev: object = HEAD, *, viewer: Viewer | None = None, allow_erased: bool = False
    ) -> ViewerRevision:
        """Returns the graph at a revision as this viewer sees it.

        Args:
            rev: HEAD, the name of a branch or a tag, or a whole CID of a commit or a root.

        Raises:
            InvalidInputError: kind `not-permitted`: another revision, or another viewer.
            NotFoundError: there is no such commit or root; a block of another kind, which may be a
                hidden node, is as one that is missing.
        """
        if viewer not in (None, self.viewer):
            raise not_permitted("another viewer")
        if allow_erased:
            raise not_permitted("allow_erased")
        named = self._nameable(rev)
        try:
            graph = self._core.graph(named, viewer=self.viewer)
        except UNREADABLE as error:
            if not isinstance(named, RootCid):
                raise
            raise NotFoundError(
                f"revision {str(named)!r}: no such root is in this repository",
                kind=ErrorKind.REVISION_NOT_FOUND,
            ) from error
        return ViewerRevision(Revision(graph))

    def _answer(self, method: str, **options: Any) -> Any:
        return getattr(self.at(), method)(**options)

    def retriever(self, at: object = HEAD) -> Retriever:
        """Returns a builder for a query."""
        from ibidem.repo.retrieval.retriever import Retriever

        return Retriever(self.at(at).retrieve)

    def verify_citation(self, citation: Citation, *, viewer: Viewer | None = None) -> bool:
        """Returns whether a citation is true for this viewer."""
        if viewer not in (None, self.viewer):
            raise not_permitted("another viewer")
        from ibidem.repo.retrieval import context

        return context.verify(self._core, citation, viewer=self.viewer)

    def conflicts(self, at: object = HEAD, *, limit: int | None = None) -> list[OpenConflict]:
        """Returns the open conflicts of a revision about visible nodes, and about edges between
        such nodes, by id.

        Args:
            at: the revision.
            limit: maximal number of conflicts, None for all.
        """
        from ibidem.repo.merge.conflicts import open_conflicts

        revision, whole = self.at(at), self._core.graph(self._nameable(at))
        visible = (
            one
            for one in open_conflicts(self._core.store, whole.root)
            if (
                revision.is_visible(one.id)
                if isinstance(one.id, NodeId)
                else revision.is_edge_visible(one.id)
            )
        )
        return list(islice(visible, None if limit is None else checks.count("limit", limit)))

    # -- namespaces ----------------------------------------------------------------------------

    @cached_property
    def notes(self) -> ViewerNotes:
        """Annotations about visible nodes."""
        return ViewerNotes(NoteSpaces(self._core), self.at, self.author)

    @cached_property
    def receipts(self) -> ViewerReceipts:
        """The receipts of this viewer's answers."""
        return ViewerReceipts(self._core, self.viewer)

    # -- writing -------------------------------------------------------------------------------

    def transaction(
        self,
        *,
        author: str = "",
        message: str = "",
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
        on_conflict: str = "record",
    ) -> ViewerTransaction:
        """Starts a transaction on the current branch for changes to visible nodes.

        Args:
            author: must be the viewer's author, if he has one.
        """
        if self.author and author not in ("", self.author):
            raise not_permitted("another author")
        from ibidem.repo.transaction.begin import begin, branch_publisher

        core, by = self._core, self.author or author
        signed = core.signed(by, message, time, agent=agent, task=task)
        check_no_request(signed.message)
        publisher = branch_publisher(core, None, signed, on_conflict=on_conflict)
        tx = begin(core, publisher, signed, state=publisher.state, source=publisher.source)
        return ViewerTransaction(tx, Revision(core.graph(tx.base.cid, viewer=self.viewer)))

    def _nameable(self, rev: object) -> object:
        """Returns a revision after checking that it can be named without knowing the history."""
        if rev == HEAD or isinstance(rev, (CommitCid, RootCid)):
            return rev
        if isinstance(rev, str):
            if rev in self._core.branches() or rev in self._core.tags():
                return rev
            try:
                return CommitCid(Cid.parse(rev).raw)
            except InvalidInputError:
                pass
        raise not_permitted("this revision")


class ViewerReceipts(Proxy):
    """The receipts of a viewer's answers: to replay."""

    proxy_of = "Receipts"

    def __init__(self, core: Core, viewer: Viewer) -> None:
        self._core = core
        self._viewer = viewer

    def replay(
        self,
        receipt: Receipt | SealedReceipt | None,
        *,
        estimator: str | TokenEstimator | None = None,
        text: str | None = None,
        key: bytes | None = None,
    ) -> Answer[Item]:
        """Runs the query of a receipt again; as `Receipts.replay`.

        Raises:
            InvalidInputError: kind `not-permitted`: the receipt of another viewer, or a CID instead
                of the receipt itself.
        """
        from ibidem.repo.receipts.kept import check_receipt
        from ibidem.repo.receipts.replay import opened, replay
        from ibidem.retrieve.answer.receipt import Receipt
        from ibidem.retrieve.answer.sealed import SealedReceipt

        check_receipt(receipt)
        if not isinstance(receipt, (Receipt, SealedReceipt)):
            raise not_permitted("a receipt by its name")
        own = opened(receipt, text, key)
        if own.query.viewer != self._viewer:
            raise not_permitted("the receipt of another viewer")
        return replay(self._core, own, estimator=estimator)
