"""A repository behind a server, with the methods of one that is here.

Every question is computed by the server, for the viewer of the token. What the server does not
offer is one typed error; a clone has it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from ibidem.objects import codec
from ibidem.objects.cid import Cid, CommitCid, NodeCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import (
    ErrorKind,
    IbidemError,
    NotFoundError,
    RemoteError,
)
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.location import Location
from ibidem.objects.node import Node
from ibidem.repo.api.history import History
from ibidem.repo.api.receipts import Receipts
from ibidem.repo.argument_checks import check_id
from ibidem.repo.history.log import Change, Position
from ibidem.repo.layers import Layer
from ibidem.repo.questions import Questions, changed_options
from ibidem.repo.receipts.kept import check_receipt
from ibidem.repo.refs import Targets
from ibidem.repo.repository import Repository
from ibidem.repo.retrieval.listing import Page
from ibidem.repo.revision import Revision
from ibidem.repo.revspec import HEAD, no_revision
from ibidem.repo.served.answer import ServedAnswer, ServedPrompt, location_of, warnings_of
from ibidem.repo.served.client import Client, in_path, plain
from ibidem.repo.served.comparison import ServedComparison
from ibidem.repo.served.members import Behind, not_served, serves
from ibidem.repo.served.transaction import ServedTransaction
from ibidem.repo.sync import wire
from ibidem.repo.sync.wire import CBOR
from ibidem.retrieve.answer.answer import AnswerKind
from ibidem.retrieve.query import checks
from ibidem.retrieve.query.options import TIMES_OF_RECORDS

if TYPE_CHECKING:
    from ibidem.repo.retrieval.signature import QuestionOptions
    from ibidem.retrieve.query.predicate import Predicate

LOG_COMMITS_MAX = 1000
DIFF_CHANGES_MAX = 10_000
PAGE_NODES_MAX = 1000
_ENDS = ("before", "after")
_QUESTIONS = ("retrieve", "packs", "prompt", "context", "query")


@serves(Repository, *_QUESTIONS, "retriever")
class ServedRepository(Behind, Repository):
    """A repository behind a server; a context manager."""

    def __init__(self, url: str, token: str | None) -> None:
        """Checks the address and that the server answers.

        Raises:
            RemoteError: it does not; kind `unauthorized`: the token is wrong.
        """
        self.client = Client(url, token)
        """What sends the requests."""
        self._branches()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.client.address}>"

    def close(self) -> None:
        """Does nothing: connections are shared, and close by themselves."""

    @property
    def head(self) -> CommitCid | None:
        """The commit of the current branch; None before the first."""
        found = self._branches()["head"]
        return None if found is None else _commit_cid(found)

    @property
    def current_branch(self) -> str:
        """The current branch."""
        return str(self._branches()["current"])

    def branches(self) -> Targets:
        """Returns the branches that have commits, by name."""
        return self._targets("branches")

    def tags(self) -> Targets:
        """Returns the tags, by name."""
        return self._targets("tags")

    def commit_at(self, rev: object = HEAD) -> Commit:
        """Returns the commit that a revision names."""
        found = _commits(self.client, rev, 1)
        if not found:
            raise NotFoundError(
                "revision: the branch has no commits", kind=ErrorKind.REVISION_NOT_FOUND
            )
        return found[0]

    def resolve(self, rev: object, *, missing_ok: bool = False) -> CommitCid | None:
        """Returns the commit that a revision names."""
        found = _commits(self.client, rev, 1) if missing_ok else [self.commit_at(rev)]
        return found[0].cid if found else None

    def at(
        self, rev: object = HEAD, *, viewer: Any = None, allow_erased: bool = False
    ) -> ServedRevision:
        """Returns the graph at a revision, for the viewer of the token."""
        if viewer is not None or allow_erased:
            raise not_served("Repository.at(viewer=…)" if viewer else "at(allow_erased=…)")
        return ServedRevision(self.client, rev)

    def _answer(self, method: str, **options: Any) -> Any:
        return self.at()._answer(method, **options)

    def _prompt(self, text: str, packs: Any, style: str, options: Mapping[str, Any]) -> Any:
        return self.at()._prompt(text, packs, style, options)

    _sent_conversations = Layer()

    @property
    def conversations(self) -> Any:
        """Conversations: their messages are appended by the server."""
        return self._sent_conversations

    @cached_property
    def receipts(self) -> ServedReceipts:
        """Receipts of answers, which the server replays."""
        return ServedReceipts(self.client)

    @cached_property
    def history(self) -> ServedHistory:
        """Commits and differences."""
        return ServedHistory(self.client)

    def transaction(
        self,
        *,
        author: str = "",
        message: str = "",
        branch: str | None = None,
        time: int | datetime | None = None,
        agent: str | None = None,
        task: str | None = None,
        sign: str | bool | None = None,
        on_conflict: str = "record",
    ) -> ServedTransaction:
        """Begins a transaction on a branch; as `Repository.transaction`.

        Args:
            author: by default the name of the token.
            on_conflict: `record`, or `unmoved`: rejects everything if the branch moves meanwhile.
        """
        for name, value in (("time", time), ("sign", sign)):
            if value is not None:
                raise not_served(f"Repository.transaction({name}=…)")
        if on_conflict not in ("record", "unmoved"):
            raise not_served("Repository.transaction(on_conflict='raise')")
        given = {"author": author, "message": message, "agent": agent, "task": task}
        fields = {name: value for name, value in given.items() if value}
        if branch is not None:
            fields["branch"] = branch
        condition: dict[str, str] = {}
        if on_conflict == "unmoved":
            head = self.branches().get(branch or self.current_branch)
            condition = {"If-None-Match": "*"} if head is None else {"If-Match": f'"{head}"'}
        return ServedTransaction(self.client, self.commit_at, fields, condition)

    def add(
        self,
        text: str,
        *,
        label: str = "Semantic",
        props: Mapping[str, Any] | None = None,
        time: int | datetime | None = None,
        author: str = "",
        message: str = "",
    ) -> NodeId:
        """Adds one fact and returns its id; as on a repository here."""
        if time is not None:
            raise not_served("Repository.add(time=…)")
        with self.transaction(author=author, message=message or "add a fact") as tx:
            return tx.add_node(str(label), summary=text, props=props)

    def send_messages(self, thread: str, messages: list[dict[str, Any]]) -> Commit | None:
        """Has the server append messages to a thread, once; returns the commit, None if the thread
        had them all."""
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        body = {"thread": thread, "messages": messages}
        made = self.client.post("/v1/messages", body, headers).json().get("commit")
        return self.commit_at(made) if isinstance(made, str) else None

    def _branches(self) -> dict[str, Any]:
        return self.client.get("/v1/branches").json()

    def _targets(self, name: str) -> Targets:
        found = self._branches()
        problems = found.get("damaged", ())
        damaged = [wire.read_problem(0, json.dumps(one).encode()) for one in problems]
        return Targets({name: _commit_cid(cid) for name, cid in found[name].items()}, damaged)


@serves(Revision, *_QUESTIONS)
class ServedRevision(Behind, Revision):
    """The graph of one revision behind a server, read-only."""

    def __init__(self, client: Client, rev: object) -> None:
        self._client = client
        self._rev = _named(rev)
        self._root = rev if isinstance(rev, RootCid) else None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._rev}>"

    @property
    def root_cid(self) -> RootCid:
        """The CID of the root."""
        return self._root or _page_of(self._client, self._rev, {"limit": 1})[0]

    @property
    def commit(self) -> Commit | None:
        """The commit; None if there is none."""
        found = [] if self._root is not None else _commits(self._client, self._rev, 1)
        return found[0] if found else None

    @property
    def commit_cid(self) -> CommitCid | None:
        """The CID of the commit; None if there is none."""
        commit = self.commit
        return None if commit is None else commit.cid

    def _answer(self, method: str, **options: Any) -> Any:
        if method == "query":
            return list(self._nodes(options))
        if method not in _QUESTIONS:
            raise not_served(f"Revision.{method}")
        sent = {"at": self._rev, **plain(options)}
        found = self._client.post(f"/v1/{method}", sent).json()
        return ServedPrompt.read(found) if method == "prompt" else answer_of(self._client, found)

    def _prompt(self, text: str, packs: Any, style: str, options: Mapping[str, Any]) -> Any:
        if packs is not None:
            raise not_served("Revision.prompt(packs=…)")
        return self._answer("prompt", text=text, style=style, **options)

    def retrieve_many(self, questions: Iterable[QuestionOptions]) -> Any:
        """Returns the answers to several questions; as `Revision.retrieve_many`."""
        return [self._answer("retrieve", **one) for one in questions]

    def node(self, id: NodeId | str, *, include_tombstoned: bool = False) -> Node:  # noqa: A002
        """Returns a node; as `Revision.node`."""
        if include_tombstoned:
            raise not_served("Revision.node(include_tombstoned=…)")
        return _node(self._client, self._rev, check_id("id", id, NodeId))

    def nodes(self, *, include_tombstoned: bool = False) -> Iterator[Node]:
        """Yields all nodes, by id; as `Revision.nodes`."""
        return self._nodes({"include_tombstoned": True} if include_tombstoned else {})

    def locate(self, id: NodeId | str) -> Location | None:  # noqa: A002
        """Returns the location of a passage or section in its document; as `Revision.locate`."""
        path = f"/v1/nodes/{in_path(check_id('id', id, NodeId))}"
        found = self._client.get(path, at=self._rev, limit="1").json()
        try:
            return location_of(found["location"])
        except (KeyError, TypeError, ValueError, IbidemError) as error:
            raise RemoteError("remote: its answer has another form than a node") from error

    def page(
        self,
        *,
        label: str | Iterable[str] | None = None,
        where: Mapping[str, object] | Predicate | None = None,
        as_of: int | datetime | None = None,
        valid_missing: str | None = None,
        created_after: int | datetime | None = None,
        created_before: int | datetime | None = None,
        updated_after: int | datetime | None = None,
        updated_before: int | datetime | None = None,
        include_tombstoned: bool = False,
        order_by: str | tuple[str, str] | None = None,
        limit: int | None = None,
        offset: int = 0,
        after: str | None = None,
    ) -> Page:
        """Returns the result of `query` with the total count and the cursor of the next page."""
        pages = list(self._pages(changed_options(locals(), Questions.query)))
        nodes = tuple(node for page in pages for node in page.nodes)
        return Page(nodes, pages[0].count, pages[-1].next, pages[0].warnings)

    def count(
        self,
        *,
        label: str | Iterable[str] | None = None,
        where: Mapping[str, object] | Predicate | None = None,
        as_of: int | datetime | None = None,
        valid_missing: str | None = None,
        created_after: int | datetime | None = None,
        created_before: int | datetime | None = None,
        updated_after: int | datetime | None = None,
        updated_before: int | datetime | None = None,
        include_tombstoned: bool = False,
    ) -> int:
        """Returns how many nodes `query` would return without a limit."""
        options = changed_options(locals(), Questions.query)
        return _page_of(self._client, self._rev, {**plain(options), "limit": 1})[1].count

    def _nodes(self, options: Mapping[str, Any]) -> Iterator[Node]:
        for page in self._pages(options):
            yield from page.nodes

    def _pages(self, options: Mapping[str, Any]) -> Iterator[Page]:
        """Yields the pages of a query, all of the root that the first was read from; of its commit
        where times are found in the history."""
        sent, at = plain(options), self._rev
        is_dated = not sent.keys().isdisjoint(TIMES_OF_RECORDS)
        if is_dated:
            at = str(self.commit_cid or at)
        limit = sent.get("limit")
        rest = None if limit is None else checks.count("limit", limit)
        while True:
            size = PAGE_NODES_MAX if rest is None else min(rest, PAGE_NODES_MAX)
            root, page = _page_of(self._client, at, {**sent, "limit": size})
            yield page
            rest = None if rest is None else rest - len(page.nodes)
            if page.next is None or rest == 0:
                return
            sent.pop("offset", None)
            sent["after"] = page.next
            if not is_dated:
                at = str(root)


@serves(Receipts)
class ServedReceipts(Behind, Receipts):
    """Receipts behind a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def replay(
        self,
        receipt: Any,
        *,
        estimator: Any = None,
        text: str | None = None,
        key: bytes | None = None,
        at: object = None,
    ) -> Any:
        """Has the server recompute the answer of a receipt; as `Receipts.replay`.

        Args:
            receipt: of an answer, or its CID; no other argument is served.
        """
        check_receipt(receipt)
        given = {"estimator": estimator, "text": text, "key": key, "at": at}
        for name, value in given.items():
            if value is not None:
                raise not_served(f"Receipts.replay({name}=…)")
        found = self._client.get(f"/v1/replay/{in_path(receipt)}").json()
        if found.get("kind") == AnswerKind.RECORDS:
            raise not_served("Receipts.replay of records")
        return answer_of(self._client, found)


