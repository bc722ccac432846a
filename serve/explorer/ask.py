"""Ask: a question, its ranked items, what was left out and why, and the context for a model."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import htpy as h

from ibidem import Answer, DropReason, Item, NodeId, NotFoundError
from ibidem.pages import answer as answer_page
from ibidem.pages.html import Links, code, facts, linked, number
from ibidem.pages.prompt import prompt
from ibidem.repo.retrieval.printed_frame import frame_of_items
from ibidem.retrieve.query.options import FOR_READERS
from ibidem.serve.explorer.form import field, form, given
from ibidem.serve.explorer.visit import AT, Page, Visit

if TYPE_CHECKING:
    from ibidem import Revision, ViewerRevision

LIMIT, LIMIT_MAX = 10, 100
BUDGET_MAX = 1_000_000
CONTEXT_TOKENS = 2000
"""The budget of the context for a model if the question has none."""
RANKED_MAX = 1000
"""How many ranks are searched for a node that is not in the answer."""
_DROPPED = {
    DropReason.DEDUPE: ": it repeats an item of the answer.",
    DropReason.HEADINGS: ": it is a heading without text.",
}
"""Why a node is not in the answer, whatever its rank."""


def ask(visit: Visit) -> Page:
    """Returns the answer to a question; without one, the form and where else to look."""
    text = visit.text("text")
    if not text:
        return Page("Ask", question_form(visit), (lambda: _start(visit),))
    revision, options = visit.revision(), question_options(visit)
    tokens = options.get("token_budget") or CONTEXT_TOKENS

    def found() -> h.Node:
        frame = frame_of_items(text, options)
        answer = revision.retrieve(text, **options, frame=frame)
        return [
            answered(revision, answer, visit.links),
            _recording(visit, revision, answer),
            _why(visit, revision, answer, options),
        ]

    return Page(
        f"Ask: {text}",
        [question_form(visit), _elsewhere(visit)],
        (found, lambda: prompt(revision.prompt(text, token_budget=tokens, **FOR_READERS))),
    )


def answered(revision: Revision | ViewerRevision, found: Answer[Item], links: Links) -> h.Node:
    """Returns an answer with the sources of its items and the titles of what was left out."""
    dropped = [drop.id for drop in found.dropped[: answer_page.DROPS_SHOWN]]
    titles = {id_: node.summary or node.ntype for id_, node in revision.find_nodes(dropped).items()}
    analyser = revision.config.analyser
    return answer_page.answer(found, analyser, links=links, titles=titles)


def question_options(visit: Visit) -> dict[str, Any]:
    """Returns the options of the question in a query."""
    limit = visit.count("limit", default=LIMIT, high=LIMIT_MAX)
    options: dict[str, Any] = FOR_READERS | {"limit": limit}
    if visit.text("token_budget"):
        options["token_budget"] = visit.count("token_budget", default=0, high=BUDGET_MAX)
    if visit.text("label"):
        options["label"] = visit.text("label")
    return options


def question_fields(visit: Visit) -> list[h.Node]:
    """Returns the fields of a question but for its revisions."""
    return [
        field("Question", "text", visit.text("text"), wide=True, required="required"),
        field("Items", "limit", visit.text("limit"), inputmode="numeric", size="4"),
        field(
            "Token budget",
            "token_budget",
            visit.text("token_budget"),
            inputmode="numeric",
            size="7",
        ),
        field("Label", "label", visit.text("label"), size="10"),
    ]


def question_form(visit: Visit) -> h.Element:
    """Returns the form of a question at one revision."""
    at = field("Revision", "at", visit.text("at"), placeholder=AT, size="14")
    return form("/ask", "Question", question_fields(visit), at, submit="Ask")


def _recording(visit: Visit, revision: Revision | ViewerRevision, found: Answer[Item]) -> h.Node:
    """Returns the command that records the receipt of an answer: a page writes nothing."""
    if found.receipt is None or not visit.is_whole:
        return None
    given = [(name, visit.text(name)) for name in ("limit", "token_budget", "label")]
    options = [("at", revision.commit_cid), *given]
    if revision.trust_policy is not None:
        options.append(("viewer", "all"))
    names = {"token_budget": "budget"}
    words = ["repo", "retrieve"]
    for name, value in options:
        words += [f"--{names.get(name, name)}", str(value)] if value else []
    return h.p[
        "Pages write nothing. This command records the receipt: ",
        code(shlex.join([*words, "--", visit.text("text")])),
    ]


def _elsewhere(visit: Visit) -> h.Node:
    """Returns a form for the comparison with another revision."""
    if not visit.is_whole:
        return None
    shown = [given(name, visit.text(name)) for name in ("text", "limit", "token_budget", "label")]
    return form(
        "/compare",
        "Ask at another revision",
        shown,
        given("after", visit.text("at")),
        field("Ask at another revision", "before", "HEAD~1", size="14", required="required"),
        submit="Compare",
    )


def _start(visit: Visit) -> h.Node:
    revision = visit.revision()
    return facts(
        (
            ("branch", visit.repository.current_branch),
            ("revision", visit.at),
            ("nodes", f"{revision.count():,}"),
            ("analyser", revision.config.analyser),
        )
    )


def _why(
    visit: Visit, revision: Revision | ViewerRevision, found: Answer[Item], options: dict[str, Any]
) -> h.Node:
    """Returns the form that asks for a missing node, and why it is missing."""
    names = ("text", "limit", "token_budget", "label", "at")
    missing = visit.text("missing")
    return h.section("#missing")[
        h.h2["Why is a node not here?"],
        form(
            "/ask#missing",
            "Why is a node not here?",
            [given(name, visit.text(name)) for name in names],
            field("Node, by its id or the start of it", "missing", missing, wide=True),
            submit="Explain",
        ),
        h.p(role="status")[_reason(visit, revision, found, options, missing)] if missing else None,
    ]


def _reason(
    visit: Visit,
    revision: Revision | ViewerRevision,
    found: Answer[Item],
    options: dict[str, Any],
    missing: str,
) -> h.Node:
    try:
        id_: NodeId = revision.node_id(missing)
        revision.node(id_)
    except NotFoundError as error:
        return f"There is no such node at {visit.at}: {error}. It may be at another revision."
    name = linked(visit.links.to(f"node/{id_}"), str(id_))
    for rank, item in enumerate(found.items, 1):
        if item.id == id_:
            return ["It is here: ", h.a(href=f"#item-{rank}")[f"item {rank}"], "."]
    wide = {key: value for key, value in options.items() if key == "label"}
    reason = next((one.reason for one in found.dropped if one.id == id_), None)
    if reason in _DROPPED:
        return [name, _DROPPED[reason]]
    more = revision.retrieve(
        visit.text("text"), **wide, limit=RANKED_MAX, token_budget=None, depth=RANKED_MAX
    )
    for rank, item in enumerate(more.items, 1):
        if item.id == id_:
            lanes = ", ".join(
                f"{lane} ranks it {one.rank} and adds {number(one.contribution)}"
                for lane, one in item.lanes.items()
            )
            why = f"It is ranked {rank}, and the answer ends before it: {lanes}."
            return [name, ": ", why, f" It would cost {item.tokens:,} tokens."]
    since = None
    if visit.is_whole:
        options = {key: visit.text(key) or None for key in ("text", "limit", "label")}
        since = linked(
            visit.links.to("bisect", **options, expect=str(id_), bad=visit.at, at=None),
            "Since which commit?",
        )
    why = (
        f": no lane ranks it among its best {RANKED_MAX:,}. It has no word of the question, no "
        "similar vector and no edge from a node that was found, or it has another label. "
    )
    return [name, why, since]
