"""A property's value as text: text as it is, anything else as JSON."""

from __future__ import annotations

import json

from ibidem.objects.block_json import json_default


def value_text(value: object) -> str:
    """Returns a value as text.

    >>> value_text("a"), value_text([1, None])
    ('a', '[1, null]')
    """
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=json_default)
