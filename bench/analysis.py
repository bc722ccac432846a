"""Speed of analysis: megabytes of UTF-8 a second, cold and with what was remembered.

    python bench/analysis.py FOLDER [FOLDER ...]

A folder holds a `corpus.jsonl.gz` with a `text` in each line. ASCII texts and others are apart.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bm25 import read_lines

from ibidem.index.analysis import ANALYSERS, analyse


def rate(texts: Sequence[str], analyser: str) -> float:
    """Returns megabytes of UTF-8 a second over all texts, each analysed alone."""
    size = sum(len(text.encode()) for text in texts)
    started = time.perf_counter()
    for text in texts:
        analyse(text, analyser)
    return size / (time.perf_counter() - started) / 1e6


def main(folders: Sequence[str]) -> None:
    """Measures every analyser on every folder, first pass and second."""
    print(f"{'':24s}{'texts':>8s}{'first':>10s}{'second':>10s}   MB/s")
    for folder in folders:
        texts = [line["text"] for line in read_lines(Path(folder) / "corpus.jsonl.gz")]
        groups = {
            "ascii": [text for text in texts if text.isascii()],
            "other": [text for text in texts if not text.isascii()],
        }
        for name, group in groups.items():
            for analyser in ANALYSERS if group else ():
                title = f"{Path(folder).name[:8]} {name} {analyser}"
                first, second = rate(group, analyser), rate(group, analyser)
                print(f"{title:24s}{len(group):8d}{first:10.1f}{second:10.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
