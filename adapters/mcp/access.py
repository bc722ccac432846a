"""Who calls: the repository as this caller has it, and what its changes are recorded under."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import ibidem

if TYPE_CHECKING:
    from ibidem import Repository, Revision, Viewer, ViewerRepository, ViewerRevision

HEAD = "HEAD"


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

    def offers(self, name: str) -> bool:
        """Returns whether a tool is there for this caller."""
        if self.tools is not None and name not in self.tools:
            return False
        is_refused = ibidem.exposure_of(f"mcp.{name}") is ibidem.Exposure.REFUSED
        return not (is_refused and self.is_restricted)


@dataclass(frozen=True)
class Reply:
    """The answer of a tool."""

    text: str
    """What a model reads."""
    structured: Mapping[str, Any] = field(default_factory=dict)
    """Ids, scores, CIDs and counts, by the output schema of the tool."""
