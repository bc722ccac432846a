"""Automatic compaction: a thread that has grown beyond a threshold gets a summary of its beginning.

The summary stands for everything but the newest units, older summaries among them, so that a long
conversation is a summary of summaries and a tail. Messages that belong together, such as the call
of a tool and its answer, are never separated. The program gives the function that writes the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ibidem.memory.conversation.message import SOURCES_MAX, Stored
from ibidem.memory.conversation.units import Unit, units
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.query import checks
from ibidem.retrieve.tokens import HEURISTIC

if TYPE_CHECKING:
    from ibidem.embed.language_model import LanguageModel

RECENT_DEFAULT = 10

Summarise = Callable[[Sequence[Stored]], str]
"""Returns the summary of messages and earlier summaries, given in order."""


@record
class Compaction:
    """When and how a thread is compacted."""

    over_tokens: int
    """The tokens of the thread's view, by the built-in estimator, above which it is compacted."""
    summarise: Summarise
    """Is called once for each compaction, before anything of it is written."""
    recent: int = RECENT_DEFAULT
    """The units at the end that are never summarised."""
    model: str | None = None
    """The author or model of the texts, stored with them."""

    def __post_init__(self) -> None:
        checks.count("over_tokens", self.over_tokens)
        checks.count("recent", self.recent)
        if not callable(self.summarise):
            raise InvalidInputError(
                f"summarise: got {self.summarise!r:.80}, expected a function of messages"
            )

    @classmethod
    def by(
        cls, model: LanguageModel, *, over_tokens: int, recent: int = RECENT_DEFAULT
    ) -> Compaction:
        """Returns a compaction whose summaries a language model writes."""
        from ibidem.memory.conversation.summary import summary_of

        return cls(over_tokens, lambda found: summary_of(found, model), recent, model.name)

    def range_of(self, view: Sequence[Stored]) -> tuple[Stored, ...]:
        """Returns the messages and summaries to summarise together, in order; none if the view is
        within the threshold, or if nothing would become shorter.

        Args:
            view: the summaries of a thread, and the messages after them, in order.
        """
        if sum(HEURISTIC.estimate(one.text) for one in view) <= self.over_tokens:
            return ()
        raw = [one for one in view if not one.is_summary]
        whole = [Unit((one,)) for one in view if one.is_summary] + units(raw, "message")
        whole.sort(key=lambda unit: unit.messages[0].ord)
        older = whole[: max(0, len(whole) - self.recent)]
        found = [message for unit in older for message in unit.messages]
        while found and found[-1].last - found[0].ord >= SOURCES_MAX:
            found.pop()
        return tuple(found) if len(found) > 1 else ()
