"""Automatic compaction: a thread that has grown beyond a threshold gets a summary of its beginning.

The summary stands for everything but the newest units, older summaries among them, so that a long
conversation is a summary of summaries and a tail. Messages that belong together, such as the call
of a tool and its answer, are never separated. A function of the program writes the text, or a
model, or it is made of sentences of the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ibidem.memory.conversation import summary
from ibidem.memory.conversation.message import SOURCES_MAX, Stored
from ibidem.memory.conversation.units import Unit, units
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.answer.render import clip
from ibidem.retrieve.answer.summary import summary_of
from ibidem.retrieve.query import checks
from ibidem.retrieve.tokens import HEURISTIC

if TYPE_CHECKING:
    from ibidem.embed.language_model import LanguageModel

RECENT_DEFAULT = 10
_SENTENCES = 8
_SHORT_CHARS = 400
"""Of messages without a sentence."""

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
        return cls(over_tokens, lambda found: summary.summary_of(found, model), recent, model.name)

    @classmethod
    def of_sentences(cls, *, over_tokens: int, recent: int = RECENT_DEFAULT) -> Compaction:
        """Returns a compaction whose summaries are the sentences that say most, word for word; no
        model is called."""
        return cls(over_tokens, _sentences, recent, "sentences")

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


def _sentences(found: Sequence[Stored]) -> str:
    chosen = summary_of([one.text for one in found], "", _SENTENCES).text
    return chosen or clip(" ".join(" ".join(one.text for one in found).split()), _SHORT_CHARS)
