"""Pack options: how hits are expanded, how overlaps are merged, and how the budget is applied.

    expand     `neighbors`: the passages of its section before and after a hit; `section`: the
               section that contains it; `edges`: the nodes that edges lead to
    merge      `absorb`: a hit that an earlier pack covers joins that pack, and windows end where
               another one begins, so every pack is small; `coalesce`: windows that share a node
               become one, however long
    budget     `cut` a pack to what fits of it, `skip` one that does not fit and continue, or `stop`
               there
    least      the fewest tokens of text that a pack is cut to, but for the first one
    sentences  whether a text is cut where its sentences end, however its lines are wrapped
    dedupe     what an earlier pack must share so that a later one is left out
    headings   whether a document or section without text may be a pack: `keep` or `drop`
    rank       `score`, or `none`: every score is 0, document order
    spans      whether hits record where in their text the query matches
    sources    the sources that share the budget; see `sources.py`

Spec: packs 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.context.source_option import Sources, resolve_sources
from ibidem.retrieve.query import checks, option_checks
from ibidem.retrieve.query.dedupe import (
    OF_DOCUMENTS,
    SAME_TEXT,
    Dedupe,
    options_of_form,
    resolve_dedupe,
)
from ibidem.retrieve.query.options import CUT, DROP, EXCERPT, OF_PACKS, RULES, default

NEIGHBORS, SECTION, EDGES = "neighbors", "section", "edges"
ABSORB, COALESCE = "absorb", "coalesce"
SCORE, NONE = "score", "none"
PART_TOKENS_MIN = 20
"""Fewer tokens of a text are a few words, which say nothing to a reader."""

_OPTIONAL = frozenset({"sources", "dedupe", "headings", *RULES})
"""The fields that are not in every canonical form."""


@record
class EdgeWalk:
    """Which edges a pack follows from its hit."""

    etypes: tuple[str, ...] | None = default("etypes")
    """The edge types, ascending; None for every type."""
    direction: str = default("direction")
    hops: int = default("hops")
    fanout: int = default("fanout")
    """The most nodes that one node adds."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form."""
        etypes = None if self.etypes is None else list(self.etypes)
        return {
            "etypes": etypes,
            "direction": self.direction,
            "hops": self.hops,
            "fanout": self.fanout,
        }


