"""What comes after the lanes: validity, reranking, diversity, fusions; each changes an answer."""

from __future__ import annotations

import numpy as np
import pytest

from ibidem.index.families.edge_rows import validity
from ibidem.index.index import Index
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.config import Config
from ibidem.objects.constants import TIME_MAX, TIME_MIN
from ibidem.objects.derive import edge_id
from ibidem.objects.edge import Edge
from ibidem.objects.errors import CorruptError, InvalidInputError, ReplayError
from ibidem.objects.ids import EdgeId
from ibidem.objects.node import Node
from ibidem.objects.text import text_digest
from ibidem.objects.vector import Vector
from ibidem.retrieve.answer.answer import receipt_of
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.answer.warning import WARNINGS_MAX, WarningCode
from ibidem.retrieve.dense.lane import canonical_scores
from ibidem.retrieve.diversity import diversify
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.query import Query, resolve
from ibidem.retrieve.rerank import RerankRecord, RerankStatus
from ibidem.retrieve.similarity import cosines

from .graph import edge_holds
from .graph_world import set_edges
from .test_claims import MODELS, ask, doc, ident, ids
from .world import finish

TEXTS = ["retry retry retry retry", "retry retry retry", "retry retry", "retry"]


class Model:
    """A reranker that does what it is told and counts how often it is asked."""

    name = "told"
    digest = bytes(32)

    def __init__(self, answer):
        self.answer = answer
        self.calls = []

    def rerank(self, text, rendered):
        self.calls.append((text, list(rendered)))
        return self.answer(text, rendered) if callable(self.answer) else self.answer


def given(texts, *, vectors=None, **options):
    config = Config(models=MODELS, fields=("summary",))
    nodes = [doc(i, f"{text} {'filler ' * (9 - i)}") for i, text in enumerate(texts)]
    rows = {
        ident(i): Vector.from_array(np.array(row, np.float32), of=text_digest(""))
        for i, row in (vectors or {}).items()
    }
    facts = finish(config, nodes, {"m": rows} if rows else {}, {}, set(), WriteBatch())
    snapshot = Index(None, facts.buffer).snapshot(facts.root)

    def run(reranker, query=None):
        wanted = resolve(config, rerank=reranker, **options) if query is None else query
        return execute(
            snapshot,
            wanted,
            NodeSource(lambda cid: Node.decode(facts.buffer.get(cid))),
            reranker=reranker,
        )

    return run


def test_a_node_holds_from_its_beginning_until_before_its_end():
    """[3.2-e]"""
    nodes = [
        doc(0, valid_from=10, valid_to=20),
        doc(1, valid_from=20, valid_to=None),
        doc(2, valid_to=10),
        doc(3),
        doc(4, valid_from="soon"),
        doc(5, valid_from=[0, 99]),
    ]
    assert ids(ask(nodes, as_of=19)) == [0, 3, 5]
    assert ids(ask(nodes, as_of=20)) == [1, 3, 5]
    assert ids(ask(nodes, as_of=9)) == [2, 3, 5]
    assert ids(ask(nodes, as_of=19, valid_missing="drop")) == [0, 5]
    assert ids(ask(nodes, text="retry", limit=None)) == [0, 1, 2, 3, 4, 5]


BOUNDS = [
    ({"valid_from": 5}, (5, TIME_MAX)),
    ({"valid_to": 5}, (TIME_MIN, 4)),
    ({"valid_from": 1.5, "valid_to": 4.5}, (2, 4)),
    ({"valid_from": 5, "valid_to": 5}, None),
    ({"valid_from": 1 << 63}, None),
    ({"valid_to": -(1 << 64)}, None),
    ({"valid_to": -(1 << 63)}, None),
    ({"valid_to": (1 << 63) - 1}, (TIME_MIN, TIME_MAX - 1)),
    ({"valid_from": -(1 << 64), "valid_to": (1 << 64) - 1}, (TIME_MIN, TIME_MAX)),
    ({"valid_from": None, "valid_to": None, "else": 3}, (TIME_MIN, TIME_MAX)),
    ({"valid_from": "5"}, None),
    ({"valid_to": [5]}, None),
    ({"valid_from": False}, None),
]


