"""Writes `embed/bert-uncased.bin`: what BERT's uncased tokenizer makes of each code point.

Run once, with the package `tokenizers` (0.23.3), whose behaviour it records; the file is then
frozen. Layout: spec/embedding.md section 2.

    python tests/tools/make_bert_table.py embed/bert-uncased.bin
"""

import struct
import sys
from pathlib import Path

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

KEPT, REMOVED, SPACE, ALONE = 0, 1, 2, 3
NORMALIZER = BertNormalizer(
    clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
)
SPLITTER = BertPreTokenizer()


def replacement(char: str) -> str:
    """Returns what takes the place of a code point: words, with spaces where they end."""
    text = NORMALIZER.normalize_str(f"a{char}b")
    words = [word for word, _ in SPLITTER.pre_tokenize_str(text)]
    assert words[0][0] == "a"
    assert words[-1][-1] == "b"
    return " ".join(words)[1:-1]


def build() -> bytes:
    """Returns the bytes of the table."""
    ranges: list[tuple[int, int]] = []
    texts: list[tuple[int, bytes]] = []
    for code in range(0x110000):
        if 0xD800 <= code <= 0xDFFF or 0xAC00 <= code <= 0xD7A3:
            continue
        char = chr(code)
        found = replacement(char)
        kinds = {char: KEPT, "": REMOVED, " ": SPACE, f" {char} ": ALONE}
        kind = kinds.get(found, KEPT)
        if kind == KEPT and found != char:
            texts.append((code, found.encode()))
        if not ranges or ranges[-1][1] != kind:
            ranges.append((code, kind))
    offsets = [0]
    for _, text in texts:
        offsets.append(offsets[-1] + len(text))
    return b"".join(
        (
            struct.pack("<II", len(ranges), len(texts)),
            struct.pack(f"<{len(ranges)}I", *(start for start, _ in ranges)),
            struct.pack(f"<{len(texts)}I", *(code for code, _ in texts)),
            struct.pack(f"<{len(offsets)}I", *offsets),
            bytes(kind for _, kind in ranges),
            b"".join(text for _, text in texts),
        )
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(build())
