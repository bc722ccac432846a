"""`--also`, `--summary` and the flags of what ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Run

Data = Callable[..., dict[str, Any]]
TEXTS = ("cars rust in winter", "vehicles corrode by salt", "salt in the cake dough")


@pytest.fixture
def filled(notes: Run, data: Data) -> None:
    lines = "".join(
        f'{{"node": {{"name": "{i}", "ntype": "Memo", "key": {i}, "summary": "{text}"}}}}\n'
        for i, text in enumerate(TEXTS)
    )
    lines += '{"sparse": {"node": "2", "vocab": "v", "indices": [4, 9], "weights": [1.0, 0.5]}}\n'
    data("add", "-", stdin=lines.encode())
    notes("commit")


def found(data: Data, *options: str) -> list[str]:
    return [item["rendered"] for item in data("retrieve", *options, "--label", "Memo")["items"]]


@pytest.mark.usefixtures("filled")
def test_other_wordings_are_asked_too(data: Data):
    assert found(data, "rust") == [TEXTS[0]]
    both = data("retrieve", "rust", "--also", "corrode", "--also", "vehicles", "--label", "Memo")
    assert [item["rendered"] for item in both["items"]] == [TEXTS[1], TEXTS[0]]
    assert both["status"]["queries[1]"] == "ok"
    assert found(data, "rust", "--also", "corrode", "--weight", "queries=0.1")[0] == TEXTS[0]


@pytest.mark.usefixtures("filled")
def test_a_summary_stands_first(notes: Run, data: Data):
    found = data("retrieve", "rust", "--summary", "1", "--label", "Memo")["summary"]
    assert found == {"text": TEXTS[0], "sentences": [{"item": 0, "text": TEXTS[0]}]}
    assert notes("retrieve", "rust", "--summary", "1").stdout.startswith(f"{TEXTS[0]} [1]")
    assert notes("packs", "rust", "--summary", "1").stdout.startswith(f"{TEXTS[0]} [1]")
    assert data("packs", "rust", "--summary", "1")["summary"]["text"] == TEXTS[0]


@pytest.mark.usefixtures("filled")
def test_a_sparse_vector_comes_from_a_file(notes: Run, data: Data, tmp_path):
    (file := tmp_path / "sparse.json").write_text('{"9": 1.0, "17": 0.5}')
    assert found(data, "--sparse", f"v={file}") == [TEXTS[2]]
    for content, message in (("[1]", "not a JSON object"), ('{"x": 1}', "not a JSON object")):
        file.write_text(content)
        refused = notes("retrieve", "rust", "--sparse", f"v={file}", code=2)
        assert message in refused.stderr
    refused = notes("retrieve", "rust", "--sparse", f"v={tmp_path / 'none'}", code=2)
    assert "cannot read" in refused.stderr
    assert "expected VOCABULARY" in notes("retrieve", "rust", "--sparse", "v", code=2).stderr


@pytest.mark.usefixtures("filled")
def test_constants_and_weights_are_those_of_the_query(data: Data, notes: Run):
    plain = data("retrieve", "salt", "--label", "Memo")
    other = data("retrieve", "salt", "--label", "Memo", "--k1", "0", "--b", "0")
    assert plain["items"][0]["score"] != other["items"][0]["score"]
    damped = data("retrieve", "salt", "--also", "cake", "--fusion", "rrf", "--rrf-k", "1")
    assert damped["items"][0]["lanes"]["queries[0]"]["contribution"] == 0.5
    for text in ("lexical", "lexical=", "=2", "lexical=two"):
        refused = notes("retrieve", "salt", "--weight", text, code=2)
        assert "expected LANE=NUMBER" in refused.stderr
    twice = ("--weight", "lexical=1", "--weight", "lexical=2")
    assert "given twice" in notes("retrieve", "salt", *twice, code=2).stderr


@pytest.mark.usefixtures("filled")
def test_what_is_hidden_is_found_where_that_is_wanted(data: Data, notes: Run):
    (item,) = data("retrieve", "rust", "--label", "Memo")["items"]
    notes("node", "tombstone", item["id"], "--reason", "old")
    notes("commit")
    assert found(data, "rust") == []
    assert found(data, "rust", "--include-tombstoned") == [TEXTS[0]]


@pytest.mark.usefixtures("filled")
def test_a_language_model_is_named_by_its_provider(notes: Run):
    for option in ("--imagine", "--reword"):
        refused = notes("retrieve", "rust", option, "nobody", code=2)
        assert f"{option}: got 'nobody', expected openai:NAME or ollama:NAME" in refused.stderr
