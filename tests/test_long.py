"""The list of tests that a plain pytest leaves out names tests that there are."""

from __future__ import annotations

import re
from pathlib import Path

HOUSE = Path(__file__).resolve().parent.parent


def test_every_long_test_is_there() -> None:
    names = (HOUSE / "tests" / "long.txt").read_text(encoding="ascii").split()
    assert names == sorted(set(names))
    for name in names:
        file, first, *_ = name.split("::")  # a class may inherit its functions
        text = (HOUSE / file).read_text(encoding="utf-8")
        assert re.search(rf"\b{first}\b", text), name