@record
class PackOptions:
    """How hits are turned into packs."""

    expand: str = default("expand")
    per_hit_neighbors: int | None = default("per_hit_neighbors")
    """The most passages on each side; None with `edges`."""
    window_chars: int | None = default("window_chars")
    """How many characters a hit and its neighbours may have; None for any number."""
    merge: str = default("merge")
    overflow: str = CUT
    rank: str = default("rank")
    nodes_max: int | None = default("nodes_max")
    """The most nodes in a pack, None for any number."""
    spans: bool = default("spans")
    edges: EdgeWalk | None = None
    """The edges to follow, with `expand` `edges`."""
    sources: Sources | None = None
    """The sources that share the budget; None for one source, every node."""
    dedupe: Dedupe | None = None
    """Which packs are left out; None for those with the text of an earlier one."""
    headings: str = default("headings")
    """Whether a document or section without text may be a pack: `keep` or `drop`. Kept with
    `edges`, where no node has a place."""
    least: int = 0
    """The fewest tokens of text that a cut pack may have, but for the first one. It is no option:
    only questions of before have 0."""
    sentences: bool = False
    """Whether texts are cut at the ends of sentences. It is no option: only questions of before
    have them cut at the ends of lines."""
    fill: bool = False
    """Whether a cut pack has what those after it leave of the budget, and not only half of it. It
    is no option: only questions of before have it not."""
    beside: bool = False
    """Whether messages count for those beside them. It is no option: only questions of before, and
    those without a conversation, have it not."""
    enough: bool = False
    """Whether a pack of which nothing fits in its share has the least room with which something
    does. It is no option: only questions of before drop it."""
    slack: bool = False
    """Whether what parts cost less than they are charged goes to all packs. It is no option: only
    questions of before leave it."""
    titles: bool = False
    """Whether titles say what no path of a document names. It is no option: only questions of
    before have types and ids there."""

    def form(self) -> dict[str, Any]:
        """Returns the canonical form: every field, but `sources` only if there are several,
        `dedupe` only if it is not by text, `headings` only if they are dropped, and the rules that
        no option sets only if they hold."""
        sources = {} if self.sources is None else {"sources": self.sources.form()}
        return {
            "expand": self.expand,
            "per_hit_neighbors": self.per_hit_neighbors,
            "window_chars": self.window_chars,
            "merge": self.merge,
            "overflow": self.overflow,
            "rank": self.rank,
            "nodes_max": self.nodes_max,
            "spans": self.spans,
            "edges": None if self.edges is None else self.edges.form(),
            **sources,
            **({} if self.dedupe is None else {"dedupe": self.dedupe.form()}),
            **({"headings": DROP} if self.headings == DROP else {}),
            **({"least": self.least} if self.least else {}),
            **({"sentences": True} if self.sentences else {}),
            **({"fill": True} if self.fill else {}),
            **({"beside": True} if self.beside else {}),
            **({"enough": True} if self.enough else {}),
            **({"slack": True} if self.slack else {}),
            **({"titles": True} if self.titles else {}),
        }

    def policy(self) -> dict[str, Any]:
        """Returns the options that the identity of a pack depends on besides its members."""
        form = self.form()
        names = ("expand", "per_hit_neighbors", "window_chars", "merge", "edges")
        return {name: form[name] for name in names}

    @classmethod
    def from_form(cls, form: object) -> Self:
        """Returns the options of a canonical form."""
        if not isinstance(form, dict) or form.keys() - _OPTIONAL != cls().form().keys():
            raise InvalidInputError(f"packs: got {checks.show(form)}, expected its nine fields")
        nested = ("edges", "dedupe", *RULES)
        flat = {name: value for name, value in form.items() if name not in nested}
        edges = form["edges"]
        if edges is not None:
            if not isinstance(edges, dict) or set(edges) != set(EdgeWalk().form()):
                raise InvalidInputError(
                    f"packs.edges: got {checks.show(edges)}, expected its four fields"
                )
            flat |= edges
        if "dedupe" in form:
            flat |= options_of_form(form["dedupe"], usual=SAME_TEXT)
        is_walk = edges is not None
        if "headings" in form and (is_walk or form["headings"] != DROP):
            raise InvalidInputError(
                f"packs.headings: got {checks.show(form['headings'])}, expected {DROP!r} without "
                "edges, or nothing"
            )
        made = resolve_packs(
            {
                name: value
                for name, value in flat.items()
                if value is not None or (name == "window_chars" and not is_walk)
            }
        )
        assert isinstance(made, cls), "BUG: one class of options"
        beside = _holds(form, "beside")
        if beside and not made.beside:
            raise InvalidInputError(
                "packs.beside: got it where no conversation is asked, expected nothing"
            )
        return replace(
            made,
            least=_least(form),
            sentences=_cuts(form, "sentences"),
            fill=_cuts(form, "fill"),
            beside=beside,
            enough=_cuts(form, "enough"),
            slack=_cuts(form, "slack"),
            titles=_holds(form, "titles"),
        )

    def ruled_like(self, recorded: Self) -> Self:
        """Returns the options by the rules of those of a recorded question."""
        return replace(self, **{name: getattr(recorded, name) for name in RULES})


def _least(form: Mapping[str, object]) -> int:
    return checks.count("packs.least", form["least"], low=1) if _is_cut(form, "least") else 0


def _cuts(form: Mapping[str, object], name: str) -> bool:
    return _is_cut(form, name) and _holds(form, name)