@serves(History, "compare")
class ServedHistory(Behind, History):
    """Commits and differences behind a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def _compared(
        self, text: str | None, before: object, after: object, options: Mapping[str, Any]
    ) -> Any:
        ends = {"before": _named(before), "after": _named(after)}
        sent = {"text": text, **plain(options), **ends}
        found = self._client.post("/v1/compare", sent).json()

        def commit(cid: str) -> Commit:
            return _commits(self._client, cid, 1)[0]

        replay = ServedReceipts(self._client).replay
        return ServedComparison.read(found, commit, change_of, replay)

    def log(self, at: object = HEAD) -> Iterator[Commit]:
        """Yields a revision and its ancestors, newest first, up to 1,000 of them."""
        yield from _commits(self._client, at, LOG_COMMITS_MAX)

    def diff(
        self, before: object, after: object = HEAD, *, beyond: Position | None = None
    ) -> Iterator[Change]:
        """Yields the changes between two revisions, by family, name and id; with `beyond`, those
        after the change at that position.

        Raises:
            RemoteError: there are more than 10,000.
        """
        limit = str(DIFF_CHANGES_MAX)
        ends = {"before": _named(before), "after": _named(after)}
        found = self._client.get("/v1/diff", **ends, limit=limit).json()
        if not found.get("is_complete"):
            raise RemoteError(
                f"remote: the revisions differ in more than {limit} things",
                hint="compare two that are closer, or clone the repository",
            )
        changes = iter([change_of(row) for row in found["changes"]])
        if beyond is not None:
            all(one.position != beyond for one in changes)  # reads up to that change
        yield from changes


def _commits(client: Client, rev: object, limit: int) -> list[Commit]:
    found = client.get("/v1/log", accept=CBOR, at=_named(rev), limit=str(limit)).body
    try:
        return [Commit.decode(block) for block in codec.decode_foreign(found)]
    except (IbidemError, TypeError) as error:
        raise RemoteError("remote: its log has another form than commits") from error


def _node(client: Client, rev: str, wanted: NodeId) -> Node:
    block = client.get(f"/v1/nodes/{in_path(wanted)}", accept=CBOR, at=rev).body
    try:
        found = Node.decode(block)
    except IbidemError as error:
        raise RemoteError("remote: it answered with another block than a node") from error
    if found.id != wanted:
        raise RemoteError(f"remote: it answered node {found.id}, expected {wanted}")
    return found


def answer_of(client: Client, found: Mapping[str, Any]) -> ServedAnswer:
    """Returns an answer of a server; nodes of its items are read when they are needed."""

    @cache
    def node(root: RootCid, wanted: NodeId, cid: NodeCid) -> Node:
        node = _node(client, str(root), wanted)
        if node.cid != cid:
            raise RemoteError(f"remote: it answered node {node.cid}, expected {cid}")
        return node

    return ServedAnswer.read(found, node)


def _page_of(client: Client, rev: str, options: Mapping[str, Any]) -> tuple[RootCid, Page]:
    """Returns one page of nodes, and the root that it was read from."""
    body = client.post("/v1/query", {"at": rev, **options}, {"Accept": CBOR}).body
    try:
        found: Any = codec.decode_foreign(body)
        nodes = tuple(Node.decode(block) for block in found["nodes"])
        warnings = warnings_of(found) if "warnings" in found else ()  # earlier servers have none
        page = Page(nodes, int(found["count"]), found["next"], warnings)
        return RootCid.parse(found["root"]), page
    except (IbidemError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise RemoteError("remote: its answer has another form than a page of nodes") from error


def change_of(row: Mapping[str, Any]) -> Change:
    """Returns a change of the graph from its JSON."""
    before, after = (None if row[end] is None else Cid.parse(row[end]) for end in _ENDS)
    return Change(
        row["family"],
        EdgeId.parse(row["id"]) if row["family"] == "edges" else NodeId.parse(row["id"]),
        before,
        after,
        row["name"] or "",
        tuple(row["fields"]),
        tuple(row["properties"]),
    )


def _commit_cid(text: str) -> CommitCid:
    return CommitCid(Cid.parse(text).raw)


def _named(rev: object) -> str:
    if isinstance(rev, datetime):
        return rev.isoformat()
    if isinstance(rev, str | CommitCid | RootCid):
        return str(rev)
    raise no_revision(rev)
