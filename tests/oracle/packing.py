"""What the oracle answers with: items under a limit and a budget, warnings, the bytes.

Spec: retrieval 8, 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import dag_cbor
from multiformats import CID

from ibidem.index.analysis import ENGLISH as HOME
from ibidem.index.analysis import analyse, analyse_positions, analyser_of
from ibidem.objects.cid import Cid
from ibidem.objects.text import text_digest

from . import recall
from .graph import unknown_types
from .repeats import is_bare, repeats, shared
from .shown import edge_lines, estimate, render

if TYPE_CHECKING:
    from .oracle import World


def pack(
    world: World,
    form: dict[str, Any],
    lanes: dict[str, list[tuple[float, bytes]]],
    ranking: list[tuple[float, bytes]],
    shares: dict[str, dict[bytes, float]],
    status: dict[str, str],
    record: dict[str, Any] | None,
    walks: list[list[Any]],
    factors: dict[bytes, dict[str, list[Any]]],
    view: set[bytes],
) -> bytes:
    given = [(key, score) for key, score in record["scores"] if score is not None] if record else []
    given.sort(key=lambda pair: -pair[1])
    opinions = {key: [rank, score, 0.0] for rank, (key, score) in enumerate(given, 1)}
    items: list[dict[str, Any]] = []
    drops: list[list[Any]] = []
    counts = {"limit": 0, "budget": 0}
    counts |= {name: 0 for name in ("dedupe", "headings") if name in form}
    earlier: list[Any] = []
    used = stale = 0
    for score, key in ranking:
        cid, node = world.nodes[key]
        if form["limit"] is not None and len(items) >= form["limit"]:
            counts["limit"] += 1
            drops.append([key, "limit", None, score])
            continue
        edges = edge_lines(world, form, key)
        rendered = render(node, world.text(node), form["metadata"], edges)
        tokens = estimate(rendered)
        if form["token_budget"] is not None and used + tokens > form["token_budget"]:
            counts["budget"] += 1
            drops.append([key, "budget", tokens, score])
            continue
        if "headings" in form and is_bare(world, view, key):
            counts["headings"] += 1
            drops.append([key, "headings", None, score])
            continue
        if "dedupe" in form:
            mine = shared(world, form["dedupe"], view, key)
            if repeats(form["dedupe"], earlier, mine):
                counts["dedupe"] += 1
                drops.append([key, "dedupe", None, score])
                continue
            earlier.append(mine)
        used += tokens
        said = {}
        for name, ranked in lanes.items():
            for index, (native, other) in enumerate(ranked):
                if other == key:
                    said[name] = [index + 1, native, shares[name][key]]
        said.update(factors.get(key, {}))
        if key in opinions:
            said["rerank"] = opinions[key]
        stale += is_stale(world, form, status, key)
        items.append(
            {
                "id": key,
                "cid": link(cid),
                "score": score,
                "rendered": rendered,
                "tokens": tokens,
                "lanes": said,
            }
        )
    told = {}
    if "direct" in form.get("recall", {}):
        nodes = [(key, world.nodes[key][1]) for _, key in ranking[:100]]
        candidates = [(key, node.props, world.text(node)) for key, node in nodes]
        told["direct"] = recall.direct(form["text"], candidates, form["recall"]["direct"])
    return dag_cbor.encode(
        {
            **told,
            "kind": "result",
            "v": 1,
            "root": link(world.cid),
            "query": linked(form),
            "items": items,
            "tokens_used": used,
            "token_budget": form["token_budget"],
            "candidates_seen": len(ranking),
            "dropped": drops[:1000],
            "dropped_counts": counts,
            "warnings": warnings(world, form, status, stale, walks, uncovered(form, items)),
            "status": status,
            "rerank": record,
        }
    )


def is_stale(world: World, form: dict[str, Any], status: dict[str, str], key: bytes) -> bool:
    """Returns whether the vector of a node with a text is missing or of another text."""
    if status.get("dense", "no_vectors") == "no_vectors":
        return False
    text = world.text(world.nodes[key][1])
    vector = world.vectors[form["vector"]["model"]].get(key)
    return bool(text) if vector is None else vector.of != text_digest(text)


def uncovered(form: dict[str, Any], items: list[dict[str, Any]]) -> list[list[Any]]:
    """Returns the warning that the items have too few of the text's terms."""
    if "coverage_min" not in form:
        return []
    from .oracle import spelt, spelt_words

    question = form["text"]
    counting = spelt_words(question, analyser_of(question, HOME))
    if "accents" not in form["match"]:
        counting = []
    rows = [(analyser_of(item["rendered"], HOME), item["rendered"]) for item in items]
    names = sorted({name for name, _ in rows})
    own, *terms = (
        {tuple(at): t for t, *at in analyse_positions(question, name)}
        for name in (analyser_of(question, HOME), *names)
    )

    def forms(start: int, stop: int) -> Iterator[frozenset[str]]:
        word = question[start:stop]
        for name, found in zip(names, terms, strict=True):
            more = spelt(word, name) if word in counting else set()
            yield frozenset({found[start, stop]} | more)

    words = {(own[at], tuple(forms(*at))) for at in own if all(at in found for found in terms)}
    held = {
        (term, forms)
        for term, forms in words
        for name, text in rows
        if forms[names.index(name)] & set(analyse(text, name))
    }
    share = Fraction(len(held), len(words)) if words else Fraction(1)
    if share * 1000 // 1 >= form["coverage_min"]:
        return []
    return [["low_coverage", "coverage_min", None, len(words) - len(held)]]


