"""What the engine promises, each on a repository made for it."""

from __future__ import annotations

import random

import dag_cbor
import numpy as np
import pytest

from ibidem.index.analysis import ENGLISH, analyse
from ibidem.index.index import Index
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.child import Child
from ibidem.objects.config import Config, Model
from ibidem.objects.errors import CorruptError, ErrorKind, FormatError, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node, split_content
from ibidem.objects.text import text_digest
from ibidem.objects.vector import Sparse, Vector
from ibidem.retrieve.answer.answer import receipt_of
from ibidem.retrieve.answer.receipt import Receipt
from ibidem.retrieve.answer.warning import WarningCode
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.query import resolve
from ibidem.retrieve.query.settings import changed_fields

from .graph_world import set_edges
from .oracle import World, answer
from .world import finish

MODELS = {
    "m": Model(dim=2),
    "p": Model(dim=2, metric="dot"),
    "e": Model(dim=2, metric="euclidean"),
    "empty": Model(dim=3),
}


def ident(index):
    return NodeId(index.to_bytes(16, "big"))


def ask(nodes, *, vectors=None, rows=None, tombstones=(), edges=(), **options):
    config = Config(models=MODELS, fields=("summary",))
    by_id = {node.id: node for node in nodes}
    dense = {
        model: {
            key: Vector.from_array(
                np.array(value, np.float32), of=text_digest(by_id[key].summary or "")
            )
            for key, value in one.items()
        }
        for model, one in (vectors or {}).items()
    }
    weighted = {
        key: Sparse.from_arrays(
            np.array(tokens, np.uint32), np.array(weights, np.float32), of=bytes(32)
        )
        for key, (tokens, weights) in (rows or {}).items()
    }
    facts = finish(config, list(nodes), dense, {"v": weighted}, set(tombstones), WriteBatch())
    facts = set_edges(facts, list(edges))
    snapshot = Index(None, facts.buffer).snapshot(facts.root)
    return execute(
        snapshot,
        resolve(config, **options),
        NodeSource(lambda cid: Node.decode(facts.buffer.get(cid))),
    )


def doc(index, summary="retry", ntype="Doc", **props):
    return Node(id=ident(index), ntype=ntype, summary=summary, props=props)


def ids(result):
    return [int.from_bytes(item.id.raw, "big") for item in result.items]


def test_a_filter_can_not_starve_a_result():
    """[3.2-a] [3.2-b]"""
    nodes = [doc(i, ntype="A") for i in range(400)] + [doc(i, ntype="B") for i in range(400, 420)]
    near = {ident(i): [1.0, i / 1000] for i in range(420)}
    result = ask(nodes, vectors={"m": near}, vector=("m", [1.0, 0.0]), label="B", depth=10)
    assert ids(result) == list(range(400, 410))


def test_five_nodes_with_one_value_are_five_answers():
    """[3.4-a] [9.1-a]"""
    result = ask([doc(i, city="Berlin") for i in range(5)], where={"city": "Berlin"})
    assert ids(result) == [0, 1, 2, 3, 4]
    assert {item.score for item in result.items} == {1.0}
    assert result.candidates_seen == 5


def test_a_tombstoned_node_influences_nothing():
    """[3.1-a]"""
    nodes = [doc(i, "retry backoff") for i in range(3)] + [doc(3, "other words entirely")]
    hidden = ask([*nodes, doc(9, "retry retry retry")], tombstones=[ident(9)], text="retry")
    absent = ask(nodes, text="retry")
    assert [(i.id, i.score) for i in hidden.items] == [(i.id, i.score) for i in absent.items]
    seen = ask(
        [*nodes, doc(9, "retry retry retry")], tombstones=[ident(9)], text="retry",
        include_tombstoned=True,
    )  # fmt: skip
    assert 9 in ids(seen)


