"""Writes `spec/vectors/embedding/wordpiece.json`: what the package `tokenizers` makes of texts.

Run with `tokenizers` 0.23.3. The vocabulary is a small one of its own, so that the vectors hold no
model.

    python tests/tools/make_wordpiece_vectors.py spec/vectors/embedding/wordpiece.json
"""

import json
import random
import string
import sys
from pathlib import Path

import tokenizers
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
OTHERS = "ßøđıæœ東京タワー가각αβγσςжя。、—…“”€°"
CHARS = string.ascii_lowercase + string.digits + string.punctuation + OTHERS
WORDS = ["the", "same", "place", "##ing", "##ed", "##s", "un", "##believ", "##able", "strasse"]
JAMO = [chr(code) for code in (*range(0x1100, 0x1113), *range(0x1161, 0x1176))]
TOKENS_MAX = 24
TEXTS = [
    "",
    " ",
    "\t\r\n",
    "The SAME place, the same places!",
    "unbelievable unbelieving",
    "don't stop",
    "a [SEP] b[MASK][CLS]c [UNK] [PAD] [sep]",
    "İstanbul IJsselmeer ﬁle Straße ẞ",
    "東京タワーthe東京",
    "한국어 각 가나다",
    "e\u0301 e\u0323\u0301 \u0301 q\u0307\u0323",
    "a\u00adb\u200bc\u200dd\ufeffe\u2060f",
    "x\u00a0y\u2003z\u2028w\u3000v\u1680u",
    "\x00a\x01b\x7fc\x85d\ufffde",
    "Σίσυφος ΣΑΣ",
    "a" * 100,
    "a" * 101,
    "\U0001d400\U0001f600 \U00020000x\U0002f800",
    "\ue000private\U000f0000",
    "٣ ३ Ⅷ ½ ²",
    "ǅ Ǆ ŉ ΐ Ω K Å",
]


def tokenizer() -> Tokenizer:
    """Returns the reference, over the small vocabulary."""
    single = [*CHARS, *JAMO]
    vocabulary = list(dict.fromkeys([*SPECIAL, *WORDS, *single, *(f"##{char}" for char in single)]))
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    made = Tokenizer(WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    made.pre_tokenizer = BertPreTokenizer()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    made.add_special_tokens(SPECIAL)
    made.enable_truncation(TOKENS_MAX)
    return made


def texts() -> list[str]:
    """Returns the texts above and random ones from ever wider parts of Unicode."""
    chance = random.Random(11)
    found = list(TEXTS)
    for limit in (0x80, 0x250, 0x600, 0x3400, 0x10000, 0x110000):
        for _ in range(40):
            codes = [chance.randrange(limit) for _ in range(chance.randint(1, 14))]
            found.append("".join(chr(code) for code in codes if not 0xD800 <= code <= 0xDFFF))
    return found


def main() -> None:
    """Writes the file."""
    reference = tokenizer()
    vocabulary = sorted(reference.get_vocab(), key=reference.get_vocab().__getitem__)
    cases = [{"text": text, "ids": reference.encode(text).ids} for text in texts()]
    body = {
        "provenance": f"tokenizers {tokenizers.__version__}, tests/tools/make_wordpiece_vectors.py",
        "spec": "2",
        "tokens_max": TOKENS_MAX,
        "vocabulary": vocabulary,
        "cases": cases,
    }
    Path(sys.argv[1]).write_text(json.dumps(body, indent=0) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
