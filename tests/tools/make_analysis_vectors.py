# ruff: noqa: E501, RUF001, the texts are in many scripts
"""Writes spec/vectors/retrieval/analysis.json from the texts below, and what the stems are.

The terms are what `analyse` gives: read the diff of a change as one reads code. The stems are what
snowballstemmer 3.1.1 (BSD-3-Clause, not a dependency) gives, an implementation that is not ours:
analysis-stem.json for English, analysis-stems.json for the other languages.

    python tests/tools/make_analysis_vectors.py spec/vectors/retrieval
"""

import json
import random
import re
import sys
from pathlib import Path

from ibidem.index.analysis import ANALYSERS, analyse, analyser_of
from ibidem.index.analysis.stop import STOP_WORDS

TEXTS = {
    "english": ("2", "The language's retries aren't what they were; don't panic, O'Brien's cats won."),
    "english only stop words": ("5", "To be, or not to be"),
    "english contractions with the other apostrophe": ("5", "We’ll see: it’s John’s, isn’t it? CAN'T"),
    "english empty": ("2", ""),
    "english only signs": ("2", "!? -- … 🎉 € + _ . '"),
    "identifiers": ("4.3", "__init__ for_each setAttr HTTPServer XMLHttpRequest URLs utf8 sha256 B2B AString IPv4Address _"),
    "numbers and versions": ("4.2", "Python 3.11.4, 3.5 kg, 1,000 and 10.000.5. See 2. Or .5 v2.0b1"),
    "addresses": ("4.2", "mail ada@example.org or see https://docs.example.org/a_b?c=d#e"),
    "long word": ("4.5", "x" * 70 + " " + "aB" * 40),
    "control characters separate": ("3", "a\x00b\x1fc\x7fd\x85e"),
    "lone surrogates separate": ("3", "ab\ud800cd \udfff"),
    "unassigned in Unicode 14.0 separates": ("3", "ab\u0378cd ab\U0001fae8cd \u0cf3 \U00031350"),
    "private use separates": ("3", "ab\ue000cd"),
    "soft hyphen and joiners vanish": ("3.2", "hy\u00adphen می\u200cخواهم क्\u200dष zero\u200bwidth"),
    "compatibility forms": ("3.1", "ﬁne ＦＵＬＬ ① ½ x² ㎏ ℌ Ⅳ ﷺ Python™"),
    "case folding": ("3.1", "Straße STRASSE İstanbul ısı ΣΊΣΥΦΟΣ Σίσυφος Ꭰ ꭰ ŉ Ǆ"),
    "accents": ("5.1", "café CAFÉ cafe\u0301 cafe résumé naïve"),
    "marks in canonical order": ("3.3", "a\u0301\u0323 a\u0323\u0301 \u1ea1\u0301 ậ ậ"),
    "a mark begins no word": ("4.1", "\u0301a ´b´ \u3099か"),
    "german": ("4.1", "Die Größe der Überraschung; Äpfel und Fußgänger"),
    "french": ("4.1", "L’été à l'école, où l’on naît"),
    "spanish": ("4.1", "¿Cómo está el niño? ¡1º piñata!"),
    "turkish": ("4.1", "IĞDIR ığdır İğne iğne"),
    "vietnamese": ("4.1", "Tiếng Việt rất đẹp TIẾNG VIỆT"),
    "polish and czech": ("4.1", "Zażółć gęślą jaźń, příliš žluťoučký kůň"),
    "greek": ("4.1", "Ὁ ἄνθρωπος ᾳ ᾼ ΑΘΉΝΑ"),
    "russian": ("4.1", "Ёлка и ёж, МОСКВА й"),
    "ukrainian": ("4.1", "м'ята п’ять їжак ҐАНОК"),
    "georgian": ("4.1", "საქართველო ᲡᲐᲥᲐᲠᲗᲕᲔᲚᲝ"),
    "armenian": ("4.1", "Հայաստան և եւ"),
    "hebrew": ("3.2", "שָׁלוֹם שלום וְהָאָרֶץ"),
    "arabic": ("3.2", "مُحَمَّد محمد كـتـاب كتاب آدم أحمد ١٢٣"),
    "persian": ("3.2", "کتاب‌ها می‌روم ۱۴۰۲"),
    "hindi": ("4.1", "हिन्दी में ज़िंदगी क़लम १२३"),
    "bengali": ("4.1", "বাংলা ভাষা ড়"),
    "tamil": ("4.1", "தமிழ் மொழி கொ"),
    "sinhala": ("4.1", "සිංහල භාෂාව"),
    "thai": ("4.4", "สวัสดีครับ ประเทศไทย ๑๒"),
    "lao": ("4.4", "ສະບາຍດີ ປະເທດລາວ"),
    "khmer": ("4.4", "សួស្តី ភាសាខ្មែរ"),
    "myanmar": ("4.4", "မြန်မာဘာသာ"),
    "tibetan": ("4.1", "བོད་ཡིག་"),
    "chinese": ("4.4", "可以用机器学习，2024年。用setAttr方法 〇々"),
    "chinese one character": ("4.4", "水"),
    "chinese beyond the basic plane": ("4.4", "𠮷野家 𪚥"),
    "japanese": ("4.4", "食べる コンピュータ ｺﾝﾋﾟｭｰﾀ がか\u3099"),
    "korean": ("4.4", "학교에서 집에 \u1112\u1161\u11ab국 ㅋㅋ"),
    "mongolian": ("4.1", "ᠮᠣᠩᠭᠣᠯ Монгол"),
    "ethiopic": ("4.1", "ኢትዮጵያ፡አማርኛ"),
    "cherokee": ("3.1", "ᏣᎳᎩ ꮳꮃꭹ"),
    "adlam": ("3.1", "𞤀𞤣𞤤𞤢𞤥 𞤢𞤣𞤤𞤢𞤥"),
    "mathematics": ("3.1", "𝐀𝑏𝒞 ∑ ℝ α₂"),
}  # fmt: skip