def test_numbers_of_three_types_are_three_values():
    """[3.2-c] [3.2-d]"""
    nodes = [doc(0, x=1), doc(1, x=1.0), doc(2, x=True), doc(3, x=[0, 1]), doc(4, x="1")]
    assert ids(ask(nodes, where={"x": 1})) == [0, 3]
    assert ids(ask(nodes, where={"x": 1.0})) == [1]
    assert ids(ask(nodes, where={"x": True})) == [2]
    assert ids(ask(nodes, where={"x": {"gte": 1}})) == [0, 1, 3]
    assert ids(ask(nodes, where={"x": {"gt": "0"}})) == [4]


def test_scores_are_those_of_the_formula():
    """[4.1-a] [4.1-b]"""
    nodes = [doc(0, "retry retry queue"), doc(1, "queue"), doc(2, "lock")]
    result = ask(nodes, text="retry")
    mean = 5.0 / 3.0
    share = ((3.0 / mean) * 0.7 + (1.0 - 0.7)) * 1.2 + 2.0
    assert result.items[0].score == 2.0 * 2.2 / share * 0.9808292530117262
    assert result.items[0].lanes["lexical"].score == result.items[0].score


def part_of(index, summary, ntype, *parts):
    children = tuple(Child(ident(one), "", 0, 0) for one in parts)
    return Node(id=ident(index), ntype=ntype, summary=summary, children=children)


def manual(heading="Production"):
    return [
        part_of(0, "Handbook", "Document", 1, 2),
        part_of(1, "Staging", "Section", 11),
        part_of(2, heading, "Section", 12, 13),
        doc(11, "the timeout is 5 seconds", ntype="Passage"),
        doc(12, "the timeout is 30 seconds", ntype="Passage"),
        doc(13, "nothing else is known", ntype="Passage"),
    ]


def test_a_passage_is_ranked_with_the_headings_above_it():
    """[4.1.5-a] [4.1.5-c]"""
    found = ask(manual(), text="production timeout")
    assert ids(found)[0] == 12
    assert ids(ask(manual(), text="handbook timeout"))[:2] == [11, 12]
    assert ids(ask(manual("Production " * 32), text="production")) == [12]
    assert ids(ask(manual("Production " * 33), text="production")) == [2]


def test_a_passage_is_ranked_with_the_passages_around_it():
    """[4.1.5-d] [4.1.5-e]"""
    nodes = [
        part_of(0, "Handbook", "Document", 1, 2),
        part_of(1, "Backups", "Section", 11, 12),
        part_of(2, "Mirrors", "Section", 13, 14),
        doc(11, "snapshots of the vault run nightly", ntype="Passage"),
        doc(12, "these are kept for 30 days", ntype="Passage"),
        doc(13, "they are kept for 10 days", ntype="Passage"),
        doc(14, "a copy of the archive elsewhere", ntype="Passage"),
    ]
    found = ids(ask(nodes, text="vault kept days"))
    assert found.index(12) < found.index(13)

    def counts_beside(terms):
        around = doc(11, "vault " * (terms - 1) + "kept", ntype="Passage")
        found = ask([*nodes[:3], around, *nodes[4:]], text="kept days").items
        scores = {item.node.id: item.score for item in found}
        return scores[ident(12)] > scores[ident(13)]

    own = len(analyse("these are kept for 30 days", ENGLISH))
    assert counts_beside(100 - own)
    assert not counts_beside(101 - own)


def test_four_passages_on_each_side_count_for_one():
    """[4.1.5-d]"""

    def score_of_the_sixth(named):
        parts = range(10, 20)
        texts = {one: "timeout vault" if one == named else "nothing here" for one in parts}
        texts[15] = "seconds"
        nodes = [part_of(0, "Handbook", "Document", *parts)]
        nodes += [doc(one, text, ntype="Passage") for one, text in texts.items()]
        found = ask(nodes, text="seconds vault").items
        return {item.node.id: item.score for item in found}[ident(15)]

    alone = score_of_the_sixth(None)
    assert score_of_the_sixth(11) > alone
    assert score_of_the_sixth(19) > alone
    assert score_of_the_sixth(10) < score_of_the_sixth(11)


