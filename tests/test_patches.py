"""Tests set constants of the product in few places, which only get fewer.

A test that has to reach an edge gives the product a value that it takes as an argument (`Tuning`,
`Limits`); where there is none, one fixture of the module sets the constant for all its tests.
"""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PATCHES_MAX = 56
_PATCH = re.compile(r"""\.setattr\(\s*(?:[\w.]+, ["']|["'][\w.]+\.)(_?[A-Z][A-Z0-9_]+)["']""")


def test_fewer_constants_are_set_by_patching():
    found = [
        f"{path.relative_to(TESTS)}: {match[1]}"
        for path in sorted(TESTS.rglob("*.py"))
        for match in _PATCH.finditer(path.read_text(encoding="utf-8"))
    ]
    assert len(found) <= PATCHES_MAX, "\n".join(found)
