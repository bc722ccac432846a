"""The prompts that a person picks in a client: an answer with citations, a review of changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import ibidem
from ibidem.adapters.mcp.access import FOR_READERS, Access
from ibidem.adapters.mcp.review import compare, history

_BUDGET = 4000


@dataclass(frozen=True)
class Prompt:
    """A prompt as clients list it."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, str]
    """What each argument is, by name."""
    optional: frozenset[str]
    write: Callable[[Access, Mapping[str, str]], str]
    tool: str
    """The tool with which it is offered."""


def _answer(access: Access, given: Mapping[str, str]) -> str:
    revision = access.at()
    return revision.prompt(given["question"], token_budget=_BUDGET, **FOR_READERS).text


def _review(access: Access, given: Mapping[str, str]) -> str:
    task = (
        "Review the changes to this repository below: what is new, what contradicts what stood "
        "there before, and what should be undone. Name commits by their CID; `repo revert CID` "
        "undoes one."
    )
    parts = [task, history(access, since=given["since"], token_budget=_BUDGET).text]
    if "question" in given:
        parts.append(compare(access, query=given["question"], before=given["since"]).text)
    return "\n\n".join(parts)


PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "answer-with-citations",
            "Answer with citations",
            "Answers a question from the repository alone, each statement with its source",
            {"question": "The question"},
            frozenset(),
            _answer,
            "retrieve",
        ),
        Prompt(
            "review-changes",
            "Review changes",
            "Reviews the commits since a revision; with a question, also how its answer changed",
            {"since": "The earlier revision", "question": "A question whose answers are compared"},
            frozenset(("question",)),
            _review,
            "history",
        ),
    )
}


def offered(access: Access) -> list[Prompt]:
    """Returns the prompts of a caller."""
    return [
        prompt
        for prompt in PROMPTS.values()
        if access.offers(prompt.tool) and access.may(f"prompt.{prompt.name}")
    ]


def written(access: Access, name: str, given: Mapping[str, str]) -> str:
    """Returns the text of a prompt.

    Raises:
        NotFoundError: there is no such prompt for this caller.
        InvalidInputError: an argument is missing or unknown.
    """
    prompt = next((one for one in offered(access) if one.name == name), None)
    if prompt is None:
        raise ibidem.NotFoundError(f"prompt: got {name!r:.80}, expected one of {list(PROMPTS)}")
    for argument in given:
        if argument not in prompt.arguments:
            raise ibidem.InvalidInputError(f"prompt: it has no argument {argument!r:.80}")
    for argument in prompt.arguments:
        if argument not in prompt.optional and not given.get(argument, "").strip():
            raise ibidem.InvalidInputError(f"{argument}: got nothing, expected a text")
    return prompt.write(access, {key: value for key, value in given.items() if value.strip()})
