"""Memories of users, agents and runs by the calls that programs written for mem0 make.

A memory is a record of the graph memory: a fact with a user, an agent and a run, as `repo.records`
writes it, found by `repo.retrieve`. What mem0 lets a language model decide is left to the caller:
`add` stores what it is given. Errors are those of `ibidem.errors`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import ibidem
from ibidem.adapters.collection import (
    check_may_write,
    count_of,
    mapping_of,
    moment,
    plain,
    ranked,
)

RESULTS: Final = 100
"""The most memories of a call."""
_OWNERS: Final = {"user_id": "user", "agent_id": "agent", "run_id": "session"}
"""The names of owners here and in a record."""


class Memory:
    """Adds, finds and corrects memories; a change is one commit."""

    def __init__(
        self,
        repository: ibidem.Repository,
        *,
        viewer: ibidem.Viewer | None = None,
        author: str = "",
        **options: Any,
    ) -> None:
        """Writes nothing.

        Args:
            repository: where the memories are.
            viewer: as whom to read, in a repository with a trust policy; a restricted one writes
                nothing and sees no `history`.
            author: of the commits.
            options: of the questions of `search`, such as `model` or `vector`.
        """
        self.viewer, self.options = viewer, options
        self.repository, self.records = repository, ibidem.GraphMemory(repository, author=author)

    # -- writing ---------------------------------------------------------------------------------

    def add(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        infer: bool = False,
    ) -> dict[str, Any]:
        """Stores a text, or each message but those of the system, as a memory of the owners named.

        A memory that is there already is the same memory; its event is then `NONE`.

        Args:
            messages: a text, a message with `role` and `content`, or several.
            user_id: whose memory it is.
            agent_id: which agent's.
            run_id: which run's.
            metadata: kept with it.
            infer: what mem0 asks a model for; not done here.
        """
        check_may_write(self.viewer)
        if infer:
            raise ibidem.InvalidInputError(
                "infer: got True, expected False: no language model is asked here",
                hint="pass the facts as texts",
            )
        owners = _owners(user_id, agent_id, run_id)
        about = {} if metadata is None else mapping_of("metadata", metadata)
        texts = list(_texts(messages))
        records = [
            ibidem.Record(
                ibidem.RecordType.SEMANTIC,
                text,
                scope="",
                payload={"metadata": about} if about else {},
                user=owners.get("user", ""),
                agent=owners.get("agent", ""),
                session=owners.get("session", ""),
            )
            for text in texts
        ]
        before = {one.id for one in self._list(owners)} if records else set()
        ids = self.records.add(records) if records else []
        return {
            "results": [
                {"id": str(id_), "memory": text, "event": "NONE" if id_ in before else "ADD"}
                for id_, text in zip(ids, texts, strict=True)
            ]
        }

    def update(self, memory_id: str, data: str) -> dict[str, str]:
        """Gives a memory another text; `history` has the former one."""
        check_may_write(self.viewer)
        self.records.update(self._get(memory_id).id or memory_id, text=data)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Hides a memory; history and older revisions have it."""
        check_may_write(self.viewer)
        self.records.delete(self._get(memory_id))
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
    ) -> dict[str, str]:
        """Hides all memories of the owners named, in one commit; one must be named."""
        check_may_write(self.viewer)
        found = self._list(_owners(user_id, agent_id, run_id))
        if found:
            self.records.delete(found)
        return {"message": "Memories deleted successfully!"}

    # -- reading ---------------------------------------------------------------------------------

    def get(self, memory_id: str, *, at: object = "HEAD") -> dict[str, Any] | None:
        """Returns a memory, None if there is none."""
        try:
            return _memory(self._get(memory_id, at))
        except ibidem.NotFoundError:
            return None

    def get_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        limit: int = RESULTS,
        at: object = "HEAD",
    ) -> dict[str, Any]:
        """Returns the memories of the owners named, the newest first.

        Args:
            user_id: whose.
            agent_id: which agent's.
            run_id: which run's.
            filters: owners by the same names, and metadata that must be equal.
            limit: the most memories.
            at: the revision to read.
        """
        owners, metadata = _split(filters, user_id, agent_id, run_id)
        found = [one for one in self._list(owners, at) if _has(_metadata(one), metadata)]
        newest = sorted(found, key=lambda one: (-(one.time or 0), str(one.id)))
        return {"results": [_memory(one) for one in newest[: count_of("limit", limit)]]}

    def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        filters: Mapping[str, Any] | None = None,
        limit: int = RESULTS,
        threshold: float | None = None,
        at: object = "HEAD",
    ) -> dict[str, Any]:
        """Returns the memories of the owners named that match a text, best first, with scores.

        Args:
            query: the text.
            user_id: whose.
            agent_id: which agent's.
            run_id: which run's.
            filters: as in `get_all`.
            limit: the most memories.
            threshold: the least score.
            at: the revision to read.
        """
        owners, metadata = _split(filters, user_id, agent_id, run_id)
        revision = self.repository.at(at, viewer=self.viewer)

        def ask(wanted: int) -> list[tuple[dict[str, Any], float]]:
            answer = revision.retrieve(
                query,
                **{
                    "depth": max(100, wanted),
                    **self.options,
                    "label": str(ibidem.RecordType.SEMANTIC),
                    "where": {**owners, "status": "active"},
                    "limit": wanted,
                },
            )
            return [
                (_memory(self._get(item.id, revision.commit_cid)), item.score)
                for item in answer.items
            ]

        found = ranked(
            ask, lambda one: _has(one[0]["metadata"], metadata), count_of("limit", limit)
        )
        return {
            "results": [
                {**memory, "score": score}
                for memory, score in found
                if threshold is None or score >= threshold
            ]
        }

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Returns what happened to a memory, the oldest first, each with its commit.

        Raises:
            NotFoundError: it was never there.
            InvalidInputError: kind `not-permitted`: the viewer is restricted.
        """
        if self.viewer is not None and not self.viewer.everything:
            raise ibidem.InvalidInputError(
                "history: a restricted viewer sees none, because commits tell of hidden memories",
                kind=ibidem.ErrorKind.NOT_PERMITTED,
            )
        changes: list[dict[str, Any]] = []
        before: str | None = None
        for commit in reversed([*self._deleted(memory_id), *self._touching(memory_id)]):
            found = self.repository.at(commit.cid, viewer=self.viewer).find_nodes([memory_id])
            after = next((node.summary for node in found.values()), None)
            if after != before:
                event = "ADD" if before is None else "UPDATE" if after is not None else "DELETE"
                changes.append(_change(memory_id, before, after, event, commit))
            before = after
        if not changes:
            raise ibidem.NotFoundError(f"memory {memory_id} was never there")
        return changes

    def _list(self, owners: Mapping[str, Any], at: object = "HEAD") -> Sequence[ibidem.Record]:
        return self.records.list(**owners, viewer=self.viewer, at=at)

    def _get(self, memory_id: ibidem.NodeId | str, at: object = "HEAD") -> ibidem.Record:
        return self.records.get(memory_id, viewer=self.viewer, at=at)

    def _touching(self, memory_id: str) -> Iterator[ibidem.Commit]:
        return self.repository.history.touching(node=memory_id)

    def _deleted(self, memory_id: str) -> list[ibidem.Commit]:
        """Returns the commit that hid a memory, which did not touch its node."""
        hiding: list[ibidem.Commit] = []
        for commit in self.repository.history.log():
            if self.repository.at(commit.cid, viewer=self.viewer).tombstone(memory_id) is None:
                break
            hiding = [commit]
        return hiding


class AsyncMemory:
    """`Memory` for asyncio: the same calls with the same arguments, awaited."""

    def __init__(
        self,
        repository: ibidem.Repository,
        *,
        viewer: ibidem.Viewer | None = None,
        author: str = "",
        **options: Any,
    ) -> None:
        """As `Memory`."""
        self.memory = Memory(repository, viewer=viewer, author=author, **options)

    async def add(self, *given: Any, **named: Any) -> dict[str, Any]:
        """As `Memory.add`."""
        return await asyncio.to_thread(self.memory.add, *given, **named)

    async def update(self, *given: Any, **named: Any) -> dict[str, str]:
        """As `Memory.update`."""
        return await asyncio.to_thread(self.memory.update, *given, **named)

    async def delete(self, *given: Any, **named: Any) -> dict[str, str]:
        """As `Memory.delete`."""
        return await asyncio.to_thread(self.memory.delete, *given, **named)

    async def delete_all(self, *given: Any, **named: Any) -> dict[str, str]:
        """As `Memory.delete_all`."""
        return await asyncio.to_thread(self.memory.delete_all, *given, **named)

    async def get(self, *given: Any, **named: Any) -> dict[str, Any] | None:
        """As `Memory.get`."""
        return await asyncio.to_thread(self.memory.get, *given, **named)

    async def get_all(self, *given: Any, **named: Any) -> dict[str, Any]:
        """As `Memory.get_all`."""
        return await asyncio.to_thread(self.memory.get_all, *given, **named)

    async def search(self, *given: Any, **named: Any) -> dict[str, Any]:
        """As `Memory.search`."""
        return await asyncio.to_thread(self.memory.search, *given, **named)

    async def history(self, *given: Any, **named: Any) -> list[dict[str, Any]]:
        """As `Memory.history`."""
        return await asyncio.to_thread(self.memory.history, *given, **named)


def _change(
    memory_id: str, before: str | None, after: str | None, event: str, commit: ibidem.Commit
) -> dict[str, Any]:
    return {
        "id": str(commit.cid),
        "memory_id": str(memory_id),
        "old_memory": before,
        "new_memory": after,
        "event": event,
        "created_at": moment(commit.time).isoformat(),
        "is_deleted": after is None,
        "actor_id": commit.author,
    }


def _owners(user_id: object, agent_id: object, run_id: object) -> dict[str, Any]:
    """Returns the owners named, by their names in a record."""
    given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    for name, value in given.items():
        if value is not None and (not isinstance(value, str) or not value):
            raise ibidem.InvalidInputError(f"{name}: got {value!r:.80}, expected a text")
    found = {_OWNERS[name]: str(value) for name, value in given.items() if value is not None}
    if not found:
        raise ibidem.InvalidInputError("owner: got none, expected user_id, agent_id or run_id")
    return found


def _split(
    filters: Mapping[str, Any] | None, user_id: object, agent_id: object, run_id: object
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the owners, and the metadata that filters ask for."""
    given = {} if filters is None else mapping_of("filters", filters)
    owners = _owners(
        given.pop("user_id", user_id), given.pop("agent_id", agent_id), given.pop("run_id", run_id)
    )
    return owners, given


def _texts(messages: object) -> Iterator[str]:
    if isinstance(messages, str):
        yield messages
        return
    listed = [messages] if isinstance(messages, Mapping) else messages
    if not isinstance(listed, Sequence):
        raise ibidem.InvalidInputError(f"messages: got {messages!r:.80}, expected texts")
    for one in listed:
        text = one.get("content") if isinstance(one, Mapping) else None
        if not isinstance(text, str) or not text:
            raise ibidem.InvalidInputError(
                f"messages: got {one!r:.80}, expected a role and a content that is a text"
            )
        if one.get("role") != "system":
            yield text


def _memory(record: ibidem.Record) -> dict[str, Any]:
    owners = {name: getattr(record, field) for name, field in _OWNERS.items()}
    return {
        "id": str(record.id),
        "memory": record.text,
        "metadata": _metadata(record),
        "created_at": None if record.time is None else moment(record.time).isoformat(),
        **{name: owner for name, owner in owners.items() if owner},
    }


def _metadata(record: ibidem.Record) -> dict[str, Any]:
    found: dict[str, Any] = plain(record.payload.get("metadata", {}))
    return found


def _has(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(metadata.get(name) == value for name, value in wanted.items())
