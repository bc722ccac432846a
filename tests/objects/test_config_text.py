"""Configuration of a root and the text that a node is indexed by."""

from __future__ import annotations

import pytest

from ibidem.objects import codec
from ibidem.objects.cid import Cid
from ibidem.objects.config import Config, Model
from ibidem.objects.derive import node_id
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.node import Node
from ibidem.objects.text import node_text, text_digest
from ibidem.objects.verify import verify_block

NODE = Node(node_id("", 1), "P", "sum", "ctx", {"title": "T", "n": 1})


def test_default_configuration_is_the_documented_one():
    assert Config.default().to_map() == {
        "semantics": 1,
        "analyser": "english-1",
        "fields": ["context_sentence", "summary", "content"],
        "models": {},
        "fusion": {"name": "score_normalised", "weights": {"dense": 0.7}},
    }


def test_configuration_survives_its_map_and_keeps_what_it_does_not_know():
    models = {"m": Model(3, "dot", "f16", bytes(32), {"recipe": "x"})}
    config = Config(2, "plain-1", ("summary",), models, {"name": "minmax"}, {"later": [1]})
    again = Config.from_map(codec.decode(codec.encode(config.to_map())))
    assert again == config
    assert Config.from_map({}) == Config.default()


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"semantics": "1"}, "semantics"),
        ({"semantics": True}, "semantics"),
        ({"analyser": ""}, "analyser"),
        ({"fields": "summary"}, "fields"),
        ({"fields": ["nowhere"]}, "fields"),
        ({"models": []}, "models"),
        ({"models": {"m": {}}}, "models"),
        ({"models": {"m": {"dim": 0}}}, "dim"),
        ({"models": {"m": {"dim": 1, "metric": "manhattan"}}}, "metric"),
        ({"models": {"m": {"dim": 1, "metric": []}}}, "metric"),
        ({"models": {"m": {"dim": 1, "dtype": "f64"}}}, "dtype"),
        ({"models": {"m": {"dim": 1, "dtype": []}}}, "dtype"),
        ({"models": {"m": {"dim": 1, "digest": b"x"}}}, "digest"),
        ({"fusion": 1}, "fusion"),
    ],
)
def test_configuration_of_another_form_is_refused_by_name(value, field):
    with pytest.raises(CorruptError, match=field):
        Config.from_map(value)


def test_text_joins_the_fields_that_exist_in_the_order_asked_for():
    fields = ("context_sentence", "summary", "content", "props.title", "props.n", "props.none")
    assert node_text(NODE, fields, b"body") == "ctx\nsum\nbody\nT"
    assert node_text(NODE, fields[::-1], None) == "T\nsum\nctx"
    assert node_text(NODE, (), b"body") == ""


@pytest.mark.parametrize("content", [b"\xff", b"a\x00b", b"", None])
def test_content_that_is_no_text_is_left_out(content):
    assert node_text(NODE, ("summary", "content"), content) == "sum"


def test_text_refuses_unknown_fields_and_surrogates():
    with pytest.raises(InvalidInputError, match="fields"):
        node_text(NODE, ("title",), None)
    with pytest.raises(InvalidInputError, match="surrogates"):
        text_digest("\ud800")


def test_block_is_verified_against_its_cid():
    block = NODE.encode()
    verify_block(NODE.cid, block)
    with pytest.raises(CorruptError) as caught:
        verify_block(Cid.of(b"other"), block)
    assert caught.value.kind == "hash-mismatch"
