"""Who calls: the repository as this caller has it, and what its changes are recorded under."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import ibidem

if TYPE_CHECKING:
    from ibidem import Repository, Revision, Viewer, ViewerRepository, ViewerRevision

T = TypeVar("T")
HEAD = "HEAD"
FOR_READERS: dict[str, Any] = {"overflow": "excerpt", "dedupe": "near", "headings": "drop"}
"""The options of packs for agents, as the command line has them."""


@dataclass(frozen=True)
class Access:
    """A caller. Every tool gets one and reaches the repository through it alone."""

    repository: Repository | ViewerRepository
    viewer: Viewer | None = None
    """The caller under a trust policy; None where there is none."""
    is_read_only: bool = False
    author: str = ""
    agent: str = ""
    """The program that commits record; empty for the name that it gives itself."""
    task: str | None = None
    tools: frozenset[str] | None = None
    """The tools that are offered; None for all."""
    audit: Callable[[str, str, str | None], None] | None = None
    """Records a call before it is answered: its name, `ok` or the kind of the error, the root."""

    @property
    def is_restricted(self) -> bool:
        """Whether there may be more than the caller sees."""
        return isinstance(self.repository, ibidem.ViewerRepository)

    @property
    def owner(self) -> Repository:
        """The repository of a caller who sees everything.

        Raises:
            InvalidInputError: kind `not-permitted`: the caller does not.
        """
        if isinstance(self.repository, ibidem.Repository):
            return self.repository
        raise ibidem.InvalidInputError(
            "viewer: this is refused to a viewer who may not see everything",
            kind=ibidem.ErrorKind.NOT_PERMITTED,
        )

    def at(self, rev: object = HEAD) -> Revision | ViewerRevision:
        """Returns the graph at a revision, as the caller sees it."""
        return self.repository.at(rev, viewer=self.viewer)

    def audited(self, name: str, call: Callable[[], T], root: Callable[[T], str | None]) -> T:
        """Returns the result of a call, recorded whether it fails or not.

        Args:
            name: of the call.
            call: what is done.
            root: returns the root that its result is of.

        Raises:
            IbidemError: what the call raises, or the record.
        """
        if self.audit is None:
            return call()
        try:
            found = call()
        except ibidem.IbidemError as error:
            self.audit(name, error.kind.value, None)
            raise
        self.audit(name, "ok", root(found))
        return found

    def offers(self, name: str) -> bool:
        """Returns whether a tool is there for this caller."""
        if self.tools is not None and name not in self.tools:
            return False
        return self.may(name)

    def may(self, name: str) -> bool:
        """Returns whether the table of exposures gives this caller `mcp.NAME`."""
        is_refused = ibidem.exposure_of(f"mcp.{name}") is ibidem.Exposure.REFUSED
        return not (is_refused and self.is_restricted)


@dataclass(frozen=True)
class Reply:
    """The answer of a tool."""

    text: str
    """What a model reads."""
    structured: Mapping[str, Any] = field(default_factory=dict)
    """Ids, scores, CIDs and counts, by the output schema of the tool."""
