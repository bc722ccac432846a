"""A model without a network: it looks for words, and asks for one more search when it has none.

Stands for the call of a real model. Everything else in the example would stay as it is with one.
"""

from __future__ import annotations

from typing import Any

PAGES = {
    "retries": "A failed request is tried again after one second, then two, then four.",
    "limits": "An account may send six hundred requests a minute; more are refused with 429.",
    "keys": "An API key is valid for ninety days and can be revoked at any time.",
    "webhooks": "A webhook is signed; check the signature before you believe its body.",
}
QUESTIONS = [
    "How often is a failed request tried again?",
    "My requests are refused with 429. Why?",
    "What did you tell me about failed requests?",
]


class ScriptedModel:
    """Answers with the first text found that shares a long word with the question."""

    def __init__(self) -> None:
        self.call_count = 0

    def __call__(self, prompt: dict[str, Any]) -> dict[str, Any]:
        """Returns a search to make, or an answer with what it used."""
        self.call_count += 1
        words = {word.strip("?.,").lower() for word in prompt["question"].split()}
        for item in prompt["found"]:
            if any(len(word) > 4 and word in item["text"].lower() for word in words):
                return {"answer": f"As noted: {item['text']}", "used": [item["id"]]}
        return {"search": " ".join(sorted(words))}


def fill(repo: Any) -> None:
    """Puts the pages into an empty memory."""
    with repo.transaction(author="editor", message="the handbook") as tx:
        for name, text in PAGES.items():
            tx.add_node("Page", summary=text, key=name)
