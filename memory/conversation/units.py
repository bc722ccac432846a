"""Units: messages that are used together or not at all, and their selection under a budget. A
message with tool calls and the answers to them are one unit; most models reject half of one. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from ibidem.memory.conversation.message import Stored
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record
from ibidem.retrieve.context.window import united
from ibidem.retrieve.query import checks

USER = "user"
UNITS = ("message", "exchange")


@record
class Unit:
    """Messages of one thread that belong together, in order."""

    messages: tuple[Stored, ...]
    is_required: bool = False

    @property
    def key(self) -> NodeId:
        """The identity of a unit: its first message."""
        return self.messages[0].id


def units(messages: Sequence[Stored], kind: str = "message") -> list[Unit]:
    """Returns the units of messages in thread order.

    Args:
        messages: of one thread, by ord.
        kind: `message`: a message, or those connected by ids of tool calls; `exchange`: a user's
            message and all that follows up to the next one.
    """
    check_kind(kind)
    if kind == "exchange":
        starts = [
            position for position, one in enumerate(messages) if is_question(one) or position == 0
        ]
        stops = [*starts, len(messages)][1:]
        return [Unit(tuple(messages[a:b])) for a, b in zip(starts, stops, strict=True)]
    calls = [[f"#{one.id}", *map("call {}".format, calls_of(one))] for one in messages]
    return [Unit(tuple(messages[position] for position in group)) for group in united(calls)]


def newest_units(view: Sequence[Stored], kind: str) -> list[Unit]:
    """Returns the units of a thread's view, newest first; a summary is a unit of its own."""
    raw = [one for one in view if not one.is_summary]
    whole = [Unit((one,)) for one in view if one.is_summary] + units(raw, kind)
    return sorted(whole, key=lambda one: one.messages[0].sort_key)[::-1]


def calls_of(message: Stored) -> tuple[str, ...]:
    """Returns the ids of the tool calls that a message makes or answers."""
    own = () if message.tool_call_id is None else (message.tool_call_id,)
    return (*message.tool_calls, *own, *message.tool_results)


def is_question(message: Stored) -> bool:
    """Returns whether a message begins an exchange: it is a user's, and no result of a tool."""
    return message.role == USER and not message.tool_results


def check_kind(kind: str) -> None:
    """Raises `InvalidInputError` for an unknown kind of unit."""
    if kind not in UNITS:
        raise InvalidInputError(f"unit: got {kind!r:.80}, expected {' or '.join(UNITS)}")


def effective_budget(window: int, *, output: int = 0, overhead: int = 0) -> int:
    """Returns the tokens available for context, at least 0.

    Args:
        window: of the model.
        output: reserved for its answer.
        overhead: instructions and the like.
    """
    checks.count("window", window)
    return max(0, window - checks.count("output", output) - checks.count("overhead", overhead))
