"""A repository behind a server, with the methods of one that is here.

Every question is computed by the server, for the viewer of the token. What the server does not
offer is one typed error; a clone has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

from ibidem.objects import codec
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.errors import (
    ErrorKind,
    IbidemError,
    NotFoundError,
    RemoteError,
)
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.objects.node import Node
from ibidem.repo.api.history import History
from ibidem.repo.api.receipts import Receipts
from ibidem.repo.argument_checks import check_id
from ibidem.repo.history.log import Change, Position
from ibidem.repo.receipts.kept import check_receipt
from ibidem.repo.refs import Targets
from ibidem.repo.repository import Repository
from ibidem.repo.revision import Revision
from ibidem.repo.revspec import HEAD, no_revision
from ibidem.repo.served.answer import ServedAnswer, ServedContext
from ibidem.repo.served.client import Client, in_path, not_served
from ibidem.repo.served.transaction import ServedTransaction
from ibidem.repo.sync.wire import CBOR

LOG_COMMITS_MAX = 1000
DIFF_CHANGES_MAX = 10_000
_ENDS = ("before", "after")
_QUESTIONS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "retrieve": ServedAnswer.read,
    "context": ServedContext.read,
}


class ServedRepository(Repository):
    """A repository behind a server; a context manager."""

    def __init__(self, url: str, token: str | None) -> None:
        """Checks the address and that the server answers.

        Raises:
            RemoteError: it does not; kind `unauthorized`: the token is wrong.
        """
        self.client = Client(url, token)
        """What sends the requests."""
        self._branches()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise not_served(f"Repository.{name}")

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
        return Targets(
            {name: _commit_cid(cid) for name, cid in self._branches()["branches"].items()}
        )

    def tags(self) -> Targets:
        """Returns the tags, by name."""
        return Targets({name: _commit_cid(cid) for name, cid in self._branches()["tags"].items()})

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

    def context(self, text: str, **options: Any) -> Any:
        """Returns a prompt of documents, facts and messages; as `Repository.context`."""
        return self.at().context(text, **options)

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
        return ServedTransaction(self, fields, condition)

    def add(
        self,
        text: str,
        *,
        label: str = "Semantic",
        props: Mapping[str, Any] | None = None,
        author: str = "",
        message: str = "",
        **options: Any,
    ) -> NodeId:
        """Adds one fact and returns its id; as on a repository here."""
        if options:
            raise not_served(f"Repository.add({min(options)}=…)")
        with self.transaction(author=author, message=message or "add a fact") as tx:
            return tx.add_node(str(label), summary=text, props=props)

    def _branches(self) -> dict[str, Any]:
        return self.client.get("/v1/branches").json()


class ServedRevision(Revision):
    """The graph of one revision behind a server, read-only."""

    def __init__(self, client: Client, rev: object) -> None:
        self._client = client
        self._rev = _named(rev)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise not_served(f"Revision.{name}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._rev}>"

    def _answer(self, method: str, **options: Any) -> Any:
        if method not in _QUESTIONS:
            raise not_served(f"Revision.{method}")
        found = self._client.post(f"/v1/{method}", {"at": self._rev, **_plain(options)})
        return _QUESTIONS[method](found.json())

    def context(self, text: str, **options: Any) -> Any:
        """Returns a prompt of documents, facts and messages; as `Revision.context`."""
        return self._answer("context", text=text, **options)

    def node(self, id: NodeId | str, *, include_tombstoned: bool = False) -> Node:  # noqa: A002
        """Returns a node; as `Revision.node`."""
        if include_tombstoned:
            raise not_served("Revision.node(include_tombstoned=…)")
        wanted = check_id("id", id, NodeId)
        path = f"/v1/nodes/{in_path(wanted)}"
        found = _decoded(Node, self._client.get(path, accept=CBOR, at=self._rev).body)
        if found.id != wanted:
            raise RemoteError(f"remote: it answered node {found.id}, expected {wanted}")
        return found


class ServedReceipts(Receipts):
    """Receipts behind a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise not_served(f"Receipts.{name}")

    def replay(self, receipt: Any, **options: Any) -> Any:
        """Has the server recompute the answer of a receipt; as `Receipts.replay`.

        Args:
            receipt: of an answer to `retrieve`, or its CID.
            options: none is served.
        """
        check_receipt(receipt)
        if options:
            raise not_served(f"Receipts.replay({min(options)}=…)")
        found = self._client.get(f"/v1/replay/{in_path(receipt)}").json()
        if found.get("kind") != "result":
            raise not_served(f"Receipts.replay of {found.get('kind')}")
        return ServedAnswer.read(found)


class ServedHistory(History):
    """Commits and differences behind a server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise not_served(f"History.{name}")

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
        changes = iter([_change(row) for row in found["changes"]])
        if beyond is not None:
            all(one.position != beyond for one in changes)  # reads up to that change
        yield from changes


def _commits(client: Client, rev: object, limit: int) -> list[Commit]:
    found = client.get("/v1/log", accept=CBOR, at=_named(rev), limit=str(limit)).body
    try:
        return [Commit.decode(block) for block in codec.decode_foreign(found)]
    except (IbidemError, TypeError) as error:
        raise RemoteError("remote: its log has another form than commits") from error


def _decoded(cls: type[Node], block: bytes) -> Node:
    try:
        return cls.decode(block)
    except IbidemError as error:
        raise RemoteError("remote: it answered with another block than a node") from error


def _change(row: Mapping[str, Any]) -> Change:
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


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options as JSON has them: times as text, arrays as lists."""
    return {name: _plain_value(value) for name, value in options.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple | list):
        return [_plain_value(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): _plain_value(one) for name, one in value.items()}
    to_list = getattr(value, "tolist", None)
    return value if to_list is None else to_list()
