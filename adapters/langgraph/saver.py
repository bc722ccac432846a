"""A checkpointer for LangGraph: a branch per thread, a commit per checkpoint.

Each thread is a branch, `langgraph/` and its id, which begins at what the repository knew then. A
checkpoint is one commit on it, so a thread can be compared, forked and undone like any branch; a
task whose writes come before the checkpoint of its step is one more. Values of channels are stored
by their content, so a value that did not change is stored once. Keys in a branch do not name the
thread: a copy of a thread is another branch at the same commit.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

import ibidem
from ibidem.adapters.collection import check_may_write, plain, write

T = TypeVar("T")

BRANCHES: Final = "langgraph/"
"""What the branches of threads begin with."""
_HEX: Final = "hex/"
"""Of a thread whose id cannot be part of the name of a branch: its id in hexadecimal."""
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
NAMESPACE: Final = "langgraph"
"""The namespace of keys."""
CHECKPOINT, LATEST, VALUE, WRITES = (
    "LangGraphCheckpoint",
    "LangGraphLatest",
    "LangGraphValue",
    "LangGraphWrites",
)
"""Labels: a checkpoint, the newest id of a namespace, the value of a channel, the writes of the
tasks that follow a checkpoint."""


class IbidemSaver(BaseCheckpointSaver[int]):
    """A checkpointer: a branch per thread, a commit per checkpoint."""

    def __init__(
        self,
        repository: ibidem.Repository,
        *,
        serde: SerializerProtocol | None = None,
        viewer: ibidem.Viewer | None = None,
        author: str = "",
    ) -> None:
        """Writes nothing.

        Args:
            serde: how values become bytes; by default LangGraph's own, limited to the classes
                that it lists as safe. Name others that your state holds by
                `JsonPlusSerializer(allowed_msgpack_modules=[...])`.
            viewer: as whom to read, in a repository with a trust policy.
            author: of the commits.
        """
        super().__init__(serde=serde or JsonPlusSerializer(allowed_msgpack_modules=None))
        self.repository, self.viewer, self.author = repository, viewer, author

    # -- reading ---------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Returns a checkpoint, by default the newest of its namespace; None if there is none."""
        thread, namespace, id_ = _read(config)
        revision = self._at(thread)
        if revision is None:
            return None
        if id_ is None:
            latest = _find(revision, "latest", namespace)
            id_ = None if latest is None else latest.props["checkpoint"]
        node = None if id_ is None else _find(revision, "checkpoint", namespace, id_)
        return None if node is None else self._tuple(revision, thread, node)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yields checkpoints, the newest first; of all threads and namespaces if none is named."""
        wanted = {} if config is None else config.get("configurable", {})
        threads = [_read(config)[0]] if config is not None else sorted(self._threads())
        until = None if before is None else before["configurable"].get("checkpoint_id")
        found = 0
        for thread in threads:
            revision = self._at(thread)
            if revision is None:
                continue
            for node in reversed(_checkpoints(revision)):
                props = node.props
                if "checkpoint_ns" in wanted and props["namespace"] != wanted["checkpoint_ns"]:
                    continue
                if wanted.get("checkpoint_id", props["checkpoint"]) != props["checkpoint"]:
                    continue
                if until is not None and props["checkpoint"] >= until:
                    continue
                metadata = self._metadata(node)
                if any(metadata.get(name) != value for name, value in (filter or {}).items()):
                    continue
                if limit is not None and found >= limit:
                    return
                found += 1
                yield self._tuple(revision, thread, node)

    # -- writing ---------------------------------------------------------------------------------

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint in one commit on the branch of its thread."""
        thread, namespace, parent = _read(config)
        id_ = _text("checkpoint.id", checkpoint["id"])
        whole = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        body = self.serde.dumps_typed(whole)
        about = self.serde.dumps_typed(get_checkpoint_metadata(config, metadata))
        values = {
            name: self.serde.dumps_typed(value)
            for name, value in checkpoint["channel_values"].items()
        }

        def change(tx: ibidem.Transaction) -> None:
            stored = {name: str(_add_value(tx, value)) for name, value in values.items()}
            tx.add_node(
                CHECKPOINT,
                content=body[1],
                props={
                    "namespace": namespace,
                    "checkpoint": id_,
                    "parent": parent,
                    "type": body[0],
                    "metadata": list(about),
                    "values": stored,
                },
                key=["checkpoint", namespace, id_],
                namespace=NAMESPACE,
                replace=True,
            )
            latest = _staged(tx, "latest", namespace)
            if latest is None or latest.props["checkpoint"] < id_:
                _set_latest(tx, namespace, id_)

        step = f"step {metadata.get('step', '?')}, {metadata.get('source', '?')}"
        self._write(thread, change, step)
        return {
            "configurable": {
                "thread_id": thread,
                "checkpoint_ns": namespace,
                "checkpoint_id": id_,
            }
        }

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Stores what a task wrote, in one commit, so that it is not run again after a failure."""
        thread, namespace, id_ = _read(config)
        if id_ is None:
            raise ibidem.InvalidInputError("config: got no checkpoint_id, expected one")
        _text("task_id", task_id), _text("task_path", task_path)
        given = [
            (WRITES_IDX_MAP.get(channel, index), channel, self.serde.dumps_typed(value))
            for index, (channel, value) in enumerate(writes)
        ]

        def change(tx: ibidem.Transaction) -> None:
            before = _staged(tx, "writes", namespace, id_)
            rows = {
                (row[1], row[2]): row
                for row in (() if before is None else plain(before.props["writes"]))
            }
            for index, channel, value in given:
                if index >= 0 and (task_id, index) in rows:
                    continue  # it was stored before, and a task writes the same once
                node = str(_add_value(tx, value))
                rows[task_id, index] = [task_path, task_id, index, channel, node]
            ordered = sorted(rows.values(), key=lambda row: writes_sort_key(*row[:3]))
            tx.add_node(
                WRITES,
                props={"namespace": namespace, "checkpoint": id_, "writes": ordered},
                key=["writes", namespace, id_],
                namespace=NAMESPACE,
                replace=True,
            )

        if given:
            self._write(thread, change, f"writes of {task_id}")

    def delete_thread(self, thread_id: str) -> None:
        """Deletes the branch of a thread; `repo.history.undo()` brings it back."""
        name = _branch(_text("thread_id", thread_id))
        if name in self.repository.branches():
            self.repository.delete_branch(name, author=self.author)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Begins a thread as another one is: a branch at the same commit."""
        source, target = (
            _branch(_text("thread_id", one)) for one in (source_thread_id, target_thread_id)
        )
        branches = self.repository.branches()
        if source not in branches or source == target:
            return
        if target in branches:
            self.repository.delete_branch(target, author=self.author)
        self.repository.branch(target, at=source, author=self.author)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Removes the checkpoints of runs, in one commit on each thread that has any."""
        runs = set(run_ids)
        for thread in sorted(self._threads()) if runs else ():
            revision = self._at(thread)
            if revision is not None:
                gone = {
                    node.id
                    for node in _checkpoints(revision)
                    if self._metadata(node).get("run_id") in runs
                }
                self._remove(thread, gone, f"delete {len(gone)} checkpoints of runs")

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Removes all checkpoints of threads, or all but the newest of each namespace and those
        before it that its channels are rebuilt from."""
        if strategy not in ("keep_latest", "delete"):
            raise ibidem.InvalidInputError(
                f"strategy: got {strategy!r:.80}, expected 'keep_latest' or 'delete'"
            )
        for thread in thread_ids:
            revision = self._at(thread)
            if strategy == "delete":
                self.delete_thread(thread)
            elif revision is not None:
                nodes = _checkpoints(revision)
                needed = self._needed(nodes)
                self._remove(thread, {node.id for node in nodes} - needed, "prune")

    # -- asynchronous ----------------------------------------------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As `get_tuple`."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self, config: RunnableConfig | None, **options: Any
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        for found in await asyncio.to_thread(lambda: [*self.list(config, **options)]):
            yield found

    async def aput(self, config: RunnableConfig, *given: Any) -> RunnableConfig:
        """As `put`."""
        return await asyncio.to_thread(self.put, config, *given)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """As `put_writes`."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As `copy_thread`."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """As `delete_for_runs`."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """As `prune`."""
        await asyncio.to_thread(lambda: self.prune(thread_ids, strategy=strategy))

    # -- private ---------------------------------------------------------------------------------

    def _at(self, thread: str) -> ibidem.Revision | None:
        try:
            return self.repository.at(_branch(thread), viewer=self.viewer)
        except ibidem.NotFoundError:
            return None

    def _threads(self) -> Iterator[str]:
        for name in self.repository.branches():
            if name.startswith(BRANCHES):
                yield _thread(name)

    def _write(self, thread: str, change: Callable[[ibidem.Transaction], T], what: str) -> T:
        check_may_write(self.viewer)
        branch = _branch(thread)
        if branch not in self.repository.branches():
            self._begin(branch)
        return write(
            self.repository,
            change,
            branch=branch,
            author=self.author,
            message=f"{thread}: {what}",
        )

    def _begin(self, branch: str) -> None:
        if self.repository.head is None:
            self.repository.add("threads of LangGraph", label="LangGraph", author=self.author)
        try:
            self.repository.branch(branch, author=self.author)
        except ibidem.InvalidInputError:
            if branch not in self.repository.branches():
                raise  # nobody else began it

    def _tuple(self, revision: ibidem.Revision, thread: str, node: ibidem.Node) -> CheckpointTuple:
        props = node.props
        base = {"thread_id": thread, "checkpoint_ns": props["namespace"]}
        writes = _find(revision, "writes", props["namespace"], props["checkpoint"])
        rows = () if writes is None else writes.props["writes"]
        values = self._values(revision, [*props["values"].values(), *(row[4] for row in rows)])
        checkpoint = self.serde.loads_typed((props["type"], revision.content(node.id)))
        checkpoint["channel_values"] = {
            name: values[value]() for name, value in props["values"].items()
        }
        parent = props["parent"]
        return CheckpointTuple(
            config={"configurable": {**base, "checkpoint_id": props["checkpoint"]}},
            checkpoint=checkpoint,
            metadata=self._metadata(node),
            parent_config=(
                None if parent is None else {"configurable": {**base, "checkpoint_id": parent}}
            ),
            pending_writes=[(row[1], row[3], values[row[4]]()) for row in rows],
        )

    def _values(
        self, revision: ibidem.Revision, ids: Iterable[str]
    ) -> Mapping[str, Callable[[], Any]]:
        """Returns, for each id of a value, what makes the value of it: each time another one."""
        nodes = revision.find_nodes(dict.fromkeys(ids))

        def loader(node: ibidem.Node) -> Callable[[], Any]:
            content = b"" if node.content is None else revision.content(node.id)
            return lambda: self.serde.loads_typed((node.props["type"], content))

        return {str(one): loader(node) for one, node in nodes.items()}

    def _metadata(self, node: ibidem.Node) -> Any:
        return self.serde.loads_typed(tuple(node.props["metadata"]))

    def _needed(self, nodes: Sequence[ibidem.Node]) -> set[ibidem.NodeId]:
        """Returns the newest checkpoint of each namespace, and the ancestors that its channels of
        differences are rebuilt from: back to the newest whole value of each."""
        by_id = {(one.props["namespace"], one.props["checkpoint"]): one for one in nodes}
        newest = {one.props["namespace"]: one for one in nodes}
        needed = set()
        for namespace, one in newest.items():
            missing = set(self._metadata(one).get("counters_since_delta_snapshot", ()))
            current: ibidem.Node | None = one
            while current is not None:
                needed.add(current.id)
                missing -= set(current.props["values"])
                parent = current.props["parent"] if missing else None
                current = by_id.get((namespace, parent))
        return needed

    def _remove(self, thread: str, gone: set[ibidem.NodeId], what: str) -> None:
        """Removes checkpoints with their writes, and the values that none of the others has."""

        def change(tx: ibidem.Transaction) -> None:
            staged = tx.at(viewer=self.viewer)
            values, newest = set(), dict[str, str | None]()
            for node in sorted(staged.query(label=CHECKPOINT), key=_age):
                namespace, id_ = node.props["namespace"], node.props["checkpoint"]
                writes = _staged(tx, "writes", namespace, id_)
                if node.id in gone:
                    newest.setdefault(namespace, None)
                    tx.remove_node(node.id)
                    if writes is not None:
                        tx.remove_node(writes.id)
                else:
                    newest[namespace] = id_
                    values |= set(node.props["values"].values())
                    values |= {row[4] for row in (() if writes is None else writes.props["writes"])}
            for node in staged.query(label=VALUE):
                if str(node.id) not in values:
                    tx.remove_node(node.id)
            for namespace, last in newest.items():
                latest = _staged(tx, "latest", namespace)
                if last is not None:
                    _set_latest(tx, namespace, last)
                elif latest is not None:
                    tx.remove_node(latest.id)

        if gone:
            self._write(thread, change, what)


def _read(config: RunnableConfig) -> tuple[str, str, str | None]:
    """Returns thread, namespace and checkpoint of a config."""
    given = config.get("configurable", {})
    if given.get("thread_id") in (None, ""):
        raise ibidem.InvalidInputError("config: got no thread_id, expected one")
    id_ = given.get("checkpoint_id")
    return (
        str(given["thread_id"]),
        _text("checkpoint_ns", given.get("checkpoint_ns", "")),
        None if id_ is None else _text("checkpoint_id", id_),
    )


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ibidem.InvalidInputError(f"{name}: got {value!r:.80}, expected a text")
    return value


def _branch(thread: str) -> str:
    name = thread if _PLAIN.fullmatch(thread) else f"{_HEX}{thread.encode().hex()}"
    return BRANCHES + name


def _thread(branch: str) -> str:
    name = branch.removeprefix(BRANCHES)
    if not name.startswith(_HEX):
        return name
    return bytes.fromhex(name.removeprefix(_HEX)).decode()


def _key_id(*key: str) -> ibidem.NodeId:
    return ibidem.node_id(NAMESPACE, list(key))


def _find(revision: ibidem.Revision, *key: str) -> ibidem.Node | None:
    id_ = _key_id(*key)
    return revision.find_nodes([id_]).get(id_)


def _staged(tx: ibidem.Transaction, *key: str) -> ibidem.Node | None:
    return tx.find_node(_key_id(*key))


def _checkpoints(revision: ibidem.Revision) -> list[ibidem.Node]:
    """Returns the nodes of all checkpoints, the oldest first."""
    return sorted(revision.query(label=CHECKPOINT), key=_age)


def _age(node: ibidem.Node) -> tuple[str, str]:
    return node.props["checkpoint"], node.props["namespace"]


def _add_value(tx: ibidem.Transaction, value: tuple[str, bytes]) -> ibidem.NodeId:
    return tx.add_node(VALUE, content=value[1], props={"type": value[0]})


def _set_latest(tx: ibidem.Transaction, namespace: str, id_: str) -> None:
    tx.add_node(
        LATEST,
        props={"namespace": namespace, "checkpoint": id_},
        key=["latest", namespace],
        namespace=NAMESPACE,
        replace=True,
    )