def warnings(
    world: World,
    form: dict[str, Any],
    status: dict[str, str],
    stale: int,
    walks: list[list[Any]],
    last: list[list[Any]],
) -> list[Any]:
    found: list[Any] = []
    if status.get("lexical") == "no_terms":
        found.append(["no_query_terms", "text", None, None])
    if "degraded" in form:
        found.append(["model_missing", "model", form["degraded"], None])
    if status.get("dense") == "no_vectors":
        found.append(["no_vectors", "vector", form["vector"]["model"], None])
    if status.get("sparse") == "no_vectors":
        found.append(["no_sparse_vectors", "sparse", form["sparse"]["vocab"], None])
    if stale:
        found.append(["stale_vectors", "vector", form["vector"]["model"], stale])
    for code in ("no_terms", "no_vectors"):
        of = {"no_terms": "no_query_terms"}.get(code, code)
        lanes = [f"queries[{place}]" for place in range(len(form.get("queries", ())))]
        found += [[of, "queries", lane, None] for lane in lanes if status[lane] == code]
    found += walks
    nodes = [node for _, node in world.nodes.values()]
    labels = {node.ntype for node in nodes}
    properties = {name for node in nodes for name in node.props}
    asked = sorted(set(names(form["where"]) if form["where"] else []))
    found += [["unknown_label", "label", one, None] for one in form["labels"] if one not in labels]
    found += [["unknown_property", "where", one, None] for one in asked if one not in properties]
    found += unknown_types(world, form)
    if status.get("rerank") not in (None, "ok", "too_few"):
        found.append(["rerank_failed", "rerank", form["rerank"]["name"], None])
    found += last
    if len(found) > 8:
        found = [*found[:7], ["warnings_truncated", "warnings", None, len(found) - 7]]
    return found


def names(form: list[Any]) -> list[str]:
    if form[0] in ("and", "or"):
        return [name for part in form[1] for name in names(part)]
    return names(form[1]) if form[0] == "not" else [form[1]]


def linked(value: Any) -> Any:
    if isinstance(value, Cid):
        return link(value)
    if isinstance(value, dict):
        return {name: linked(one) for name, one in value.items()}
    return [linked(one) for one in value] if isinstance(value, (list, tuple)) else value


def link(cid: Cid) -> CID:
    return CID.decode(cid.raw)
