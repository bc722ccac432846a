"""Reads the DAG-JSON twins of the IPLD fixtures into the values of `mini_codec`."""

from __future__ import annotations

import json
from base64 import b32decode, b64decode

from .mini_codec import Link


def read_dag_json(text: str):
    """Returns the value; links are `Link`, of any hash."""
    return _value(json.loads(text))


def _value(value):
    if isinstance(value, list):
        return [_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    inner = value.get("/") if len(value) == 1 else None
    if isinstance(inner, str):
        return Link(_cid(inner))
    if isinstance(inner, dict) and set(inner) == {"bytes"}:
        data = inner["bytes"]
        return b64decode(data + "=" * (-len(data) % 4))
    return {key: _value(item) for key, item in value.items()}


def _cid(text: str) -> bytes:
    if text.startswith("b"):
        return b32decode(text[1:].upper() + "=" * (-len(text[1:]) % 8))
    assert text.startswith("Qm"), text
    return _base58(text)


def _base58(text: str) -> bytes:
    number = 0
    for letter in text:
        number = number * 58 + "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".index(
            letter
        )
    return number.to_bytes(34, "big")
