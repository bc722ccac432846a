"""Values as plain data: what `json.dumps` writes. Identifiers and words of a closed list become
text, sequences lists, mappings dictionaries; everything else stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from ibidem.objects.cid import Cid
from ibidem.objects.ids import StableId


def plain(value: Any) -> Any:
    """Returns a value as plain data."""
    if isinstance(value, Cid | StableId | StrEnum):
        return str(value)
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    return value


def fields_of(value: object, *names: str) -> dict[str, Any]:
    """Returns some attributes of a value as plain data, by name."""
    return {name: plain(getattr(value, name)) for name in names}
