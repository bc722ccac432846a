"""The options of a question to a repository as type checkers see them; see `query/signature.py`."""

from __future__ import annotations

from datetime import datetime

from ibidem.embed.protocol import Embedder
from ibidem.objects.cid import CommitCid
from ibidem.retrieve.query.signature import SharedOptions


class QuestionOptions(SharedOptions, total=False):
    """What `retrieve` takes."""

    valid_at: int | datetime | None
    """A moment with an offset, or microseconds since 1970 UTC, as `as_of`."""
    as_of: int | datetime | None
    notes: CommitCid | str | None
    """A state of the notes, or the name of their space."""
    model: str | None
    embedder: Embedder | None
    rerank_timeout: float | None
    strict: bool
