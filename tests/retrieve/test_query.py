"""Queries: what is resolved, what is refused, and their canonical form."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.objects import codec
from ibidem.objects.cid import RootCid
from ibidem.objects.config import Config, Model
from ibidem.objects.constants import BLOCK_BYTES_MAX
from ibidem.objects.errors import CorruptError, ErrorKind, FormatError, InvalidInputError
from ibidem.retrieve.access.policy import Viewer
from ibidem.retrieve.query import predicate
from ibidem.retrieve.query.predicate import And, Between, Equal, Exists, Not, OneOf, Or
from ibidem.retrieve.query.query import Query, resolve
from ibidem.retrieve.query.union import RootSet

CONFIG = Config()
NAN = float("nan")


def test_every_default_is_resolved():
    """[3.3-a]"""
    query = resolve(CONFIG, text="retry")
    assert query.form() == {
        "kind": "query", "v": 1, "semantics": 1, "text": "retry", "labels": [], "where": None,
        "match": {
            "operator": "or", "phrases": False,
            "fuzzy": {
                "weight": 0.5, "terms": 20, "length": 4, "rare": 1, "swaps": True, "letters": True,
            },
            "accents": True,
            "minor": True,
        },
        "valid": None, "adjacency": 0, "rerank": None, "mmr": None, "estimator_digest": None,
        "vector": None, "sparse": None, "graph": None, "community": None,
        "mentions": {"seeds": 2, "max_nodes": 50}, "depth": 100, "limit": 10, "token_budget": None,
        "metadata": False, "include_tombstoned": False,
        "fusion": {"name": "score_normalised", "k": 60.0, "weights": {"dense": 0.7}},
        "k1": 1.2, "b": 0.7, "estimator": "heuristic",
    }  # fmt: skip


def test_the_root_says_how_lanes_are_fused():
    config = Config(fusion={"name": "convex", "weights": {"dense": 0.5}})
    query = resolve(config, text="x")
    assert (query.fusion.name, dict(query.fusion.weights)) == ("convex", {"dense": 0.5})
    assert dict(resolve(config, text="x", fusion="rrf").fusion.weights) == {}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({}, "text"),
        ({"text": "  \n"}, "text"),
        ({"text": 3}, "text"),
        ({"text": "\ud800"}, "text"),
        ({"text": "x" * 70_000}, "text"),
        ({"text": "x", "limit": -1}, "limit"),
        ({"text": "x", "limit": True}, "limit"),
        ({"text": "x", "limit": 10**5000}, "limit"),
        ({"text": "x", "k1": 10**400}, "k1"),
        ({"where": {"a": {"lt": 10**5000}}}, "where.a.lt"),
        ({"text": "x", "limit": 1.5}, "limit"),
        ({"text": "x", "depth": 0}, "depth"),
        ({"text": "x", "depth": 10**9}, "depth"),
        ({"text": "x", "token_budget": -1}, "token_budget"),
        ({"text": "x", "metadata": 1}, "metadata"),
        ({"text": "x", "include_tombstoned": 1}, "include_tombstoned"),
        ({"text": "x", "k1": NAN}, "k1"),
        ({"text": "x", "b": 1.1}, "b"),
        ({"text": "x", "fusion": "best"}, "fusion"),
        ({"text": "x", "rrf_k": -1}, "rrf_k"),
        ({"text": "x", "fusion": "convex", "rrf_k": 1}, "rrf_k"),
        ({"text": "x", "fusion": "rrf", "weights": {"dense": 1.0}}, "weights"),
        ({"text": "x", "fusion": "convex", "weights": {"best": 1.0}}, "weights"),
        ({"text": "x", "fusion": "convex", "weights": {"dense": 0}}, "weights.dense"),
        ({"text": "x", "colour": "red"}, "colour"),
        ({"label": ""}, "label"),
        ({"label": [3]}, "label"),
        ({"vector": ("m", [NAN])}, "vector"),
        ({"vector": ("m", [1e39])}, "vector"),
        ({"vector": ("m", [[1.0]])}, "vector"),
        ({"vector": ("m", ["a"])}, "vector"),
        ({"vector": ("m", [])}, "vector"),
        ({"vector": ("", [1.0])}, "vector"),
        ({"vector": [1.0]}, "vector"),
        ({"sparse": ("v", [1, 1], [1.0, 1.0])}, "sparse.tokens"),
        ({"sparse": ("v", [-1], [1.0])}, "sparse.tokens"),
        ({"sparse": ("v", [1], [1.0, 2.0])}, "sparse"),
        ({"sparse": ("v", [], [])}, "sparse"),
        ({"sparse": ("v", [1], [NAN])}, "sparse.weights"),
        ({"where": {"a": {"near": 1}}}, "where.a"),
        ({"where": {"a": {}}}, "where.a"),
        ({"where": {"a": [1, 2]}}, "where.a"),
        ({"where": {"a": NAN}}, "where.a"),
        ({"where": {"a": 2**70}}, "where.a"),
        ({"where": {"a": {"gt": 1, "gte": 1}}}, "where.a"),
        ({"where": {"a": {"gt": 1, "lt": "z"}}}, "where.a"),
        ({"where": {"a": {"gt": True}}}, "where.a.gt"),
        ({"where": {"a": {"gt": None}}}, "where.a.gt"),
        ({"where": {"a": {"in": "abc"}}}, "where.a.in"),
        ({"where": {"a": {"exists": 1}}}, "where.a.exists"),
        ({"where": {"or": {"a": 1}}}, "where.or"),
        ({"where": {"not": [1]}}, "where.not"),
        ({"where": {3: 1}}, "where"),
        ({"where": 3}, "where"),
    ],
)
def test_what_is_wrong_is_refused_by_name(options, named):
    with pytest.raises(InvalidInputError) as caught:
        resolve(CONFIG, **options)
    assert str(caught.value).startswith(f"{named}:")


def test_deep_conditions_are_refused_before_the_stack_is():
    where: object = {"a": 1}
    for _ in range(5000):
        where = {"not": where}
    with pytest.raises(InvalidInputError) as caught:
        resolve(CONFIG, where=where)
    assert caught.value.kind is ErrorKind.LIMIT_EXCEEDED


def test_conditions_given_as_classes_are_checked_like_mappings():
    deep: object = Equal("a", 1)
    for _ in range(5000):
        deep = Not(deep)  # type: ignore[arg-type]
    for where in (
        deep,
        Equal("a", NAN),
        Equal(3, 1),
        Between("a", 1, "z"),
        Between("a", None, None),
        And((3,)),
        Or(None),
    ):
        with pytest.raises(InvalidInputError):
            resolve(CONFIG, where=where)  # type: ignore[arg-type]
    found = resolve(CONFIG, where=OneOf("a", ("z", "b", "z"))).where
    assert found == OneOf("a", ("b", "z"))


def test_the_deepest_condition_fits_a_block():
    """[3.3-b]"""
    where: dict[str, object] = {"a": {"in": [1]}}
    for _ in range(12):
        where = {"or": [where, {"b": 1}], "c": 1}
    query = resolve(CONFIG, where=where)
    assert Query.decode(query.encode()).encode() == query.encode()
    with pytest.raises(InvalidInputError, match="nested deeper than 12"):
        resolve(CONFIG, where={"or": [where]})


def test_conditions_of_24_levels_are_the_deepest():
    """[3.3-b]"""
    deep: predicate.Predicate = Equal("a", 1)
    for _ in range(23):
        deep = Not(deep)
    assert resolve(CONFIG, where=deep).where == deep
    with pytest.raises(InvalidInputError, match="nested deeper than 24"):
        resolve(CONFIG, where=Not(deep))


@pytest.mark.parametrize(
    ("most", "made"),
    [
        (65_536, lambda size: resolve(CONFIG, text="x" * size)),
        (65_536, lambda size: resolve(CONFIG, text="\u00e9" * (size // 2) + "x" * (size % 2))),
        (1_000, lambda size: resolve(CONFIG, label=map(str, range(size)))),
        (10_000, lambda size: resolve(CONFIG, where={"a": {"in": list(range(size))}})),
        (4_096, lambda size: resolve(of_dimension(size), vector=("m", [1.0] * size))),
        (65_536, lambda size: resolve(CONFIG, sparse=("v", range(size), [1.0] * size))),
        (64, lambda size: RootSet.of(RootCid.of(bytes([one])) for one in range(size))),
        (1_000, lambda size: Viewer(1, map(str, range(size)))),
    ],
)
def test_what_is_larger_than_the_spec_allows_is_refused(most, made):
    """[3.3-a] [3.3-b]"""
    made(most)
    with pytest.raises(InvalidInputError, match=rf"expected .*\b{most}\b"):
        made(most + 1)


def of_dimension(dim):
    return Config(models={"m": Model(dim=dim)})


def test_conditions_have_one_canonical_spelling():
    """[3.2-c] [3.3-b]"""
    where = {"year": {"gte": 1990, "lt": 2000}, "a": {"in": ["z", 1, 1.0, True, "z"]}}
    expected = And((OneOf("a", (1, "z", True, 1.0)), Between("year", 1990, 2000, high_open=True)))
    parsed = predicate.parse(where)
    assert repr(parsed) == repr(expected)
    assert repr(predicate.from_form(parsed.form())) == repr(expected)


def test_a_property_named_like_an_operator_is_reached_with_a_class():
    where = {"or": [Equal("or", 1), {"not": {"b": {"exists": True}}}]}
    assert predicate.parse(where) == Or((Equal("or", 1), Not(Exists("b"))))


@settings(max_examples=examples(60), deadline=None)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    vector=st.none()
    | st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=5),
    limit=st.none() | st.integers(0, 10**6),
    labels=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=3
    ),
    k1=st.floats(0, 1000),
)
def test_queries_come_back_from_their_bytes(text, vector, limit, labels, k1):
    """[3.3-a] [3.3-b]"""
    options = {} if vector is None else {"vector": ("m", vector)}
    query = resolve(CONFIG, text=text, label=labels, limit=limit, k1=k1, **options)
    block = query.encode()
    assert Query.decode(block) == query
    assert Query.decode(block).encode() == block


OTHERS = [
    {"label": ["Passage", "Fact"], "as_of": 7, "valid_missing": "drop"},
    {"where": {"year": {"gte": 1990}, "a": {"in": ["z", 1, 1.0, True]}}, "viewer": None},
    {"vector": ("m", [0.5, 0.25]), "sparse": ("v", [1], [1.0])},
    {"graph": {"mode": "ppr"}, "community": {"hops": 2}, "mentions": {"seeds": 3}},
    {"mentions": False, "fusion": "rrf", "rrf_k": 30.0},
    {"depth": 101, "limit": None, "token_budget": 2**33, "metadata": True, "adjacency": 1},
    {"include_tombstoned": True, "k1": 0.0, "b": 1.0, "mmr": {"lambda": 0.5}, "coverage_min": 500},
    {"operator": "and", "phrases": True, "fuzzy": {"terms": 3}},
    {"packs": {}, "estimator": "heuristic"},
    {"records": {"as_of": 1}},
    {"queries": [{"text": "other"}]},
]


@pytest.mark.parametrize("options", [{}, *OTHERS], ids=lambda options: "-".join(options) or "none")
@pytest.mark.parametrize("text", ["x", "\U0001f375" * 30, "y" * 300], ids=["short", "wide", "long"])
def test_bytes_are_those_of_the_whole_form(options, text):
    """[3.3-a] [9.2-a] Also after a question with other options, and of another version."""
    query = resolve(CONFIG, **{"text": text, **options})
    again = resolve(Config(), **{"text": text, **options})
    for one in (query, again, dataclasses.replace(query, degraded="m", semantics=2)):
        assert one.encode() == codec.encode(one.form())


def test_a_question_with_another_text_encodes_only_the_text(monkeypatch: pytest.MonkeyPatch):
    resolve(CONFIG, text="one").encode()
    second = resolve(CONFIG, text="two")
    with monkeypatch.context() as patched:
        patched.setattr(codec, "encode", None)  # not called
        block = second.encode()
    assert block == codec.encode(second.form())


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (Query("x", k1=-0.0), r"^k1: float: got -0\.0"),
        (Query("\ud800"), "^text: text: got"),
        (Query("x", labels=("y" * BLOCK_BYTES_MAX,)), "^block: got"),
    ],
)
def test_a_query_that_has_no_canonical_bytes_is_refused_by_the_codec(query, said):
    with pytest.raises(InvalidInputError, match=said):
        query.encode()


def test_vectors_are_rounded_to_float32_and_lose_their_negative_zeros():
    query = resolve(CONFIG, vector=("m", np.array([-0.0, 0.1])))
    assert query.vector is not None
    assert query.vector.data == np.array([0.0, 0.1], "<f4").tobytes()


def test_forms_that_are_not_canonical_are_refused():
    form = resolve(CONFIG, text="x").form()
    for change in ({"depth": 0}, {"labels": ["b", "a"]}, {"text": " "}, {"more": 1}, {"k1": 1}):
        with pytest.raises(CorruptError):
            Query.decode(codec.encode({**form, **change}))
    with pytest.raises(CorruptError):
        Query.decode(codec.encode({"kind": "node"}))
    with pytest.raises(FormatError) as caught:
        Query.decode(codec.encode({**form, "semantics": 2}))
    assert caught.value.kind is ErrorKind.UNSUPPORTED_SEMANTICS


def test_queries_are_values():
    query = resolve(CONFIG, text="x")
    with pytest.raises(dataclasses.FrozenInstanceError):
        query.depth = 1  # type: ignore[misc]


def test_records_are_not_asked_for_beside_packs():
    with pytest.raises(InvalidInputError, match=r"^records: got them beside packs"):
        resolve(Config(), text="retry", packs={}, records={"as_of": 1})
    query = resolve(Config(), text="retry", records={"as_of": 1})
    form = {**query.form(), "packs": resolve(Config(), text="retry", packs={}).form()["packs"]}
    with pytest.raises(CorruptError, match="records"):
        Query.from_form(form)
    with pytest.raises(CorruptError, match="eleven fields"):
        Query.from_form({**query.form(), "records": {"as_of": 1}})