def test_a_heading_gives_its_place_to_its_first_passage():
    """[4.1.5-b]"""
    assert ids(ask(manual(), text="production")) == [12]
    assert ids(ask(manual(), text="production", label="Section")) == [2]
    assert ids(ask(manual(), text="production", operator="and")) == [2]


def test_text_without_a_match_is_an_empty_answer_and_never_noise():
    """[4.1-c] [9.3-a]"""
    nodes = [doc(0), doc(1)]
    assert ask(nodes, text="zebra").items == ()
    result = ask(nodes, text="!?")
    assert [warning.code for warning in result.warnings] == [WarningCode.NO_QUERY_TERMS]
    assert dict(result.status) == {"lexical": "no_terms"}


def test_vectors_of_zero_and_of_any_size_are_ranked():
    """[4.2-a]"""
    rows = {0: [0.0, 0.0], 1: [1e-45, 0.0], 2: [3e38, 3e38], 3: [-1.0, 0.0], 4: [0.0, 1e19]}
    nodes = [doc(i) for i in rows]
    vectors = {model: {ident(i): row for i, row in rows.items()} for model in ("m", "p", "e")}
    asked = {
        model: ask(nodes, vectors=vectors, vector=(model, [1.0, 0.0])) for model in ("m", "p", "e")
    }
    assert ids(asked["m"]) == [1, 2, 0, 4, 3]
    assert ids(asked["p"]) == [2, 1, 0, 4, 3]
    assert ids(asked["e"]) == [0, 1, 3, 4, 2]
    assert asked["m"].items[0].score == 1.0


def test_duplicates_come_by_id():
    """[2.5-a]"""
    order = list(range(300))
    random.Random(3).shuffle(order)
    vectors = {"m": {ident(i): [0.6, 0.8] for i in order}}
    result = ask([doc(i) for i in order], vectors=vectors, vector=("m", [0.6, 0.8]), depth=7)
    assert ids(result) == [0, 1, 2, 3, 4, 5, 6]


def test_a_model_without_vectors_warns_and_an_unknown_one_is_refused():
    """[3.3-c] [4.2-b]"""
    nodes = [doc(0)]
    result = ask(nodes, vector=("empty", [1.0, 0.0, 0.0]))
    assert [w.code for w in result.warnings] == [WarningCode.NO_VECTORS]
    assert result.items == ()
    with pytest.raises(InvalidInputError) as caught:
        ask(nodes, vector=("other", [1.0]))
    assert caught.value.kind is ErrorKind.UNKNOWN_MODEL
    assert "'other'" in str(caught.value)
    assert "e, empty, m, p" in str(caught.value)
    with pytest.raises(InvalidInputError) as caught:
        ask(nodes, vector=("m", [1.0, 2.0, 3.0]))
    assert caught.value.kind is ErrorKind.DIMENSION_MISMATCH
    assert "3" in str(caught.value)
    assert "2" in str(caught.value)


def test_sparse_sums_of_any_sign_are_ranked():
    """[4.3-a]"""
    sparse = {ident(0): ([1, 2], [1.0, -3.0]), ident(1): ([2], [0.5]), ident(2): ([9], [1.0])}
    result = ask([doc(i) for i in range(3)], rows=sparse, sparse=("v", [2, 1], [1.0, 2.0]))
    assert [(item.score) for item in result.items] == [0.5, -1.0]
    assert ids(result) == [1, 0]


def test_a_stale_and_a_missing_vector_are_one_warning_with_a_number():
    """[4.2-c]"""
    config = Config(models=MODELS, fields=("summary",))
    vectors = {
        ident(0): Vector.from_array(np.array([1, 0], np.float32), of=text_digest("before")),
        ident(1): Vector.from_array(np.array([0, 1], np.float32), of=text_digest("retry")),
    }
    facts = finish(config, [doc(i) for i in range(3)], {"m": vectors}, {}, set(), WriteBatch())
    result = execute(
        Index(None, facts.buffer).snapshot(facts.root),
        resolve(config, text="retry", vector=("m", [1.0, 0.0])),
        NodeSource(lambda cid: Node.decode(facts.buffer.get(cid))),
    )
    assert sorted(ids(result)) == [0, 1, 2]
    assert [(w.code, w.count) for w in result.warnings] == [(WarningCode.STALE_VECTORS, 2)]