def _holds(form: Mapping[str, object], name: str) -> bool:
    """Returns whether a form has a field that is true wherever it is."""
    if name in form and form[name] is not True:
        raise InvalidInputError(
            f"packs.{name}: got {checks.show(form[name])}, expected true or nothing"
        )
    return name in form


def _is_cut(form: Mapping[str, object], name: str) -> bool:
    """Returns whether a form says how packs are cut, by a field that only they have."""
    if name in form and form["overflow"] not in (CUT, EXCERPT):
        raise InvalidInputError(f"packs.{name}: got it where no pack is cut, expected nothing")
    return name in form


def resolve_packs(given: Mapping[str, object]) -> PackOptions:
    """Returns the pack options of a caller, checked.

    Args:
        given: some of the options of packs in `query.options`; those of edges only with `expand`
            `edges`.

    Raises:
        InvalidInputError: an option is unknown, has the wrong type or size, or has no effect in
            combination with the others; the message names it.
    """
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"packs: got {checks.show(given)}, expected a map of options")
    unknown = sorted(str(name) for name in given if name not in OF_PACKS)
    if unknown:
        raise InvalidInputError(
            f"{unknown[0]}: got an unknown option, expected one of {', '.join(sorted(OF_PACKS))}"
        )
    values = {name: given.get(name, one.default) for name, one in OF_PACKS.items()}
    expand = option_checks.option("expand", values["expand"])
    merge = option_checks.option("merge", values["merge"])
    is_walk = expand == EDGES
    around_names = ("per_hit_neighbors", "window_chars")
    _check_effect(given, EdgeWalk().form() if not is_walk else around_names, expand)
    if is_walk and merge == COALESCE and values["nodes_max"] is not None:
        raise InvalidInputError(
            "nodes_max: got it with expand 'edges' and merge 'coalesce', expected merge 'absorb'"
        )
    around, chars = (
        None if is_walk else option_checks.option(name, values[name]) for name in around_names
    )
    overflow = option_checks.option("overflow", values["overflow"]) or CUT
    is_cut = overflow in (CUT, EXCERPT)
    sources = None if values["sources"] is None else resolve_sources(values["sources"])
    headings = option_checks.option("headings", values["headings"])
    return PackOptions(
        expand,
        around,
        chars,
        merge,
        overflow,
        checks.choice("rank", values["rank"], (SCORE, NONE)),
        option_checks.option("nodes_max", values["nodes_max"]),
        option_checks.option("spans", values["spans"]),
        _walk(values) if is_walk else None,
        sources,
        _dedupe(given, expand),
        default("headings") if is_walk else headings,
        PART_TOKENS_MIN if is_cut else 0,
        is_cut,
        is_cut,
        sources is not None and sources.has_conversation,
        enough=is_cut,
        slack=is_cut,
        titles=True,
    )


def _dedupe(given: Mapping[str, object], expand: str) -> Dedupe | None:
    found = resolve_dedupe(given, usual=SAME_TEXT)
    if expand == EDGES and found is not None and found.by in OF_DOCUMENTS:
        raise InvalidInputError(
            f"dedupe: got {found.by!r} with expand 'edges', where nothing has a place"
        )
    return found


def _walk(values: Mapping[str, object]) -> EdgeWalk:
    return EdgeWalk(
        _etypes(values["etypes"]),
        option_checks.option("direction", values["direction"]),
        option_checks.option("hops", values["hops"]),
        option_checks.option("fanout", values["fanout"]),
    )


def _check_effect(given: Mapping[str, object], useless: Iterable[str], expand: str) -> None:
    for name in useless:
        if name in given:
            raise InvalidInputError(
                f"{name}: got it with expand {expand!r}, where it has no effect"
            )


def _etypes(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInputError(f"etypes: got {checks.show(value)}, expected a list of types")
    names = sorted({checks.name("etypes", one) for one in value}, key=str.encode)
    most = int(OF_PACKS["etypes"].high)
    if not 1 <= len(names) <= most:
        raise InvalidInputError(f"etypes: got {len(names)}, expected from 1 to {most}")
    return tuple(names)
