"""Texts under the ids that a framework gives them: what vector stores and document stores have in
common, over transactions, listings and questions.

The label of the nodes is the name of the collection, and so is the namespace of their keys. A text
is the node's content, its metadata are the properties, so every condition on metadata is a `where`,
and its vector is stored under one model. Nothing is random: an entry without an id gets one that
follows from its text and metadata, so the same entry twice is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import ibidem

T = TypeVar("T")
Where = Mapping[str, object] | None

TRIES_MAX: Final = 64
"""How often a change is begun again because another writer changed the same nodes first."""
DEPTH: Final = 100
"""Candidates of a ranking, unless more results are wanted."""


@dataclass(frozen=True)
class Entry:
    """A text with its id, metadata and vector."""

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    vector: Sequence[float] | None = None


@dataclass(frozen=True)
class Found:
    """An entry of a ranking, and the answer that it is from."""

    entry: Entry
    score: float
    answer: ibidem.Answer[ibidem.Item]


def write(
    repository: ibidem.Repository,
    change: Callable[[ibidem.Transaction], T],
    *,
    message: str,
    branch: str | None = None,
    viewer: ibidem.Viewer | None = None,
    author: str = "",
) -> T:
    """Makes a change in one commit and returns what it returns.

    If another writer has changed one of the same nodes meanwhile, the change is made again on what
    is there now, so the last writer of an id wins and no conflict is left behind.

    Raises:
        InvalidInputError: kind `not-permitted`: the viewer is restricted.
        ConflictError: another writer was first in every one of `TRIES_MAX` attempts.
    """
    check_may_write(viewer)
    for attempt in range(TRIES_MAX):
        try:
            with repository.transaction(
                message=message, branch=branch, author=author, on_conflict="raise"
            ) as tx:
                result = change(tx)
        except ibidem.ConflictError:
            if attempt == TRIES_MAX - 1:
                raise
        else:
            return result
    raise AssertionError("BUG: the last attempt neither ends nor raises")


def check_may_write(viewer: ibidem.Viewer | None) -> None:
    """Refuses a restricted viewer: frameworks choose the ids of what they store, and one that a
    hidden entry has could neither be taken nor refused without harm."""
    if viewer is not None and not viewer.everything:
        raise ibidem.InvalidInputError(
            "viewer: a store of a framework is only read as a restricted viewer",
            kind=ibidem.ErrorKind.NOT_PERMITTED,
        )


def items_of(name: str, given: object) -> list[Any]:
    """Returns what a caller gave as several, as a list.

    Raises:
        InvalidInputError: it is one thing, such as a text or a mapping.
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise ibidem.InvalidInputError(f"{name}: got {given!r:.80}, expected a list")
    return list(given)


def all_of(name: str, given: object, kind: type[T]) -> list[T]:
    """Returns what a caller gave as several of a class, as a list.

    Raises:
        InvalidInputError: it is one thing, or one of them is of another class.
    """
    found = items_of(name, given)
    for one in found:
        if not isinstance(one, kind):
            raise ibidem.InvalidInputError(f"{name}: got {one!r:.80}, expected a {kind.__name__}")
    return found


def text_of(name: str, given: object) -> str:
    """Returns a text that a caller gave.

    Raises:
        InvalidInputError: it is none, or no valid Unicode, which not every embedder refuses.
    """
    if not isinstance(given, str) or (not given.isprintable() and _has_surrogate(given)):
        raise ibidem.InvalidInputError(f"{name}: got {given!r:.80}, expected a text")
    return given


def mapping_of(name: str, given: object) -> dict[str, Any]:
    """Returns a mapping that a caller gave, as a dict; raises `InvalidInputError` for others."""
    if not isinstance(given, Mapping):
        raise ibidem.InvalidInputError(f"{name}: got {given!r:.80}, expected a mapping")
    return dict(given)


def count_of(name: str, given: object) -> int:
    """Returns a number from 0 that a caller gave; raises `InvalidInputError` for others."""
    if type(given) is not int or given < 0:
        raise ibidem.InvalidInputError(f"{name}: got {given!r:.80}, expected a number from 0")
    return given


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def id_of(text: str, metadata: Mapping[str, Any]) -> str:
    """Returns the id of an entry that was given none."""
    return str(ibidem.node_id("", [text, dict(metadata)]))


