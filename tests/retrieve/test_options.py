"""The table of a question's options: everything that reads it agrees with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ibidem.cli.options.reference import reference
from ibidem.objects.config import Config
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.retrieval.rerank_timeout import TIMEOUT_SECONDS, TIMEOUT_SECONDS_MAX
from ibidem.repo.retrieval.signature import PacksOptions, QuestionOptions, RetrieveOptions
from ibidem.retrieve.access.policy import TrustPolicy, Viewer
from ibidem.retrieve.query.options import (
    GROUPS,
    LIMIT_OF_PACKS,
    OF_BOTH,
    OF_CONVERSATIONS,
    OF_PACKS,
    OF_QUERY,
    OPTIONS,
    PACKS_ALONE,
    TIMES_OF_RECORDS,
    Option,
)
from ibidem.retrieve.query.query import resolve
from ibidem.retrieve.query.signature import QueryOptions
from ibidem.retrieve.tokens import HEURISTIC

HOUSE = Path(__file__).resolve().parents[2]
CONFIG = Config(extra={"trust": TrustPolicy().form()})


class Reranker:
    name, digest = "r", bytes(32)


FULL: dict[str, Any] = {
    "text": "words", "vector": ("m", [1.0]), "sparse": ("v", [1], [1.0]), "label": "Text",
    "queries": ["other words"], "coverage_min": 7,
    "where": {"a": 1}, "fuzzy": True, "graph": {"mode": "ppr"}, "community": {}, "mentions": {},
    "as_of": 1, "rerank": Reranker(), "mmr": {}, "recency": True,
    "importance": True, "feedback": True, "worth": True, "direct": True, "moment": 1,
    "packs": {"sources": {"as_of": 1}},
    "viewer": Viewer(level=4, scopes=()),
}  # fmt: skip
"""Asks for everything, with as few values as that takes."""
OTHER: dict[str, Any] = {
    **FULL,
    "graph": {"mode": "decay"},
    "packs": {"expand": "edges", "sources": {"as_of": 1}},
}
"""Asks for what cannot be asked for together with that."""
ITEMS = {name: value for name, value in FULL.items() if name != "packs"}
RECORDS: dict[str, Any] = {**ITEMS, "records": {"as_of": 1}}
"""Asks for records, which are not asked for together with packs."""
HISTORY: dict[str, Any] = {"history": {"created_after": None}}
"""Asks for what a caller with limits may not."""
FORMS = [resolve(CONFIG, **options).form() for options in (FULL, OTHER, RECORDS)]
FORMS.append(resolve(Config(), **HISTORY).form())
NEEDED: dict[str, dict[str, Any]] = {
    "dedupe_percent": {"dedupe": "near"},
    "dedupe_property": {"dedupe": "property", "dedupe_property": "a"},
}
"""What some options have an effect with."""
FORMS += [
    *(resolve(Config(), text="a", packs=needed).form() for needed in NEEDED.values()),
    *(resolve(Config(), text="a", **needed).form() for needed in NEEDED.values()),
]
FORMS.append(resolve(Config(), text="a", packs={"headings": "drop"}).form())
FORMS.append(resolve(Config(), text="a", headings="drop", overflow="stop", token_budget=1).form())
FORMS += [
    resolve(Config(), text="a", token_budget=1, frame={name: 1}).form()
    for name in ("answer", "item")
]
FORMS += [  # penalties are written only where one is not the default
    resolve(Config(), text="words", feedback={name: 7}).form() for name in ("up", "down")
]
ABSENT = object()
NUMBERS = [one for one in OPTIONS.values() if one.type in ("int", "float", "int | datetime")]
RESOLVED = [one for one in NUMBERS if one.form is not None]
CHOSEN = [one for one in OPTIONS.values() if one.choices]


def at(form: Any, place: str) -> Any:
    for step in place.split("."):
        if isinstance(form, list):
            form = form[int(step)]
        elif isinstance(form, dict) and step in form:
            form = form[step]
        else:
            return ABSENT
    return form


def given(option: Option, value: object) -> dict[str, Any]:
    """Returns a question with one option of this value, and what it needs."""
    mapping, _, key = option.name.rpartition(".")
    base = OTHER if option.name in ("hops", "fanout", "etypes", "direction") else FULL
    if option.name in OF_BOTH:
        needed = NEEDED.get(option.name, {})
        if (option.name, value) == ("dedupe", "property"):
            needed = {"dedupe_property": "a"}
        return {**ITEMS, "token_budget": 7, **needed, option.name: value}
    if option.name in OF_PACKS:
        return {**base, "packs": {**base["packs"], option.name: value}}
    if mapping == "sources":
        return {**base, "packs": {"sources": {"as_of": 1, key: value}}}
    if "frame" in (mapping, option.name):
        frame = {"item": 1, "indent": 1, key: value} if mapping else value
        return {**ITEMS, "token_budget": 7, "frame": frame}
    if option.name == "rrf_k":
        return {**base, "fusion": "rrf", "rrf_k": value}
    if "records" in (mapping, option.name):
        return {**RECORDS, "records": {**RECORDS["records"], key: value} if mapping else value}
    if not mapping:
        return {**base, option.name: value}
    if mapping == "graph":
        is_decay = at(FORMS[0], option.place or "") is ABSENT
        base = OTHER if is_decay else FULL
    parts = base[mapping] if isinstance(base[mapping], dict) else {}
    return {**base, mapping: {**parts, key: value}}


def named(option: Option) -> set[str]:
    # Ages are measured from one time, which is part of two options; those of records are given by
    # their own names.
    if option.name == "moment":
        return {option.name, "recency.as_of"}
    return {option.name, option.key} if option.name.startswith("records.") else {option.name}


def test_every_option_stands_once():
    names = [one.name for group in GROUPS.values() for one in group]
    assert len(names) == len(set(names)) == len(OPTIONS)
    flags = [one.flag.name for one in OPTIONS.values() if one.flag is not None]
    assert len(flags) == len(set(flags))


def test_defaults_ranges_and_choices_never_change():
    """[3.3-a] [5.1-a] and the tables of packs 1, memory 4.1 and recall: a question that leaves
    something out means the same in every later release."""
    own = Path(__file__).with_name("options.tsv").read_text("utf-8").splitlines()
    assert own[1:] == [
        "\t".join((one.name, *map(repr, (one.default, one.low, one.high, one.choices))))
        for one in (*OPTIONS.values(), *OF_CONVERSATIONS.values())
    ]
    assert LIMIT_OF_PACKS == 5


def test_the_signatures_are_those_of_the_table():
    own = {name: one.annotation for name, one in OF_QUERY.items()}
    assert signature(QueryOptions) == {
        **own,
        "sparse": "tuple[str, Any, Any] | None",  # an encoder has been asked before
        "as_of": "int | None",
        "notes": "CommitCid | None",
    }
    asked = {
        name: one.annotation
        for name, one in OPTIONS.items()
        if "." not in name and name not in PACKS_ALONE
    }
    assert signature(QuestionOptions) == asked
    of_packs = {name: one.annotation for name, one in OF_PACKS.items()}
    assert signature(PacksOptions) == {**signature(RetrieveOptions), **of_packs}


def signature(options: Any) -> dict[str, str]:
    return {
        name: getattr(one, "__forward_arg__", one) for name, one in options.__annotations__.items()
    }


@pytest.mark.parametrize("option", OPTIONS.values(), ids=lambda one: one.name)
def test_the_canonical_form_has_every_option_at_its_place(option: Option):
    if option.place is None:
        own = ("model", "embedder", "degrade", "rerank_timeout", "strict", "imagine", "reword")
        assert option.name in (*own, *TIMES_OF_RECORDS)
    elif all(at(form, option.place) is ABSENT for form in FORMS):
        # It is written only where it is asked for: older receipts have none.
        value = True if option.type == "bool" else 7
        assert at(resolve(CONFIG, **given(option, value)).form(), option.place) == value


@pytest.mark.parametrize(
    "option",
    [one for one in OPTIONS.values() if one.place and one.name not in FULL],
    ids=lambda one: one.name,
)
def test_what_is_not_given_holds_as_the_table_says(option: Option):
    assert option.place is not None
    if option.name in ("graph.mode", "notes", "records.as_of", "sources.as_of") or option.none in (
        "as configured",
        "the question's",
    ):
        return  # has no default of its own
    if option.name in ("dedupe", "headings"):
        assert all(at(form, option.place) is ABSENT for form in FORMS[:3])
        return  # its default is not written: older receipts have none
    found = [at(form, option.place) for form in FORMS]
    if option.default is False and set(map(type, found)) == {type(ABSENT)}:
        return  # written only where it is asked for
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    assert default in found or (default is None and ABSENT in found)
    assert type(default) in map(type, found) or default is None


@pytest.mark.parametrize("option", RESOLVED, ids=lambda one: one.name)
def test_numbers_are_taken_within_their_range_only(option: Option):
    step = 1 if "int" in option.type else 1e-3
    for value in (option.low, option.high):
        wanted = int(value) if "int" in option.type else float(value)
        resolve(CONFIG, **given(option, wanted))
    for value in (option.low - step, option.high + max(step, option.high * 1e-9), True, "1"):
        if isinstance(value, float) and "int" in option.type:
            value = int(option.high) + 1
        with pytest.raises(InvalidInputError) as caught:
            resolve(CONFIG, **given(option, value))
        assert str(caught.value).partition(":")[0] in named(option)


@pytest.mark.parametrize("option", CHOSEN, ids=lambda one: one.name)
def test_choices_are_taken_and_nothing_else(option: Option):
    for choice in option.choices:
        if (option.name, choice) == ("rank", "hybrid"):
            continue  # a question to a repository, which makes a fusion of it
        resolve(CONFIG, **given(option, choice))
    for value in ("best", 1, None if not option.none else True):
        with pytest.raises(InvalidInputError) as caught:
            resolve(CONFIG, **given(option, value))
        assert str(caught.value).partition(":")[0] in named(option)


def test_what_is_resolved_by_the_repository_agrees_with_the_table():
    timeout = OPTIONS["rerank_timeout"]
    assert (timeout.default, timeout.high) == (TIMEOUT_SECONDS, TIMEOUT_SECONDS_MAX)
    assert OPTIONS["estimator"].default == HEURISTIC.name


def test_the_page_is_the_table_of_today():
    page = (HOUSE / "docs" / "question-options.md").read_text(encoding="utf-8")
    assert page == reference(), (
        "run python -m ibidem.cli.options.reference > docs/question-options.md"
    )
