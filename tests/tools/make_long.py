"""Writes `tests/long.txt`, the tests that a plain pytest leaves out.

    python tests/tools/make_long.py

Those are the functions whose tests take longest together, though none of them is marked as slow.
Bytes, vectors, old repositories and the rules of the house are never left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[2]
LIST = HOUSE / "tests" / "long.txt"
SECONDS = 0.5
"""A function whose tests take longer than this together is left out."""
KEPT = (
    *("tests/acceptance/", "tests/compat/", "tests/conformance/", "tests/oracle/test_vectors.py"),
    "tests/test_",
)
_ROW = re.compile(r"\s*([\d.]+)s (?:call|setup|teardown)\s+([^[\s]+)")


def long_tests(durations: str) -> list[str]:
    """Returns the functions that are left out, by what pytest says about durations.

    >>> long_tests("0.40s call tests/a.py::test_a[1]\\n0.30s call tests/a.py::test_a[2]\\n")
    ['tests/a.py::test_a']
    """
    seconds: Counter[str] = Counter()
    for line in durations.splitlines():
        if row := _ROW.match(line):
            seconds[row[2]] += float(row[1])
    return sorted(
        name for name, sum_ in seconds.items() if sum_ > SECONDS and not name.startswith(KEPT)
    )


def main() -> None:
    """Runs everything that is not marked as slow, and writes the list."""
    command = [sys.executable, "-m", "pytest", "-m", "not slow and not nightly"]
    run = subprocess.run(
        [*command, "--durations=0", "-vv"], cwd=HOUSE, check=True, capture_output=True, text=True
    )
    LIST.write_text("\n".join(long_tests(run.stdout)) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