SENTENCES = {
    "danish-1": ("Børnene løb over vejen, og de var meget glade for husene.",),
    "dutch-1": ("De kinderen liepen naar de huizen en zij waren heel blij.",),
    "finnish-1": ("Lapset juoksivat taloihin, ja he olivat kuin linnut, mutta eivät lentäneet.",),
    "french-1": (
        "L’été, les enfants couraient dans les maisons que l’on avait bâties.",
        "Où est-ce que l'école se trouve ?",
    ),
    "german-1": (
        "Die Häuser der Straße sind größer als das Übergangsgebäude.",
        "Wie heißen die Städte, in denen es Fußgänger gibt?",
    ),
    "italian-1": ("I bambini correvano nelle case che non erano della città.",),
    "norwegian-1": ("Barna løp ikke over veien, men de var glade i husene sine.",),
    "portuguese-1": ("As crianças não corriam para as casas, mas também não eram canções.",),
    "spanish-1": ("Los niños corrían por las casas de la ciudad y las canciones eran largas.",),
    "swedish-1": ("Barnen sprang över vägen och de var inte glada i husen som fanns där.",),
    "english-1": (
        "Дома стояли у дороги, и дети бежали домой.",
        "الكتاب والمدرسة في المدينة، أحمد إلى القاهرة",
        "हिन्दी की किताबें और भाषाएँ",
    ),
}
UNDECIDED = (
    "",
    "Häuser",
    "Los Angeles",
    "var a = 1; var b = 2; for (var c in d) { e }",
    "Andrew Van de Kamp is a character in the series of the van and the de Kamp",
)

_ENDINGS = (
    "ing ed edly ingly s es ies ied y ly ement ization ational fulness ousness iveness biliti logist "
    "logy ative alize icate eed eedly ism ion sion tion ent able e ll ness ful ious's enci"
)
ENDINGS = _ENDINGS.split()


def analysis_vectors() -> list[dict[str, object]]:
    """Returns one vector a text and analyser."""
    vectors: list[dict[str, object]] = [
        {
            "name": f"{name}, {analyser}",
            "spec": section,
            "input": {"text": text, "analyser": analyser},
            "output": analyse(text, analyser),
        }
        for name, (section, text) in TEXTS.items()
        for analyser in ANALYSERS[:2]
    ]
    vectors += [
        {
            "name": f"{analyser}, {number}",
            "spec": "5",
            "input": {"text": text, "analyser": analyser},
            "output": analyse(text, analyser),
        }
        for analyser, texts in SENTENCES.items()
        for number, text in enumerate(texts)
    ]
    vectors += [
        {
            "name": f"language of {text[:24]!r}, {home}",
            "spec": "7",
            "input": {"text": text, "home": home},
            "analyser": analyser_of(text, home),
        }
        for text in (*UNDECIDED, *(text for texts in SENTENCES.values() for text in texts))
        for home in ("english-1", "german-1", "unicode-1")
    ]
    unknown = {"text": "a", "analyser": "english-0"}
    vectors.append(
        {
            "name": "unknown analyser",
            "spec": "2",
            "input": unknown,
            "error": "unsupported-semantics",
        }
    )
    return vectors


def stem_vectors() -> dict[str, str]:
    """Returns word to stem: words of the language reference, and words made to meet every ending."""
    from pydoc_data.topics import topics

    import snowballstemmer  # type: ignore[import-not-found]

    found = sorted(set(re.findall("[a-z]+", " ".join(topics.values()).lower())))
    chosen = random.Random(14)
    words = set(chosen.sample(found, 2500))
    for _ in range(2500):
        words.add(
            chosen.choice(found)[: chosen.randint(1, 7)] + chosen.choice(ENDINGS).replace("'", "")
        )
    for _ in range(1000):
        words.add("".join(chosen.choice("aeiouybcdlnrst") for _ in range(chosen.randint(1, 8))))
    english = snowballstemmer.stemmer("english")
    return {word: english.stemWord(word) for word in sorted(words)}


def other_stems() -> dict[str, dict[str, str]]:
    """Returns language to word to stem: stop words, alone and one after the other."""
    import snowballstemmer

    chosen = random.Random(14)
    found = {}
    for language, text in STOP_WORDS.items():
        if language != "english":
            words = text.split()
            words += ["".join(chosen.choices(words, k=2)) for _ in range(400)]
            stemmer = snowballstemmer.stemmer(language)
            found[language] = {word: stemmer.stemWord(word) for word in sorted(set(words))}
    return found


def main(directory: Path) -> None:
    """Writes the files."""
    text = json.dumps(analysis_vectors(), ensure_ascii=False, indent=1)
    # Lone surrogates have no UTF-8: those texts alone are written with escapes.
    text = re.sub("[\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text)
    (directory / "analysis.json").write_text(text + "\n", encoding="utf-8")
    stems = json.dumps(stem_vectors(), indent=0)
    (directory / "analysis-stem.json").write_text(stems + "\n", encoding="utf-8")
    others = json.dumps(other_stems(), ensure_ascii=False, indent=0)
    (directory / "analysis-stems.json").write_text(others + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
