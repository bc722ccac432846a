"""Commits: who made which state out of which, when and why.

Spec: format 5.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar, Self

from ibidem.objects.block import (
    Block,
    Map,
    empty,
    frozen_extra,
    require,
    require_optional_text,
    require_text,
    typed_link,
)
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.constants import FORMAT_VERSION, TIME_MAX, TIME_MIN
from ibidem.objects.errors import CorruptError
from ibidem.objects.record import record

_KNOWN = frozenset(("root", "parents", "author", "time", "message", "agent", "task", "signature"))


@record(eq=False)
class Commit(Block):
    """One step of history."""

    KIND: ClassVar[str] = "commit"
    OPTIONAL: ClassVar[frozenset[str]] = frozenset(
        ("parents", "author", "message", "agent", "task", "signature")
    )
    CID: ClassVar[type[CommitCid]] = CommitCid

    root: RootCid
    parents: tuple[CommitCid, ...] = ()
    """What it was made from, distinct; the first is the branch it was made on."""
    author: str = ""
    time: int = 0
    """Microseconds since 1970 UTC."""
    message: str = ""
    agent: str | None = None
    """The program that acted for the author, where one did."""
    task: str | None = None
    """What the agent was asked to do, or the name of its run."""
    signature: bytes | None = None
    """A signature over the block without this field; its scheme is the signer's."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        require(type(self.root) is RootCid, "commit", "root", self.root, "a RootCid")
        put = object.__setattr__
        put(self, "parents", checked_links("commit", "parents", self.parents, CommitCid))
        require_text("commit", "author", self.author)
        require_text("commit", "message", self.message)
        require_time("commit", self.time)
        require_optional_text("commit", "agent", self.agent)
        require_optional_text("commit", "task", self.task)
        require(
            self.signature is None or type(self.signature) is bytes,
            "commit",
            "signature",
            self.signature,
            "bytes",
        )
        put(self, "extra", frozen_extra(Commit, _KNOWN, self.extra))

    @property
    def cid(self) -> CommitCid:
        """The identity of the commit: the hash of its bytes."""
        return CommitCid.of(self.encode())

    def to_map(self) -> Map:
        """Returns the block as a map, in canonical order unless there is `extra`."""
        fields: Map = {"v": FORMAT_VERSION, "kind": "commit", "root": self.root}
        if self.task:
            fields["task"] = self.task
        fields["time"] = self.time
        if self.agent:
            fields["agent"] = self.agent
        if self.author:
            fields["author"] = self.author
        if self.message:
            fields["message"] = self.message
        if self.parents:
            fields["parents"] = self.parents
        if self.signature:
            fields["signature"] = self.signature
        fields.update(self.extra)
        return fields

    @classmethod
    def _read(cls, fields: Map) -> Self:
        take = fields.pop
        return cls(
            root=typed_link("commit", "root", take("root"), RootCid),
            parents=read_links("commit", "parents", take("parents", []), CommitCid),
            author=take("author", ""),
            time=take("time"),
            message=take("message", ""),
            agent=take("agent", None),
            task=take("task", None),
            signature=take("signature", None),
            extra=fields,
        )


def require_time(owner: str, value: object) -> None:
    """Raises unless `value` is int64 microseconds since 1970 UTC."""
    valid = type(value) is int and TIME_MIN <= value <= TIME_MAX
    require(valid, owner, "time", value, "an integer, microseconds since 1970 UTC")


def checked_links(owner: str, name: str, value: object, cls: type[Cid]) -> tuple[Any, ...]:
    """Returns `value` as a tuple of distinct `cls`, or raises `InvalidInputError`."""
    require(isinstance(value, (tuple, list)), owner, name, value, f"a tuple of {cls.__name__}")
    links: tuple[Any, ...] = tuple(value)  # type: ignore[arg-type]
    for link in links:
        require(type(link) is cls, owner, name, link, f"a {cls.__name__}")
    require(len(set(links)) == len(links), owner, name, links, "each link once")
    return links


def read_links(owner: str, name: str, value: object, cls: type[Cid]) -> tuple[Any, ...]:
    """Returns a decoded list of links as a tuple of `cls`."""
    if type(value) is not list:
        raise CorruptError(f"{owner}.{name}: got {value!r:.80}, expected a list of links")
    return tuple(typed_link(owner, name, link, cls) for link in value)
