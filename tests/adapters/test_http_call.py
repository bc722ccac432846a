"""What is recorded of a call of a model, by `spec/vectors/replay/model-call.json`.

Spec: replay 3.1-a, 3.1-b, 3.1-c.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.tools.type_check import HOUSE

from ibidem.adapters.recording import http_call

VECTORS = json.loads((HOUSE / "spec/vectors/replay/model-call.json").read_text("utf-8"))


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["name"])
def test_a_call_is_recorded_as_the_vector_says(case: dict[str, Any]):
    given, expected = case["input"], dict(case["output"])
    body, headers = bytes.fromhex(given["body"]), given["headers"]
    if "path" in given:
        secrets = http_call.secrets_of(headers)
        found = http_call.request_value(given["path"], given["query"], headers, body, secrets)
        assert found == expected
        return
    parts = expected.pop("parts")
    value = http_call.answer_value(
        given["status"],
        headers,
        body,
        (),
        is_whole=given["is_whole"],
        failure=None if given["failure"] is None else tuple(given["failure"]),
    )
    assert value == expected
    assert [part.decode() for part in http_call.parts(value)] == parts


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", "/v1/chat/completions", True),
        ("POST", "/openai/deployments/d/chat/completions", True),
        ("POST", "/v1beta/models/g:streamGenerateContent", True),
        ("POST", "/v1/messages", True),
        ("POST", "/v1/messages/batches", False),
        ("GET", "/v1/responses", False),
        ("POST", "/v1/files", False),
        ("POST", "/slack/post-messages", False),
    ],
)
def test_what_asks_a_model(method: str, path: str, expected: bool):
    assert http_call.is_model_call(method, path) is expected
