"""A context is of one revision, whatever other writers commit while it is made."""

from __future__ import annotations

from typing import Any

import ibidem


def test_a_commit_between_the_parts_of_a_context_has_no_part_in_it(monkeypatch: Any):
    with ibidem.init("memory:") as repo:
        repo.conversations.append("a", [("user", "the tea is green"), ("user", "ok")])
        view, other = ibidem.Conversations.view, ibidem.Conversations(repo)

        def interrupted(self: Any, *args: Any, **options: Any) -> Any:
            found = view(self, *args, **options)
            other.append("a", [("user", "the tea is black")])
            return found

        head = repo.head
        monkeypatch.setattr(ibidem.Conversations, "view", interrupted)
        context = repo.conversations.context("tea", thread="a", token_budget=None)
        assert [one.text for one in context.items] == ["the tea is green", "ok"]
        assert context.receipt is not None
        assert context.receipt.commit == head


def test_without_a_thread_messages_of_all_threads_are_selected():
    with ibidem.init("memory:") as repo:
        for name in ("a", "b"):
            repo.conversations.append(name, [("user", f"tea in {name}")])
        found = repo.conversations.select("tea")
        assert {one.thread for one in found.messages} == {"a", "b"}
