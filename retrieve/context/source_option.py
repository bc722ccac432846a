"""Which sources share the budget of one question for a model, and how: documents, facts and a
conversation.

Spec: packs 10.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import option_checks
from ibidem.retrieve.query.options import default

DOCUMENTS, FACTS, CONVERSATION = "documents", "facts", "conversation"


@record
class Sources:
    """The sources of a context; a share is a weight, and 0 leaves a source out."""

    as_of: int
    """When facts are valid, and up to when messages count, microseconds since 1970 UTC."""
    thread: str | None = default("sources.thread")
    """The conversation; None for none."""
    recent: int = default("sources.recent")
    user: str | None = default("sources.user")
    """Whose facts, besides those of nobody in particular; None for anybody's. So are the next."""
    agent: str | None = default("sources.agent")
    session: str | None = default("sources.session")
    documents: int = default("sources.documents")
    facts: int = default("sources.facts")
    conversation: int = default("sources.conversation")

    @property
    def has_conversation(self) -> bool:
        """Whether a conversation has a share."""
        return self.thread is not None and self.conversation > 0

    def form(self) -> dict[str, Any]:
        """Returns the canonical form, every field present."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


def resolve_sources(given: object) -> Sources:
    """Returns the sources of a caller, checked.

    Args:
        given: a map of some options of `sources`, among them the time.

    Raises:
        InvalidInputError: an option is unknown, or of the wrong type or size; the message names it.
    """
    found = Sources(**option_checks.parts("sources", option_checks.filled("sources", given) or {}))
    if not (found.documents or found.facts or found.has_conversation):
        raise InvalidInputError("sources: got shares of 0, expected a source with a share")
    return found
