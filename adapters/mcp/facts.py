"""The tool that writes: `remember`. A call is one commit, which names the agent and its task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ibidem
from ibidem.adapters.mcp.access import Access, Reply

FACT_LABEL = "Semantic"


def remember(
    access: Access,
    *,
    why: str,
    text: str | None = None,
    facts: Sequence[Mapping[str, Any]] = (),
    task: str | None = None,
) -> Reply:
    """Adds facts in one commit, and says how to undo it."""
    if access.is_read_only:
        raise ibidem.InvalidInputError(
            "remember: this server is read-only", kind=ibidem.ErrorKind.NOT_PERMITTED
        )
    given = [*([] if text is None else [{"text": text}]), *facts]
    if not given:
        raise ibidem.InvalidInputError("facts: got none, expected a text or facts")
    for name, value in _texts({"why": why, "task": task, "facts": given}):
        secret = ibidem.secret_in(value)
        if secret is not None:
            raise ibidem.InvalidInputError(
                f"{name}: there is {secret} in it, which may not be committed",
                hint="leave the secret out; say where it is kept instead",
            )
    repository = access.repository
    with repository.transaction(
        author=access.author, message=why, agent=access.agent, task=task or access.task
    ) as tx:
        ids = [_add(tx, fact, why) for fact in given]
    commit = tx.commit
    if commit is None:
        summary = "Nothing new: all of it was known."
        undo = None
    else:
        undo = f"repo revert {commit.cid}"
        summary = f"Committed {commit.cid} on {repository.current_branch}. To undo it: {undo}"
    listed = "\n".join(f"fact {number}: node {one}" for number, one in enumerate(ids, 1))
    return Reply(
        f"{summary}\n{listed}",
        {
            "ids": [str(one) for one in ids],
            "commit": None if commit is None else str(commit.cid),
            "root": None if commit is None else str(commit.root),
            "branch": repository.current_branch,
            "undo": undo,
        },
    )


def _add(tx: Any, fact: Mapping[str, Any], why: str) -> ibidem.NodeId:
    replaced = fact.get("replaces")
    props = dict(fact.get("props") or {})
    if replaced is None:
        found: ibidem.NodeId = tx.add(
            fact["text"], label=fact.get("label", FACT_LABEL), props=props
        )
        return found
    if props or "label" in fact:
        raise ibidem.InvalidInputError("replaces: got a label or props with it, expected the text")
    old = tx.node(replaced)
    policy = tx.records.policy(tx)
    before = ibidem.Record.of(old, policy)
    new = ibidem.Record(
        before.type,
        fact["text"],
        before.scope,
        level=before.level,
        provenance=[{"kind": "observation", "ref": why}],
    )
    superseded: ibidem.NodeId = tx.records.supersede(replaced, new)
    return superseded


def _texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yields every text inside a value, names of properties too, with the place where it is."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield name, str(key)
            yield from _texts(one, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for index, one in enumerate(value):
            yield from _texts(one, f"{name}[{index}]")
