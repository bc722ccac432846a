"""Writes `index/analysis/unicode-14.bin`: word classes, foldings and combining classes of Unicode
14.0.

Run once, with a Python 3.11, whose `unicodedata` is Unicode 14.0; the file is then frozen, and a
test checks that this script still writes the same bytes. Layout: spec/analysis.md section 3.

    python3.11 tests/tools/make_unicode_tables.py index/analysis/unicode-14.bin
"""

import struct
import sys
import unicodedata
from pathlib import Path

UNICODE_VERSION = "14.0.0"
SEPARATOR, WORD, MARK, REMOVED = 0, 1, 2, 3
IOTA_SUBSCRIPT = 0x345

# Joiners, selectors, soft hyphen and other invisible signs; U+200B is absent: it separates Khmer
# and Thai words.
INVISIBLE = (
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5),
    (0x180B, 0x180F), (0x200C, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064), (0x2066, 0x206F),
    (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0001, 0xE0001), (0xE0020, 0xE007F), (0xE0100, 0xE01EF),
)  # fmt: skip
# Signs that most writers of Arabic and Hebrew leave out: vowels, cantillation, and the stretching
# tatweel.
OPTIONAL = (
    (0x0591, 0x05BD), (0x05BF, 0x05BF), (0x05C1, 0x05C2), (0x05C4, 0x05C5), (0x05C7, 0x05C7),
    (0x0640, 0x0640), (0x064B, 0x0652), (0x0670, 0x0670),
)  # fmt: skip
# Compatibility decompositions that would glue a sign to the word before it.
SPECIAL = {0x2122: " ", 0x2120: " ", 0x2019: "'"}


def is_removed(code: int) -> bool:
    """Whether the code point is dropped without separating."""
    return any(start <= code <= stop for start, stop in INVISIBLE + OPTIONAL)


def char_class(code: int) -> int:
    """Returns the class of a code point that is left after folding."""
    if is_removed(code):
        return REMOVED
    category = unicodedata.category(chr(code))
    if category[0] in "LN":
        return WORD
    return MARK if category[0] == "M" else SEPARATOR


def fold(code: int) -> str:
    """Returns what one code point folds to: decomposed and case folded to a fixed point."""
    if code in SPECIAL:
        return SPECIAL[code]
    text = chr(code)
    if unicodedata.category(text) == "Nd":
        return str(unicodedata.digit(text))
    while True:
        decomposed = unicodedata.normalize("NFKD", text)
        folded = "".join(
            char if ord(char) == IOTA_SUBSCRIPT else char.casefold() for char in decomposed
        )
        if folded == text:
            return text
        text = folded


def resolve(code: int) -> str:
    """Returns the replacement of a code point: word characters, marks, separators as U+0020."""
    if is_removed(code):
        return ""
    out = []
    for char in fold(code):
        kind = char_class(ord(char))
        if kind == SEPARATOR:
            out.append(char if char in "_.'" else " ")
        elif kind != REMOVED:
            out.append(char)
    return "".join(out)


def build() -> bytes:
    """Returns the bytes of the table."""
    assert unicodedata.unidata_version == UNICODE_VERSION, unicodedata.unidata_version
    ranges: list[tuple[int, int, int]] = []
    folds: list[tuple[int, str]] = []
    for code in range(0x110000):
        combining = unicodedata.combining(chr(code))
        kind = char_class(code)
        if kind != MARK:
            combining = 0
        if not ranges or ranges[-1][1:] != (kind, combining):
            ranges.append((code, kind, combining))
        if code < 128 or 0xAC00 <= code <= 0xD7A3:
            continue
        replacement = resolve(code)
        default = {SEPARATOR: " ", REMOVED: ""}.get(kind, chr(code))
        if replacement != default:
            folds.append((code, replacement))
    texts = [replacement.encode() for _, replacement in folds]
    offsets = [0]
    for text in texts:
        offsets.append(offsets[-1] + len(text))
    return b"".join(
        (
            struct.pack("<II", len(ranges), len(folds)),
            struct.pack(f"<{len(ranges)}I", *(start for start, _, _ in ranges)),
            bytes(kind for _, kind, _ in ranges),
            bytes(combining for _, _, combining in ranges),
            struct.pack(f"<{len(folds)}I", *(code for code, _ in folds)),
            struct.pack(f"<{len(offsets)}I", *offsets),
            b"".join(texts),
        )
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(build())
