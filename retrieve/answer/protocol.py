"""What all answers have in common: of nodes, packs and records, prompts, recalls, and messages and
contexts of a conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ibidem.retrieve.answer.receipt import Receipt
    from ibidem.retrieve.answer.warning import AnswerWarning


@runtime_checkable
class AnswerProtocol(Protocol):
    """An answer: its items, its text for a model, what it cost, and what it came from.

    `print(answer)` shows it to a person.
    """

    @property
    def items(self) -> Sequence[Any]:
        """What was found, in order."""

    @property
    def text(self) -> str:
        """The text of the items, as a model is given it."""

    @property
    def tokens_used(self) -> int:
        """The tokens of the text, as the answer counts them."""

    @property
    def warnings(self) -> tuple[AnswerWarning, ...]:
        """What a caller should know although the answer is correct."""

    @property
    def receipt(self) -> Receipt | None:
        """The receipt that replays the answer; None if it has none. Its text is its CID."""

    def explain(self) -> str:
        """Returns for a person how the answer came about."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the answer as plain data: texts, numbers, lists and dictionaries."""

    def to_json(self) -> str:
        """Returns `to_dict` as JSON text on one line."""


def json_text(data: Mapping[str, Any]) -> str:
    """Returns plain data as JSON text on one line."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False)


def page(answer: AnswerProtocol, noun: str, blocks: Sequence[tuple[str, str]]) -> str:
    """Returns an answer as a page for a person: its cost, its items, its warnings, its receipt.

    Args:
        noun: what an item is, in the singular.
        blocks: for each item a title, which may be empty, and its text.
    """
    count = len(blocks)
    lines = [f"{count} {noun}{'' if count == 1 else 's'}, {answer.tokens_used} tokens"]
    lines += block_lines(blocks)
    if answer.warnings or answer.receipt is not None:
        lines.append("")
    lines += [f"warning: {one.option}: {one.message}" for one in answer.warnings]
    if answer.receipt is not None:
        lines.append(f"receipt {answer.receipt}")
    return "\n".join(lines)


def block_lines(blocks: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yields items for a person as lines, each item numbered and after an empty line.

    Args:
        blocks: for each item a title, which may be empty, and its text.
    """
    for number, (title, text) in enumerate(blocks, 1):
        shown = [title] if title else []
        first, *rest = [*shown, *text.splitlines()] or [""]
        yield from ("", f"[{number}] {first}".rstrip())
        yield from (f"    {one}".rstrip() for one in rest)