class Collection:
    """The entries of one label, on one branch; a change is one commit."""

    def __init__(
        self,
        repository: ibidem.Repository,
        name: str,
        *,
        model: str | None = None,
        branch: str | None = None,
        viewer: ibidem.Viewer | None = None,
        author: str = "",
    ) -> None:
        """Writes nothing.

        Args:
            name: the label of the nodes.
            model: the name under which vectors are kept; by default that of the collection.
            branch: to read and write; by default the current one.
            viewer: as whom to read, in a repository with a trust policy; a restricted one writes
                nothing.
        """
        if not isinstance(name, str) or not name:
            raise ibidem.InvalidInputError(f"collection: got {name!r:.80}, expected a text")
        self.repository, self.name = repository, name
        self.model = name if model is None else model
        self.branch, self.viewer, self.author = branch, viewer, author

    def at(self, rev: object = None) -> ibidem.Revision:
        """Returns a revision to read, by default the newest of the branch."""
        return self.repository.at(rev or self.branch or "HEAD", viewer=self.viewer)

    def write(self, change: Callable[[ibidem.Transaction], T], message: str) -> T:
        """Makes a change in one commit, as `write`."""
        return write(
            self.repository,
            change,
            message=message,
            branch=self.branch,
            viewer=self.viewer,
            author=self.author,
        )

    # -- writing ---------------------------------------------------------------------------------

    def put(self, entries: Iterable[Entry], *, replace: bool = True) -> int:
        """Stores entries in one commit and returns how many were written.

        Args:
            replace: whether to replace entries whose id there is, or to leave them alone.
        """
        given = list(entries)

        def change(tx: ibidem.Transaction) -> int:
            wanted = [one for one in given if replace or tx.find_node(self.node_id(one.id)) is None]
            for one in wanted:
                self.stage(tx, one)
            return len(wanted)

        return self.write(change, f"{self.name}: put {len(given)}") if given else 0

    def stage(self, tx: ibidem.Transaction, entry: Entry) -> ibidem.NodeId:
        """Stages one entry, in place of the one with its id."""
        id_ = self.node_id(entry.id)
        is_new = tx.find_node(id_) is None
        tx.add_node(
            self.name,
            content=_text(entry),
            props=_metadata(entry),
            key=entry.id,
            namespace=self.name,
            replace=True,
        )
        if entry.vector is not None:
            tx.set_vector(id_, model=self.model, vector=_floats(entry.vector))
        elif not is_new and self.model in tx.before().config.models:
            with suppress(ibidem.NotFoundError):  # the former one had none either
                tx.remove_vector(id_, model=self.model)
        return id_

    def delete(self, ids: Iterable[str] | None = None, *, where: Where = None) -> int:
        """Removes the entries with these ids, or those that meet a condition, in one commit.

        Ids that there are not are passed over. Older revisions keep what was removed.
        """

        def change(tx: ibidem.Transaction) -> int:
            staged = tx.at(viewer=self.viewer)
            if ids is None:
                nodes = [node.id for node in staged.query(label=self.name, where=where)]
            else:
                nodes = list(staged.find_nodes(self.node_id(one) for one in ids))
            for node in nodes:
                tx.remove_node(node)
            return len(nodes)

        ids = None if ids is None else items_of("ids", ids)
        return self.write(change, f"{self.name}: delete")

    # -- reading ---------------------------------------------------------------------------------

    def node_id(self, id: object) -> ibidem.NodeId:  # noqa: A002
        """Returns the id of the node that stands for an entry's id."""
        if not isinstance(id, str):
            raise ibidem.InvalidInputError(f"id: got {id!r:.80}, expected a text")
        return ibidem.node_id(self.name, id)

    def get(
        self, ids: Iterable[str], *, at: object = None, vectors: bool = False
    ) -> dict[str, Entry]:
        """Returns the entries with these ids, in their order, without those that there are not."""
        revision, wanted = self.at(at), {self.node_id(one): one for one in items_of("ids", ids)}
        found = revision.find_nodes(wanted)
        return {
            name: self.entry(revision, found[node], vectors=vectors)
            for node, name in wanted.items()
            if node in found
        }

    def entries(
        self,
        *,
        where: Where = None,
        limit: int | None = None,
        offset: int = 0,
        order_by: str | tuple[str, str] | None = None,
        at: object = None,
        vectors: bool = False,
    ) -> Iterator[Entry]:
        """Yields the entries that meet a condition, by id of their nodes or by a property."""
        revision = self.at(at)
        page = revision.page(
            label=self.name, where=where, limit=limit, offset=offset, order_by=order_by
        )
        for node in page.nodes:
            yield self.entry(revision, node, vectors=vectors)

    def count(self, *, where: Where = None, at: object = None) -> int:
        """Returns the number of entries that meet a condition."""
        return self.at(at).count(label=self.name, where=where)

    def nearest(
        self,
        vector: Sequence[float],
        *,
        limit: int,
        where: Where = None,
        at: object = None,
        vectors: bool = False,
        **options: Any,
    ) -> list[Found]:
        """Returns the entries whose vectors are most like one, best first, with the similarity."""
        revision = self.at(at)
        if self.model not in revision.config.models:
            return []  # no entry ever had a vector
        return self._found(
            revision,
            limit,
            where,
            vectors,
            {"vector": (self.model, _floats(vector)), **options},
        )

    def matching(
        self,
        text: str,
        *,
        limit: int,
        where: Where = None,
        at: object = None,
        vectors: bool = False,
        **options: Any,
    ) -> list[Found]:
        """Returns the entries that match a text, best first, by the options of a question."""
        return self._found(self.at(at), limit, where, vectors, {"text": text, **options})

    def hybrid(
        self,
        text: str,
        vector: Sequence[float],
        *,
        limit: int,
        share: float | None = None,
        where: Where = None,
        at: object = None,
        vectors: bool = False,
    ) -> list[Found]:
        """Returns the entries that match a text or a vector, best first.

        Args:
            text: the words.
            vector: the vector.
            limit: the most entries.
            share: weight of the vector, 0.0 to 1.0; by default that of the repository.
            where: a condition on metadata.
            at: the revision to read.
            vectors: whether to read the vectors of the entries.
        """
        revision = self.at(at)
        options: dict[str, Any] = {"text": text, "model": None}
        if self.model in revision.config.models:
            options["vector"] = (self.model, _floats(vector))
            if share is not None:
                options["weights"] = {"dense": share, "lexical": 1.0 - share}
        return self._found(revision, limit, where, vectors, options)

    def entry(
        self, revision: ibidem.Revision, node: ibidem.Node, *, vectors: bool = False
    ) -> Entry:
        """Returns the entry of a node."""
        text = "" if node.content is None else revision.content(node.id).decode()
        vector = None
        if vectors and self.model in revision.config.models:
            stored = revision.vector(node.id, self.model)
            vector = None if stored is None else stored.to_array().tolist()
        id_ = str(node.id) if node.key is None else str(node.key[1])
        return Entry(id_, text, plain(node.props), vector)

    def _found(
        self,
        revision: ibidem.Revision,
        limit: int,
        where: Where,
        vectors: bool,
        options: Mapping[str, Any],
    ) -> list[Found]:
        depth = max(DEPTH, limit) if isinstance(limit, int) else DEPTH
        answer = revision.retrieve(
            **{"depth": depth, **options, "limit": limit, "label": self.name, "where": where}
        )
        return [
            Found(self.entry(revision, item.node, vectors=vectors), _score(item), answer)
            for item in answer.items
        ]


