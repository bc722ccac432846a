"""A support agent: it looks things up in its memory, asks a model, and remembers what it said.

`work` is all of it. It takes whatever looks like a repository: the live one, a run that is being
recorded, or a replay of one. It cannot tell which, and it holds no clock and no randomness of its
own: both would be asked of the session, as the model is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Model = Callable[[dict[str, Any]], dict[str, Any]]

TURNS_MAX = 4
"""Tool calls that the model may ask for before it has to answer."""
INSTRUCTIONS = "Answer from what was found. Look again if it is not there. Name what you used."


def work(session: Any, questions: list[str], model: Model) -> list[str]:
    """Answers each question, and returns the answers in order.

    Args:
        session: `repo`, `repo.runs.start(...)` or `run.replay()`.
        questions: of customers.
        model: takes a prompt and returns `{"search": text}` or `{"answer": text, "used": [id]}`.
    """
    ask = session.tool("model", model)
    return [_answer(session, ask, question) for question in questions]


def _answer(session: Any, ask: Model, question: str) -> str:
    found: list[dict[str, str]] = _look_up(session, question)
    for _ in range(TURNS_MAX):
        said = ask({"instructions": INSTRUCTIONS, "question": question, "found": found})
        if "search" not in said:
            _remember(session, question, said)
            return str(said["answer"])
        found += [item for item in _look_up(session, said["search"]) if item not in found]
    _remember(session, question, {"answer": "I do not know.", "used": []})
    return "I do not know."


def _look_up(session: Any, text: str) -> list[dict[str, str]]:
    """Returns what the memory has on a text: pages, and what was said before."""
    result = session.retrieve(text, limit=3, token_budget=400)
    return [{"id": str(item.id), "text": item.node.summary or ""} for item in result]


def _remember(session: Any, question: str, said: dict[str, Any]) -> None:
    """Writes down a question and its answer, and what the answer was made from."""
    used = {str(node.id): node.id for node in session.query(label=["Page", "Answer"])}
    with session.transaction(author="support-agent", message=f"answered: {question}") as tx:
        note = tx.add_node(
            "Answer", summary=f"{question} {said['answer']}", props={"question": question}
        )
        for id_ in said["used"]:
            tx.add_edge(note, "from", used[id_])
