"""Searches for inputs that a target does not survive: `python -m tests.fuzz TARGET --seconds 600`.

Needs the `fuzz` extra. Follows the coverage of our own code; an input that takes over 5 seconds or
500 MB is a finding as an exception is, and is left in the corpus folder. Prints inputs per second
and the size of the corpus at the end.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

SECONDS_MAX = 5
MEGABYTES_MAX = 500


def main() -> None:
    """Runs one target until the time is over or something is found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, default=Path("fuzz-corpus"))
    arguments = parser.parse_args()
    import atheris

    with atheris.instrument_imports(include=["ibidem"]):
        from .all_seeds import SEEDS
        from .targets import TARGETS
    corpus = arguments.corpus / arguments.target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[arguments.target]()):
        (corpus / f"seed-{number:03}").write_bytes(seed)
    options = (
        f"-max_total_time={arguments.seconds}",
        f"-timeout={SECONDS_MAX}",
        f"-rss_limit_mb={MEGABYTES_MAX}",
        f"-artifact_prefix={corpus.parent}/found-{arguments.target}-",
        "-max_len=65536",
        "-print_final_stats=1",
        "-verbosity=1",
        "-seed=1",
    )
    atheris.Setup([sys.argv[0], *options, str(corpus)], TARGETS[arguments.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
