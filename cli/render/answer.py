"""An answer as text and as JSON. For a person an item is its place and the text that the budget
counted, which is what a model would get; ids, scores and what was left out are shown on request.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ibidem.cli.render import output
from ibidem.cli.render.output import faint, plural, strong

if TYPE_CHECKING:
    from ibidem.objects.cid import RootCid
    from ibidem.repo.retrieval.neighbours import Neighbour
    from ibidem.repo.served.answer import ServedWarning
    from ibidem.retrieve.answer.answer import Answer
    from ibidem.retrieve.answer.item import AnswerItem, Item
    from ibidem.retrieve.answer.warning import AnswerWarning

_VALUE_TOKENS_MIN = 3
"""A stated value of which less fits is not shown."""
DROPS_SHOWN = 20
"""Dropped nodes that --explain lists; JSON lists what the result lists."""


def answer_json(result: Answer[Item], summary: int | None = None) -> dict[str, Any]:
    """Returns a result as JSON, without its receipt.

    Args:
        result: the answer.
        summary: the number of sentences of its summary; None for none.
    """
    found = outcome_json(result, summary)
    return {**found, "stated": found.get("stated"), "direct": found.get("direct")}


def outcome_json(result: Answer[AnswerItem], summary: int | None = None) -> dict[str, Any]:
    """Returns an answer as JSON, without its receipt.

    Args:
        result: the answer.
        summary: the number of sentences of its summary; None for none.
    """
    found = result.to_dict()
    del found["receipt"], found["kind"]
    return found if summary is None else {**found, "summary": result.summary(summary).to_dict()}


def assessment_json(result: Answer[AnswerItem], neighbours: Sequence[Neighbour]) -> dict[str, Any]:
    """Returns what an answer says of itself, with its neighbours, as JSON."""
    return {
        "assessment": {
            **result.assess().to_dict(),
            "neighbours": [one.to_dict() for one in neighbours],
        }
    }


def assessment_lines(result: Answer[AnswerItem], neighbours: Sequence[Neighbour]) -> list[str]:
    """Returns what an answer says of itself as lines."""
    found = result.assess()
    coverage, scores = found.coverage, found.scores
    lacking = f", not {', '.join(coverage.missing)}" if coverage.missing else ""
    lines = [
        f"coverage: {coverage.covered_count} of {plural(coverage.term_count, 'term')}{lacking}",
    ]
    if scores is not None:
        lines.append(
            f"scores: {scores.highest:.3f} to {scores.lowest:.3f}, median {scores.median:.3f}, "
            f"lead {scores.lead / 10:g} %"
        )
    lines += [
        f"neighbour: {one.id} {output.one_line(one.node.summary or one.node.ntype)}"
        for one in neighbours
    ]
    return [faint(line) for line in lines]


def summary_lines(result: Answer[AnswerItem], sentences: int | None) -> list[str]:
    """Returns the sentences of a summary, each after the number of its item; empty for None."""
    if sentences is None:
        return []
    found = [
        f"{strong(output.one_line(one.text))} {faint(f'[{one.item + 1}]')}"
        for one in result.summary(sentences).sentences
    ]
    return [*found, ""] if found else []


def answer_lines(
    result: Answer[Item],
    *,
    explain: bool = False,
    names: Mapping[RootCid, str] | None = None,
) -> list[str]:
    """Returns the items of a result as lines for people.

    Args:
        result: the answer.
        explain: whether ids, scores, lanes and what was left out are shown.
        names: of the repositories by root, for an answer over several.
    """
    lines = _stated_lines(result)
    titles = _named_titles(result, names or {})
    for rank, (item, title) in enumerate(zip(result.items, titles, strict=True), 1):
        lines += item_lines(rank, item, title)
        if explain:
            lines += [_facts_line(item), *_lane_lines(item)]
        lines.append("")
    if explain:
        lines += _explain_lines(result)
    if result.direct is not None:
        node = "" if result.direct.node is None else f" {result.direct.node}"
        lines.append(f"direct answer: {result.direct.reason}{node}")
    return lines


def end_lines(
    result: Answer[AnswerItem],
    *,
    noun: str | None = None,
    explain: bool = False,
    is_partial: bool = False,
) -> list[str]:
    """Returns what is to be known of an answer besides its items, for standard error: what they
    cost, and the receipt.

    Args:
        result: the answer.
        noun: of what the items are, if it is not their kind.
        explain: whether the candidates and all that was left out are counted too.
        is_partial: whether erased nodes were left out: nothing keeps a root from which they were,
            so there is no receipt.
    """
    from ibidem.retrieve.answer.answer import NOUNS

    if is_partial:
        receipt = "no receipt: erased nodes were left out"
    elif result.receipt is None:
        receipt = "no receipt: the answer is too long for a receipt"
    else:
        receipt = f"receipt {result.receipt.cid}"
    cost = _cost_line(result, noun or NOUNS[result.kind], explain=explain)
    return [faint(cost), faint(receipt)]


def _stated_lines(result: Answer[Item]) -> list[str]:
    """Returns the value that is stated for the question, and the rank of the item that states it,
    or of the first one of its document."""
    stated = result.stated
    if stated is None:
        return []
    ranks = {item.id: f"[{rank}]" for rank, item in enumerate(result.items, 1)}
    if stated.node not in ranks:
        documents = [None if one is None else one.document_id for one in result.locations]
        ranks[stated.node] = f"the document of [{documents.index(stated.node) + 1}]"
    of = f"{stated.attribute} of {stated.subject}" if stated.attribute else stated.subject
    value, of = output.one_line(stated.value), output.one_line(of)
    frame = result.query.frame
    if frame is not None:
        from ibidem.retrieve.tokens import HEURISTIC

        of = _shortened(of, frame.answer // 4)
        around = HEURISTIC.estimate(f" ({of}, {ranks[stated.node]})\n\n")
        if frame.answer < around + _VALUE_TOKENS_MIN:
            return []
        value = _shortened(value, frame.answer - around)
    return [f"{strong(value)} {faint(f'({of}, {ranks[stated.node]})')}", ""]


def _shortened(text: str, tokens: int) -> str:
    """Returns a text; of one with more tokens than these, by the built-in estimator, the longest
    beginning that has no more together with an ellipsis."""
    from ibidem.retrieve.tokens import HEURISTIC

    if HEURISTIC.estimate(text) <= tokens:
        return text
    fits = bisect_right(range(len(text)), tokens, key=lambda n: HEURISTIC.estimate(f"{text[:n]}…"))
    return f"{text[: max(0, fits - 1)].rstrip()}…"


def _cost_line(result: Answer[AnswerItem], noun: str, *, explain: bool) -> str:
    """Returns one line with the tokens used and the number of items that did not fit; `explain`
    adds the numbers of candidates and of all that was left out."""
    tokens = plural(result.tokens_used, "token")
    if result.token_budget is not None:
        tokens = f"{result.tokens_used:,} of {plural(result.token_budget, 'token')}"
    cost = f"{plural(len(result), noun)}, {tokens}"
    if not explain:
        unfit = result.dropped_counts["budget"]
        repeated = result.dropped_counts.get("dedupe", 0)
        cost += f", {unfit:,} more did not fit" if unfit else ""
        return cost + (f", {plural(repeated, 'repetition')} left out" if repeated else "")
    reasons = ", ".join(
        f"{count:,} by {reason}" for reason, count in sorted(result.dropped_counts.items()) if count
    )
    dropped = f"{result.dropped_total:,} left out" + (f" ({reasons})" if reasons else "")
    return f"{cost}, {plural(result.candidates_seen, 'candidate')}, {dropped}"


def item_titles(result: Answer[Item]) -> list[str]:
    """Returns the title of each item: its location, or the first line of its text."""
    return [
        title or item.rendered.partition("\n")[0]
        for item, title in zip(result.items, result.titles(), strict=True)
    ]


def _named_titles(result: Answer[Item], names: Mapping[RootCid, str]) -> list[str]:
    """Returns the title of each item, after the name of its repository if there are several."""
    return [
        (named(names, item.root) + title).removesuffix(": ")
        for item, title in zip(result.items, result.titles(), strict=True)
    ]


def named(names: Mapping[RootCid, str], root: RootCid | None) -> str:
    """Returns what stands before the title of an item of several repositories: the name of its
    repository by root; empty for one repository."""
    return "" if root is None else f"{output.one_line(names.get(root, str(root)))}: "


def item_lines(rank: int, item: Item, title: str) -> list[str]:
    """Returns one item as lines: its rank, its location in its source if it has one, its text."""
    from ibidem.repo.retrieval.printed_frame import INDENT
    from ibidem.retrieve.titles import status_of

    body = item.rendered.rstrip("\n").split("\n")
    first = strong(title) if title else body.pop(0)
    return [
        f"[{rank}] {first}{status_of(item.node)}",
        *(f"{INDENT}{line}".rstrip() for line in body),
    ]


def _facts_line(item: Item) -> str:
    name = f"{output.one_line(item.node.ntype)} {item.id}"
    return faint(f"    {name}, score {item.score:.6g}, {plural(item.tokens, 'token')}")


def model_lines(result: Answer[AnswerItem], options: Mapping[str, Any]) -> list[str]:
    """Returns a warning if words alone may rank without the model, but no model is named: then they
    always do."""
    has_model = result.query.vector is not None or result.query.degraded is not None
    if has_model or not options.get("degrade"):
        return []
    named = "--model or 'repo config set model'"
    return [f"warning: degrade: words alone rank in any case: no model is named, see {named}"]


def empty_lines(result: Answer[AnswerItem]) -> list[str]:
    """Returns why an answer has no items; nothing if it has some."""
    if result.items:
        return []
    if result.token_budget_min is not None:
        least = result.token_budget_min
        reason = f"nothing fits: allow more tokens, such as --budget {least}"
    elif result.dropped_counts["limit"]:
        reason = "the limit is 0: allow more items with --limit"
    elif result.candidates_seen and result.query.packs is not None:
        reason = "only headings without text match: --headings keep shows them"
    else:
        reason = "nothing matches: try other words or fewer filters"
    return [faint(reason)]


def skipped_lines(result: Answer[AnswerItem]) -> list[str]:
    """Returns that the best match did not fit the budget where others did, with what it costs;
    nothing where the score is not the order."""
    query = result.query
    if not result.items or not result.dropped or query.rerank is not None or query.mmr is not None:
        return []
    best = result.dropped[0]
    if best.tokens is None or best.score <= max(item.score for item in result.items):
        return []
    cost = plural(best.tokens, "token")
    more = f"allow more, such as --budget {best.tokens + query.framed.answer}"
    return [faint(f"the best match, node {best.id}, did not fit with {cost}: {more}")]


def warning_lines(warnings: Iterable[AnswerWarning | ServedWarning]) -> list[str]:
    """Returns the warnings, for standard error."""
    lines = []
    for warning in warnings:
        subject = "" if warning.subject is None else f" {output.one_line(warning.subject)!r}"
        count = "" if warning.count is None else f" ({warning.count:,})"
        lines.append(f"warning: {warning.option}{subject}: {warning.message}{count}")
    return lines


def _lane_lines(item: Item) -> list[str]:
    rows = [
        (name, f"rank {lane.rank}", f"score {lane.score!r}", f"adds {lane.contribution!r}")
        for name, lane in sorted(item.lanes.items())
    ]
    lines = output.table(rows, indent="    ")
    for name, path in sorted(item.paths.items()):
        lines.append(f"    {name} by {output.one_line(str(path))}")
    lines += [f"    mentions {output.one_line(str(one))}" for one in item.mentions]
    return [faint(line) for line in lines]


def _explain_lines(result: Answer[Item]) -> list[str]:
    lanes = [(lane, str(status)) for lane, status in sorted(result.status.items())]
    lines = [strong("lanes"), *output.table(lanes, indent="  "), ""] if lanes else []
    if result.dropped:
        lines += [strong("left out")]
        rows = [
            (
                str(drop.id),
                str(drop.reason),
                "" if drop.tokens is None else plural(drop.tokens, "token"),
                f"score {drop.score:.6g}",
            )
            for drop in result.dropped[:DROPS_SHOWN]
        ]
        lines += output.table(rows, indent="  ")
        more = result.dropped_total - len(rows)
        lines += [*([f"  and {more:,} more"] if more else []), ""]
    return lines