def ranked(ask: Callable[[int], list[T]], accepts: Callable[[T], bool], limit: int) -> list[T]:
    """Returns the first of a ranking that are accepted: asks for more until there are enough.

    Args:
        ask: returns the ranking up to a number of entries.
        accepts: decides what a `where` cannot say.
        limit: the most entries.
    """
    wanted = count_of("limit", limit)
    while True:
        found = ask(wanted)
        accepted = [one for one in found if accepts(one)]
        if len(accepted) >= limit or len(found) < wanted:
            return accepted[:limit]
        wanted *= 2


def equals(name: str, value: object) -> dict[str, object] | None:
    """Returns a condition that holds for whatever has a property that Python calls equal to a text
    or a number; None if there is no such condition.

    It holds for a list with such a member too, so whoever means the list itself has to look again.

    >>> equals("year", 1), equals("lang", "en"), equals("tags", ["a"])
    ({'year': {'in': [True, 1, 1.0]}}, {'lang': 'en'}, None)
    """
    if name in ("and", "or", "not"):
        return None  # words of conditions
    if isinstance(value, bool | int | float):
        try:
            alike = [one for one in (value == 1, int(value), float(value)) if one == value]
        except (ValueError, OverflowError):
            return None  # not finite, or larger than a float
        return {name: {"in": alike}}
    return {name: value} if isinstance(value, str) else None


def compares(name: str, operator: str, value: object) -> dict[str, object] | None:
    """Returns a condition that holds for whatever has a property that Python orders so to a number:
    `gt`, `gte`, `lt` or `lte`; None for what is no number.

    >>> compares("year", "gte", 1990)
    {'or': [{'year': {'gte': 1990}}, {'year': {'in': [False, True]}}]}
    """
    if name in ("and", "or", "not") or type(value) not in (int, float):
        return None
    return {"or": [{name: {operator: value}}, {name: {"in": [False, True]}}]}


def plain(value: Any) -> Any:
    """Returns a stored value with dicts and lists of its own, which a caller may change."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def moment(microseconds: int) -> datetime:
    """Returns a time of the library, in microseconds since 1970 UTC, as Python has it.

    >>> moment(1_500_000).isoformat()
    '1970-01-01T00:00:01.500000+00:00'
    """
    seconds, rest = divmod(microseconds, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest)


def _score(item: ibidem.Item) -> float:
    """Returns the similarity of an item that one lane found; of others the fused score."""
    lanes = tuple(item.lanes.values())
    return lanes[0].score if len(lanes) == 1 else item.score


def _text(entry: Entry) -> str:
    if not isinstance(entry.text, str):
        raise ibidem.InvalidInputError(f"text: got {entry.text!r:.80}, expected a text")
    return entry.text


def _metadata(entry: Entry) -> Mapping[str, Any]:
    if not isinstance(entry.metadata, Mapping):
        raise ibidem.InvalidInputError(f"metadata: got {entry.metadata!r:.80}, expected a mapping")
    return entry.metadata


def _floats(vector: Sequence[float]) -> list[float]:
    """Returns the components as Python numbers, so that the caller's dtype decides nothing."""
    try:
        return [float(one) for one in vector]
    except (TypeError, ValueError) as error:
        raise ibidem.InvalidInputError(f"vector: {error}, expected numbers") from error