@pytest.mark.parametrize(("props", "wanted"), BOUNDS, ids=map(str, range(len(BOUNDS))))
def test_an_edge_holds_between_its_numbers(props, wanted):
    """[3.2-f]"""
    first, last = validity(props)
    assert (first, last) == wanted or (wanted is None and first > last)
    for moment in (TIME_MIN, -1, 0, 1, 2, 3, 4, 5, 6, TIME_MAX):
        assert edge_holds(
            Edge(EdgeId(bytes(16)), "x", ident(0), ident(1), props=props), {"at": moment}
        ) == (first <= moment <= last)


def test_lanes_walk_edges_that_hold():
    """[3.2-f]"""
    nodes = [doc(0, "retry"), doc(1, "else"), doc(2, "else")]
    edges = [
        Edge(edge_id(ident(0), "x", ident(n)), "x", ident(0), ident(n), props=props)
        for n, props in ((1, {"valid_to": 10}), (2, {"valid_from": 10}))
    ]
    for moment, wanted in ((9, [0, 1]), (10, [0, 2]), (None, [0, 1, 2])):
        graph = {"mode": "ppr"}
        found = ask(nodes, edges=edges, text="retry", graph=graph, mentions=False, as_of=moment)
        assert sorted(ids(found)) == wanted


def test_validity_narrows_before_lanes_rank():
    """[3.2-e] [3.2-a]"""
    nodes = [doc(i, valid_to=5) for i in range(30)] + [doc(30, valid_from=5)]
    assert ids(ask(nodes, text="retry", as_of=5, depth=1)) == [30]


def test_a_reranker_moves_what_it_scores_and_nothing_else():
    """[6.1-b] [6-a]"""
    run = given(TEXTS, text="retry", rerank_depth=3)
    before = given(TEXTS, text="retry")(None)
    assert ids(before) == [0, 1, 2, 3]
    model = Model([1.0, None, 2.0])
    result = run(model)
    assert ids(result) == [2, 0, 1, 3]
    assert model.calls == [("retry", [item.rendered for item in before.items[:3]])]
    assert {item.id: item.score for item in result.items} == {
        item.id: item.score for item in before.items
    }
    assert [item.lanes.get("rerank") for item in result.items] == [
        (1, 2.0, 0.0), (2, 1.0, 0.0), None, None,
    ]  # fmt: skip
    assert result.status["rerank"] is RerankStatus.OK
    assert "rerank: rank 1, score 2.0" in result.explain()
    assert ids(given(TEXTS, text="retry")(Model([1, 1, 2, 2]))) == [2, 3, 0, 1]


def test_the_text_compared_with_can_be_another():
    model = Model([1, 2, 3, 4])
    given(TEXTS, text="retry", rerank_text="why?")(model)
    assert model.calls[0][0] == "why?"


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ([1.0], "wrong_count"),
        (None, "error"),
        ([1.0, float("nan"), 1.0, 1.0], "not_numbers"),
        ([1.0, "2", 1.0, 1.0], "not_numbers"),
        ([1.0, True, 1.0, 1.0], "not_numbers"),
        ([1.0, 10**400, 1.0, 1.0], "not_numbers"),
        (lambda *_: [][0], "error"),
        (lambda *_: (_ for _ in ()).throw(TimeoutError()), "timeout"),
    ],
)
def test_a_reranker_that_fails_changes_no_order_and_says_so(answer, status):
    """[6.1-c]"""
    run = given(TEXTS, text="retry")
    result = run(Model(answer))
    assert ids(result) == [0, 1, 2, 3]
    assert result.status["rerank"] == status
    assert result.rerank == RerankRecord(RerankStatus(status))
    assert [w.code for w in result.warnings] == [WarningCode.RERANK_FAILED]
    again = run(receipt_of(result).rerank, result.query)
    assert again.to_bytes() == result.to_bytes()


def test_one_candidate_is_not_worth_a_call():
    """[6.1-a]"""
    model = Model([1.0])
    result = given(TEXTS[:1], text="retry")(model)
    assert model.calls == []
    assert result.status["rerank"] is RerankStatus.TOO_FEW
    assert result.warnings == ()


