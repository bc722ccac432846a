"""Units: messages that are used together or not at all, and their selection under a budget. A
message with tool calls and the answers to them are one unit; most models reject half of one. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ibidem.memory.conversation.message import Stored
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.context.window import SKIP, STOP, fitting, united
from ibidem.retrieve.query import checks

USER = "user"
UNITS = ("message", "exchange")


@record
class Unit:
    """Messages of one thread that belong together, in order."""

    messages: tuple[Stored, ...]
    is_required: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """The identity of a unit: the thread and the first ord."""
        return self.messages[0].thread, self.messages[0].ord


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
            position for position, one in enumerate(messages) if one.role == USER or position == 0
        ]
        stops = [*starts[1:], len(messages)]
        return [Unit(tuple(messages[a:b])) for a, b in zip(starts, stops, strict=True)]
    calls = [[f"#{one.ord}", *map("call {}".format, calls_of(one))] for one in messages]
    return [Unit(tuple(messages[position] for position in group)) for group in united(calls)]


def calls_of(message: Stored) -> tuple[str, ...]:
    """Returns the ids of the tool calls that a message makes or answers."""
    own = () if message.tool_call_id is None else (message.tool_call_id,)
    return (*message.tool_calls, *own)


def check_kind(kind: str) -> None:
    """Raises `InvalidInputError` for an unknown kind of unit."""
    if kind not in UNITS:
        raise InvalidInputError(f"unit: got {kind!r:.80}, expected {' or '.join(UNITS)}")


def shares(total: int, weights: Sequence[int]) -> list[int]:
    """Divides a total by weights, by the largest remainder method; ties go to the earlier.

    >>> shares(100, [6, 4]), shares(10, [1, 1, 1])
    ([60, 40], [4, 3, 3])
    """
    checks.count("total", total)
    for weight in weights:
        checks.count("weight", weight)
    whole = sum(weights)
    if whole < 1:
        raise InvalidInputError(f"weights: got {list(weights)}, expected one above 0")
    found = [total * weight // whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for position in order[: total - sum(found)]:
        found[position] += 1
    return found


def effective_budget(window: int, *, output: int = 0, overhead: int = 0) -> int:
    """Returns the tokens available for context, at least 0.

    Args:
        window: of the model.
        output: reserved for its answer.
        overhead: instructions and the like.
    """
    checks.count("window", window)
    return max(0, window - checks.count("output", output) - checks.count("overhead", overhead))


def fit(
    found: Sequence[Unit], cost: Callable[[Unit], int], budget: int | None, *, stops: bool = False
) -> tuple[list[Unit], int, int]:
    """Returns the units that fit, in order, with their cost and the number left out.

    Required units are taken first; the others in order, each if it still fits.

    Args:
        stops: the first that does not fit is the last that is looked at.

    Raises:
        InvalidInputError: kind `limit-exceeded`: the required ones alone do not fit.
    """
    required = [unit for unit in found if unit.is_required]
    used = sum(map(cost, required))
    if budget is not None and used > budget:
        raise InvalidInputError(
            f"budget: got {budget} tokens, expected at least {used} for what is required",
            kind=ErrorKind.LIMIT_EXCEEDED,
            hint="allow more tokens, or require less",
        )
    others = [unit for unit in found if not unit.is_required]
    taken, left = fitting(
        len(others),
        lambda position: cost(others[position]),
        limit=None,
        budget=None if budget is None else budget - used,
        overflow=STOP if stops else SKIP,
        cut=lambda position, room: False,
    )
    kept = {id(others[position]) for position in taken} | {id(unit) for unit in required}
    used += sum(cost(others[position]) for position in taken)
    return [unit for unit in found if id(unit) in kept], used, len(left)
