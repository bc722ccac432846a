"""A store for LangGraph: items by namespace and key, for what lasts longer than a thread."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    ensure_embeddings,
    get_text_at_path,
)

import ibidem
from ibidem.adapters.collection import (
    Collection,
    Entry,
    count_of,
    items_of,
    mapping_of,
    moment,
    plain,
    text_of,
)

_NAMESPACES, _CREATED, _UPDATED = "store.namespaces", "store.created_at", "store.updated_at"
_OWN = frozenset((_NAMESPACES, _CREATED, _UPDATED))
PARTS_MAX = 100
"""Of a namespace; an item has every beginning of its own."""


class IbidemStore(BaseStore):
    """Items by namespace and key; a batch of operations is one commit.

    The fields of an item are properties, so `retrieve` and `where` reach them from everywhere. With
    `index`, the text of the fields named there is the content of the node, and has one vector.
    """

    def __init__(
        self,
        repository: ibidem.Repository,
        *,
        index: IndexConfig | None = None,
        collection: str = "store",
        branch: str | None = None,
        viewer: ibidem.Viewer | None = None,
        author: str = "",
    ) -> None:
        """Writes nothing; see `Collection` for the arguments.

        Args:
            index: `embed`, what makes vectors, and `fields`, by default the whole item; without
                it, `query` of a search has no effect, as in other stores.
        """
        self.collection = Collection(
            repository, collection, branch=branch, viewer=viewer, author=author
        )
        self.fields = list((index or {}).get("fields") or ["$"])
        self.embeddings = None if index is None else ensure_embeddings(index.get("embed"))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Returns what the operations find, on one revision, and then makes their changes."""
        given, puts = _sorted_ops(ops)
        queries = [one.query for one in given if isinstance(one, SearchOp) and one.query]
        texts = [self._text(one) for one in puts]
        vectors, wanted = None, None
        if self.embeddings is not None:
            vectors = self.embeddings.embed_documents([one for one in texts if one])
            wanted = [self.embeddings.embed_query(one) for one in queries]
        return self._run(given, puts, texts, vectors, wanted)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`."""
        given, puts = _sorted_ops(ops)
        queries = [one.query for one in given if isinstance(one, SearchOp) and one.query]
        texts = [self._text(one) for one in puts]
        vectors, wanted = None, None
        if self.embeddings is not None:
            vectors = await self.embeddings.aembed_documents([one for one in texts if one])
            wanted = [await self.embeddings.aembed_query(one) for one in queries]
        return await asyncio.to_thread(self._run, given, puts, texts, vectors, wanted)

    # -- private ---------------------------------------------------------------------------------

    def _run(
        self,
        ops: Sequence[Op],
        puts: Sequence[PutOp],
        texts: Sequence[str],
        vectors: Sequence[Sequence[float]] | None,
        wanted: Sequence[Sequence[float]] | None,
    ) -> list[Result]:
        found: list[Result] = []
        queries = iter(wanted or ())
        revision = self._revision()
        for one in ops:
            match one:
                case GetOp():
                    found.append(self._get(revision, one))
                case SearchOp():
                    query = next(queries) if one.query and wanted is not None else None
                    found.append(self._search(revision, one, query))
                case ListNamespacesOp():
                    found.append(self._namespaces(revision, one))
                case _:
                    found.append(None)
        if puts:
            made = iter(vectors or ())
            rows = [
                (op, text, next(made) if text and vectors is not None else None)
                for op, text in zip(puts, texts, strict=True)
            ]
            self.collection.write(lambda tx: self._put(tx, rows), f"store: {len(puts)} items")
        return found

    def _revision(self) -> ibidem.Revision | None:
        try:
            return self.collection.at()
        except ibidem.NotFoundError:
            return None  # nothing was ever written

    def _put(
        self, tx: ibidem.Transaction, rows: Sequence[tuple[PutOp, str, Sequence[float] | None]]
    ) -> None:
        for op, text, vector in rows:
            id_ = _store_key(op.namespace, op.key)
            before = tx.find_node(self.collection.node_id(id_))
            if op.value is None:
                if before is not None:
                    tx.remove_node(before.id)
                continue
            created = tx.now() if before is None else before.props[_CREATED]
            taken = sorted(_OWN.intersection(op.value))
            if taken:
                raise ibidem.InvalidInputError(f"value.{taken[0]}: got a name that the store uses")
            own = {_NAMESPACES: _prefixes(op.namespace), _CREATED: created, _UPDATED: tx.now()}
            self.collection.stage(tx, Entry(id_, text, {**op.value, **own}, vector))

    def _text(self, op: PutOp) -> str:
        """Returns the text that an item is found by; empty for none."""
        if self.embeddings is None or op.value is None or op.index is False:
            return ""
        fields = self.fields if op.index is None else op.index
        return "\n".join(text for path in fields for text in get_text_at_path(op.value, path))

    def _get(self, revision: ibidem.Revision | None, op: GetOp) -> Item | None:
        if revision is None:
            return None
        id_ = self.collection.node_id(_store_key(op.namespace, op.key))
        node = revision.find_nodes([id_]).get(id_)
        return None if node is None else _item(node)

    def _search(
        self, revision: ibidem.Revision | None, op: SearchOp, vector: Sequence[float] | None
    ) -> list[SearchItem]:
        if revision is None:
            return []
        where = {_NAMESPACES: _path(op.namespace_prefix)}
        listed = [_item(node) for node in self._nodes(revision, where)]
        items = {
            (one.namespace, one.key): one for one in listed if _matches(one.value, op.filter or {})
        }
        scores: dict[tuple[tuple[str, ...], str], float] = {}
        if vector is not None and items:
            for one in self.collection.nearest(
                vector, limit=len(listed), where=where, at=revision.commit_cid
            ):
                namespace, key = json.loads(one.entry.id)
                scores[tuple(namespace), key] = one.score
        ranked = [one for one in scores if one in items]
        ranked += [one for one in items if one not in scores]
        return [
            SearchItem(
                namespace=namespace,
                key=key,
                value=items[namespace, key].value,
                created_at=items[namespace, key].created_at,
                updated_at=items[namespace, key].updated_at,
                score=scores.get((namespace, key)),
            )
            for namespace, key in ranked[op.offset : op.offset + op.limit]
        ]

    def _namespaces(
        self, revision: ibidem.Revision | None, op: ListNamespacesOp
    ) -> list[tuple[str, ...]]:
        if revision is None:
            return []
        found = {_item(node).namespace for node in self._nodes(revision, None)}
        conditions = op.match_conditions or ()
        found = {one for one in found if all(_fits(one, condition) for condition in conditions)}
        cut = sorted({one[: op.max_depth] for one in found})
        return cut[op.offset : op.offset + op.limit]

    def _nodes(
        self, revision: ibidem.Revision, where: Mapping[str, object] | None
    ) -> list[ibidem.Node]:
        """Returns the nodes of items, the one that was changed last first."""
        return revision.query(
            label=self.collection.name, where=where, order_by=(_UPDATED, "descending")
        )


def _sorted_ops(ops: Iterable[Op]) -> tuple[list[Op], list[PutOp]]:
    """Returns all operations, and of those that write the last for each item."""
    given = items_of("ops", ops)
    for one in given:
        _check(one)
    puts = {(tuple(one.namespace), one.key): one for one in given if isinstance(one, PutOp)}
    return given, list(puts.values())


def _check(op: object) -> None:
    """Raises `InvalidInputError` for what is no operation of a store, or has a wrong field."""
    match op:
        case GetOp() | PutOp():
            _check_namespace("namespace", op.namespace)
            text_of("key", op.key)
            if isinstance(op, PutOp) and op.value is not None:
                mapping_of("value", op.value)
        case SearchOp():
            _check_namespace("namespace_prefix", op.namespace_prefix)
            if op.filter is not None:
                mapping_of("filter", op.filter)
        case ListNamespacesOp():
            for condition in items_of("match_conditions", op.match_conditions or ()):
                if not isinstance(condition, MatchCondition):
                    raise ibidem.InvalidInputError(
                        f"match_conditions: got {condition!r:.80}, expected a MatchCondition"
                    )
            if op.max_depth is not None:
                count_of("max_depth", op.max_depth)
        case _:
            raise ibidem.InvalidInputError(f"op: got {op!r:.80}, expected an operation of a store")
    if isinstance(op, SearchOp | ListNamespacesOp):
        count_of("limit", op.limit)
        count_of("offset", op.offset)


def _check_namespace(name: str, given: object) -> None:
    parts = [text_of(name, part) for part in items_of(name, given)]
    if len(parts) > PARTS_MAX:
        raise ibidem.InvalidInputError(
            f"{name}: got {len(parts)} parts, expected at most {PARTS_MAX}",
            kind=ibidem.ErrorKind.LIMIT_EXCEEDED,
        )


def _path(namespace: Iterable[str]) -> str:
    return json.dumps(list(namespace), ensure_ascii=False, separators=(",", ":"))


def _prefixes(namespace: Sequence[str]) -> list[str]:
    """Returns every beginning of a namespace, the empty one too: a prefix is one of them."""
    return [_path(namespace[:count]) for count in range(len(namespace) + 1)]


def _store_key(namespace: Iterable[str], key: str) -> str:
    return json.dumps([list(namespace), key], ensure_ascii=False, separators=(",", ":"))


def _item(node: ibidem.Node) -> Item:
    assert node.key is not None, "BUG: an item without a key"
    namespace, key = json.loads(node.key[1])
    return Item(
        value={name: plain(value) for name, value in node.props.items() if name not in _OWN},
        key=key,
        namespace=tuple(namespace),
        created_at=moment(node.props[_CREATED]),
        updated_at=moment(node.props[_UPDATED]),
    )


def _matches(value: Any, wanted: Any) -> bool:
    """Returns whether a value is as a filter says: maps by their fields or operators."""
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compares(value, name, bound) for name, bound in wanted.items())
        return isinstance(value, Mapping) and all(
            _matches(value.get(name), one) for name, one in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(wanted)
            and all(map(_matches, value, wanted))
        )
    return bool(value == wanted)


def _compares(value: Any, operator: str, bound: Any) -> bool:
    if operator == "$eq":
        return bool(value == bound)
    if operator == "$ne":
        return bool(value != bound)
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise ibidem.InvalidInputError(
            f"filter: got the operator {operator!r:.80}, expected $eq, $ne, $gt, $gte, $lt or $lte"
        )
    try:
        one, other = float(value), float(bound)
    except (TypeError, ValueError) as error:
        raise ibidem.InvalidInputError(f"filter.{operator}: {error}, expected numbers") from error
    return {"$gt": one > other, "$gte": one >= other, "$lt": one < other, "$lte": one <= other}[
        operator
    ]


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Returns whether a namespace begins or ends with a path; `*` stands for any label."""
    path = condition.path
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return len(namespace) >= len(path) and all(
        wanted in ("*", label) for label, wanted in zip(part, path, strict=True)
    )