def test_a_replay_takes_the_record_and_needs_no_model():
    """[6.1-d]"""
    run = given(TEXTS, text="retry", mmr={"lambda": 0.5})
    result = run(Model([0.1, 0.4, 0.3, 0.2]))
    receipt = Receipt.decode(receipt_of(result).encode())
    assert run(receipt.rerank, receipt.query).to_bytes() == result.to_bytes()
    assert receipt.rerank.scores == result.rerank.scores
    other = RerankRecord(RerankStatus.OK, result.rerank.scores[:2])
    with pytest.raises(ReplayError):
        run(other, receipt.query)
    with pytest.raises(InvalidInputError, match="no reranker"):
        run(None, receipt.query)
    stranger = Model([1, 2, 3, 4])
    stranger.name = "stranger"
    with pytest.raises(InvalidInputError, match="stranger"):
        run(stranger, receipt.query)
    with pytest.raises(CorruptError):
        Receipt.decode(receipt_of(result).encode().replace(b"bok", b"bno"))


def test_a_reranker_without_its_option_is_refused():
    run = given(TEXTS, text="retry")
    with pytest.raises(InvalidInputError, match="the query names none"):
        run(Model([1]), resolve(Config(), text="retry"))


def test_diversity_takes_the_unlike_first():
    """[6.2-a]"""
    alike = [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]

    def similarity(one, others):
        return [alike[one][other] for other in others]

    scores = (0.95, 0.94, 0.70)
    assert diversify(scores, 0.7, similarity) == [0, 2, 1]
    assert diversify(scores, 1.0, similarity) == [0, 1, 2]
    assert diversify(scores, 0.0, similarity) == [0, 2, 1]
    assert diversify((), 0.7, similarity) == []
    assert diversify((-1.0, -1.0), 0.7, similarity) == [0, 1]


def test_near_duplicates_go_down_by_vector_or_by_terms():
    """[6.2-b]"""
    vectors = {0: [1.0, 0.1], 1: [1.0, 0.11], 2: [0.6, -0.8]}
    texts = ["a", "b", "c"]
    options = {"vector": ("m", [1.0, 0.1])}
    assert ids(given(texts, vectors=vectors, **options)(None)) == [0, 1, 2]
    assert ids(given(texts, vectors=vectors, mmr={"lambda": 0.5}, **options)(None)) == [0, 2, 1]
    assert ids(given(texts, vectors=vectors, mmr={"lambda": 0.5, "depth": 2}, **options)(None)) == [
        0,
        1,
        2,
    ]
    nodes = [doc(0, "retry queue lock"), doc(1, "retry queue lock"), doc(2, "retry zebra wolf cat")]
    assert ids(ask(nodes, text="retry")) == [0, 1, 2]
    assert ids(ask(nodes, text="retry", mmr={"lambda": 0.5})) == [0, 2, 1]


def test_diversity_does_not_undo_a_reranking():
    """[6.2-a]"""
    options = {"text": "retry", "mmr": {"lambda": 0.9}}
    plain = given(TEXTS, **options)(None)
    result = given(TEXTS, **options)(Model([0.2, 0.1, 0.9, 0.3]))
    assert ids(plain) == [0, 1, 2, 3]
    assert ids(result) == [2, 3, 0, 1]


def test_score_normalised_starts_at_the_last_of_each_lane():
    """[7-c]"""
    nodes = [doc(i) for i in range(3)]
    vectors = {"m": {ident(i): [1.0, float(i)] for i in range(3)}}
    asked = {"vector": ("m", [1.0, 0.0]), "text": "retry", "limit": None}
    convex = ask(nodes, vectors=vectors, fusion="convex", **asked)
    own = ask(nodes, vectors=vectors, fusion="score_normalised", **asked)
    assert own.items[-1].lanes["dense"].contribution == 0.0
    assert convex.items[-1].lanes["dense"].contribution > 0.5
    weighted = ask(
        nodes, vectors=vectors, fusion="score_normalised", weights={"dense": 0.5}, **asked
    )
    assert weighted.items[0].lanes["dense"].contribution == 0.5


