"""The small languages of the options: properties, filters, vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ibidem.cli.options import parse
from ibidem.objects.errors import InvalidInputError
from ibidem.retrieve.query import predicate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("en", "en"),
        ("2024", 2024),
        ("1.5", 1.5),
        ("true", True),
        ('"7"', "7"),
        ("[1,2]", [1, 2]),
        ("", ""),
        ("NaN", "NaN"),
        ("{", "{"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_value(text: str, value: Any):
    assert parse.value(text) == value
    assert type(parse.value(text)) is type(value)


def test_properties_keep_equals_signs_in_values():
    assert parse.properties(["a=b=c", "n=1"]) == {"a": "b=c", "n": 1}


@pytest.mark.parametrize("text", ["a", "=b", ""])
def test_properties_need_a_name(text: str):
    with pytest.raises(InvalidInputError, match="expected NAME=VALUE"):
        parse.properties([text])


def test_a_property_is_given_once():
    with pytest.raises(InvalidInputError, match="'a' is given twice"):
        parse.properties(["a=1", "a=2"])


@pytest.mark.parametrize(
    ("texts", "conditions"),
    [
        ([], None),
        (["lang=en"], {"lang": {"eq": "en"}}),
        (["lang!=en"], {"lang": {"ne": "en"}}),
        (["year>=2020", "year<2025"], {"year": {"gte": 2020, "lt": 2025}}),
        (["year > 2020", "year<=1.5"], {"year": {"gt": 2020, "lte": 1.5}}),
        (["owner?"], {"owner": {"exists": True}}),
        (["tag=a", "tag=b"], {"and": [{"tag": {"eq": "a"}}, {"tag": {"eq": "b"}}]}),
        (["url=a?b=c"], {"url": {"eq": "a?b=c"}}),
    ],
)
def test_conditions(texts: list[str], conditions: dict[str, Any] | None):
    found = parse.conditions(texts)
    assert found == conditions
    if found is not None:
        predicate.parse(found)


@pytest.mark.parametrize("text", ["", "lang", "=en", ">=1", "?"])
def test_a_condition_names_a_property(text: str):
    with pytest.raises(InvalidInputError, match="--where: got"):
        parse.conditions([text])


def test_vector_is_read_as_float32(tmp_path: Path):
    np.save(tmp_path / "v.npy", np.array([1, 2, 3], np.float64))
    model, array = parse.vector(f"a=b={tmp_path / 'v.npy'}")
    assert model == "a=b"
    assert array.dtype == np.float32
    assert array.tolist() == [1, 2, 3]


@pytest.mark.parametrize("array", [np.zeros((2, 2)), np.array("text"), np.array(1.0)])
def test_vector_is_one_row_of_numbers(tmp_path: Path, array: Any):
    np.save(tmp_path / "v.npy", array)
    with pytest.raises(InvalidInputError, match="expected one vector of numbers"):
        parse.vector(f"m={tmp_path / 'v.npy'}")


def test_vector_files_run_no_code(tmp_path: Path):
    np.save(tmp_path / "v.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(InvalidInputError, match="without pickling"):
        parse.vector(f"m={tmp_path / 'v.npy'}")


@pytest.mark.parametrize("text", ["m", "=f.npy", "m=", ""])
def test_vector_names_model_and_file(text: str):
    with pytest.raises(InvalidInputError, match=r"expected MODEL=FILE\.npy"):
        parse.vector(text)


def test_vector_file_must_exist(tmp_path: Path):
    with pytest.raises(InvalidInputError, match="there is no file"):
        parse.vector(f"m={tmp_path / 'v.npy'}")
    (tmp_path / "v.npy").write_bytes(b"")
    with pytest.raises(InvalidInputError, match="is not an array"):
        parse.vector(f"m={tmp_path / 'v.npy'}")


def test_steps_of_a_path():
    assert parse.steps("out:cites, in:author") == [("cites", "out"), ("author", "in")]
    assert parse.steps(r"both:a\,b:c,in:*") == [("a,b:c", "both"), ("*", "in")]
    for text in ("", "out:", "out:a,,in:b", "cites", "out:a,", "up:a"):
        with pytest.raises(InvalidInputError, match=r"^--path: "):
            parse.steps(text)


def test_a_moment_is_a_time_with_an_offset_or_microseconds():
    assert (
        parse.moment("1970-01-01T00:00:01Z", "time") == parse.moment("1000000", "time") == 1_000_000
    )
    assert parse.moment(None, "time") is None
    with pytest.raises(InvalidInputError, match="offset"):
        parse.moment("1970-01-01T00:00:01", "time")