def test_unknown_names_are_said():
    """[9.3-a]"""
    result = ask([doc(0)], label=["Doc", "Dok"], where={"lnag": {"ne": "en"}})
    assert [(w.code, w.subject) for w in result.warnings] == [
        (WarningCode.UNKNOWN_LABEL, "Dok"),
        (WarningCode.UNKNOWN_PROPERTY, "lnag"),
    ]
    assert ids(result) == [0]


def test_result_bytes_are_dag_cbor_whatever_their_length():
    """[9.2-a]"""
    result = ask([doc(i, "x" * 8000) for i in range(140)], label="Doc", limit=None)
    block = result.to_bytes()
    assert len(block) > 1 << 20
    assert dag_cbor.encode(dag_cbor.decode(block)) == block


def test_receipts_hold_no_text_and_come_back():
    """[10-a] [10-b]"""
    result = ask([doc(0, "secret words")], text="secret")
    receipt = receipt_of(result)
    block = receipt.encode()
    assert b"words" not in block
    assert dict(Receipt.decode(block).items[0].lanes) == dict(result.items[0].lanes)
    assert Receipt.decode(block) == receipt
    assert Receipt.decode(block).items[0].score == result.items[0].score
    for damaged in (block.replace(b"receipt", b"receipp"), block[:-1]):
        with pytest.raises(CorruptError):
            Receipt.decode(damaged)
    with pytest.raises(FormatError):
        Receipt.decode(block.replace(b"isemantics\x01", b"isemantics\x02"))


def test_a_result_explains_itself():
    text = ask([doc(i, "retry") for i in range(3)], text="retry", limit=1).explain()
    assert "3 candidates, 1 items" in text
    assert "lexical: rank 1" in text
    assert "2 left out by limit" in text


@pytest.mark.parametrize(
    ("character", "before"),
    [
        ("é", 1),
        ("n", 1),
        *(
            pytest.param(*given, marks=pytest.mark.slow)
            for given in [("é", 2), ("語", 2), ("\U0001f642", 3)]
        ),
    ],
)
def test_of_long_content_the_first_part_is_searched(character: str, before: int):
    """[4.1-d]"""
    cap = 8 << 20
    head = b"early" + b" " * (cap - 8 - before) + b"cor"
    data = head + character.encode() + b"x late" * 4000
    buffer = WriteBatch()
    content, parts = split_content(data)
    for cid, part in parts.items():
        buffer.put(cid, part)
    nodes = [Node(id=ident(1), ntype="Doc", content=content), doc(2, "early late")]
    config = Config(models=MODELS, fields=("content",))
    facts = finish(config, nodes, {}, {}, set(), buffer)
    snapshot = Index(None, buffer).snapshot(facts.root)
    last = f"cor{character}"[: 3 + before // len(character.encode())]
    for text, expected in (("early", [1]), (last, [1]), ("late", [])):
        query = resolve(config, text=text)
        result = execute(
            snapshot, query, NodeSource(lambda cid: Node.decode(buffer.get(cid)), facts.content)
        )
        assert ids(result) == expected
        assert result.to_bytes() == answer(World(buffer, facts.root), query.form())


def test_a_default_of_the_configuration_gives_way_to_any_option():
    """[3.3-e]"""
    plain = Config(models=MODELS)
    settings = changed_fields(plain, {"limit": 3, "phrases": True})
    config = Config(models=MODELS, extra=settings)
    assert resolve(config, text="a b").limit == 3
    assert resolve(config, text="a b") == resolve(plain, text="a b", limit=3, phrases=True)
    assert resolve(config, text="a b", limit=10, phrases=False) == resolve(plain, text="a b")
    assert resolve(config, vector=("m", [1.0, 0.0]), limit=10) == resolve(
        plain, vector=("m", [1.0, 0.0])
    )