def test_warnings_are_capped():
    """[9.3-b]"""
    result = ask([doc(0)], label=[f"L{i}" for i in range(12)])
    assert len(result.warnings) == WARNINGS_MAX
    assert result.warnings[-1].form() == ["warnings_truncated", "warnings", None, 5]
    assert {w.code for w in result.warnings[:-1]} == {WarningCode.UNKNOWN_LABEL}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"as_of": 1.5}, "as_of"),
        ({"as_of": 2**63}, "as_of"),
        ({"as_of": 1, "valid_missing": "lenient"}, "valid_missing"),
        ({"text": "x", "valid_missing": "drop"}, "valid_missing"),
        ({"text": "x", "mmr": {"lambda": 1.5}}, "mmr.lambda"),
        ({"text": "x", "mmr": {"depth": 0}}, "mmr.depth"),
        ({"text": "x", "mmr": {"lamda": 1}}, "mmr"),
        ({"text": "x", "mmr": True}, "mmr"),
        ({"label": "x", "mmr": {}}, "mmr"),
        ({"text": "x", "rerank": 3}, "rerank"),
        ({"text": "x", "rerank_depth": 3}, "rerank_depth"),
        ({"text": "x", "rerank_text": "y"}, "rerank_text"),
        ({"text": "x", "rerank": Model([]), "rerank_depth": 0}, "rerank_depth"),
        ({"label": "x", "rerank": Model([])}, "rerank_text"),
        ({"text": "x", "adjacency": -1}, "adjacency"),
        ({"text": "x", "estimator": 3}, "estimator"),
    ],
)
def test_options_are_refused_by_name(options, named):
    with pytest.raises(InvalidInputError, match=f"^{named}: "):
        resolve(Config(), **options)


def test_a_query_with_every_stage_writes_back():
    query = resolve(
        Config(), text="x", as_of=3, mmr={"lambda": 1}, rerank=Model([]), rerank_depth=2
    )
    assert Query.decode(query.encode()) == query


def test_edges_are_shown_with_what_is_visible_and_no_more():
    """[8.1-e] [8.1-f]"""
    nodes = [doc(i) for i in range(5)]
    facts = finish(Config(), nodes, {}, {}, {ident(4)}, WriteBatch())
    pairs = [(0, "cites", 2), (0, "cites", 1), (0, "author", 3), (0, "cites", 4), (2, "cites", 0)]
    edges = [
        Edge(edge_id(ident(a), name, ident(b), None), name, ident(a), ident(b))
        for a, name, b in pairs
    ]
    facts = set_edges(facts, edges)
    snapshot = Index(None, facts.buffer).snapshot(facts.root)

    def shown(count):
        query = resolve(facts.config, label="Doc", adjacency=count, limit=1)
        load = facts.buffer.get
        [item] = execute(snapshot, query, NodeSource(lambda cid: Node.decode(load(cid)))).items
        return item.rendered.removesuffix("retry").splitlines()[:-1]

    assert shown(0) == []
    assert shown(9) == [
        "Outgoing:",
        f"  author -> {ident(3)}",
        f"  cites -> {ident(1)}",
        f"  cites -> {ident(2)}",
        "Incoming:",
        f"  cites <- {ident(2)}",
    ]
    assert shown(1)[:3] == ["Outgoing:", f"  author -> {ident(3)}", "  ... (+2 more)"]


def test_cosines_of_pairs_are_the_canonical_ones():
    """[6.2-b] [4.2-a]"""
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((9, 33)).astype(np.float32)
    rows[3] = 0.0
    rows[4] = rows[0] * np.float32(-1e20)
    rows[5, :] = 1e-40
    found = cosines(list(rows))
    for place, row in enumerate(rows):
        assert found[place].tobytes() == canonical_scores(rows, row, "cosine").tobytes()
    assert cosines([]).shape == (0, 0)


def test_an_explanation_names_every_stage():
    options = {"text": "retry", "as_of": 5, "mmr": {"lambda": 0.9}}
    text = given(TEXTS, **options)(Model([1, 2, 3, 4])).explain()
    assert "valid at 5, without a time: pass\n" in text
    assert "rerank by 'told', depth 25\n" in text
    assert "lane rerank: ok\n" in text
    assert "mmr lambda 0.9, depth 40\n" in text
