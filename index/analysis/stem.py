"""English stemming: the Porter2 algorithm as published for Snowball, frozen.

It accepts lower-case ASCII letters only; `words.py` has removed apostrophes before. Words of one or
two letters are their own stem. Stems are keys, not words: "general" and "generic" stay apart,
"relate" and "relational" share the stem "relat".

Spec: analysis 6.
"""

from __future__ import annotations

import re

# Regions. R1 starts after the first non-vowel that follows a vowel; R2 is the R1 of R1.
_AFTER_VOWEL = re.compile("[aeiouy][^aeiouy]")
_EARLY_R1 = re.compile("gener|commun|arsen|past|univers|later|emerg|organ|inter")
_VOWEL = re.compile("[aeiouy]")
_SHORT_END = re.compile("[^aeiouy][aeiouy][^aeiouywxY]$|^[aeiouy][^aeiouy]$|past$")
_CONSONANT_Y = re.compile("(^|[aeiouy])y")
_DOUBLE_ENDS = ("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")

_WHOLE = {
    "skis": "ski", "skies": "sky", "idly": "idl",
    "gently": "gentl", "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl",
    "sky": "sky", "news": "news", "howe": "howe", "atlas": "atlas", "cosmos": "cosmos",
    "bias": "bias", "andes": "andes",
}  # fmt: skip
_AFTER_STEP_1A = frozenset(
    ("inning", "outing", "canning", "herring", "earring", "evening", "proceed", "exceed", "succeed")
)


def _by_last_letter(*rules: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """Groups rules ("ending replacement") by the last letter of the ending, longest first."""
    pairs = [(ending, rest) for ending, _, rest in (rule.partition(" ") for rule in rules)]
    pairs.sort(key=lambda pair: -len(pair[0]))
    return {
        last: tuple(pair for pair in pairs if pair[0][-1] == last)
        for last in {ending[-1] for ending, _ in pairs}
    }


# An ending is replaced when it lies in R1 (step 4: deleted when it lies in R2); the longest that
# fits decides.
_STEP_2 = _by_last_letter(
    "ization ize", "ational ate", "fulness ful", "ousness ous", "iveness ive", "tional tion",
    "biliti ble", "lessli less", "entli ent", "ation ate", "alism al", "aliti al", "ousli ous",
    "iviti ive", "fulli ful", "ogist og", "enci ence", "anci ance", "abli able", "izer ize",
    "ator ate", "alli al", "bli ble", "ogi og", "li",
)  # fmt: skip
_STEP_3 = _by_last_letter(
    "ational ate",
    "tional tion",
    "alize al",
    "icate ic",
    "iciti ic",
    "ative",
    "ical ic",
    "ness",
    "ful",
)
_STEP_4 = _by_last_letter(
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion", "al", "er", "ic",
)  # fmt: skip


def stem(word: str) -> str:
    """Returns the stem of a word of lower-case ASCII letters.

    Spec: analysis 6.

    >>> [stem(word) for word in ("retries", "relational", "happily", "generously")]
    ['retri', 'relat', 'happili', 'generous']
    """
    if len(word) < 3:
        return word
    if word in _WHOLE:
        return _WHOLE[word]
    # A y that begins the word or follows a vowel is a consonant, written Y until the end.
    if "y" in word:
        word = _CONSONANT_Y.sub(r"\1Y", word)
    r1, r2 = _regions(word)
    word = _step_1a(word)
    if word not in _AFTER_STEP_1A:
        word = _step_1b(word, r1)
        word = _step_1c(word)
        word = _step_2(word, r1)
        word = _step_3(word, r1, r2)
        word = _step_4(word, r2)
        word = _step_5(word, r1, r2)
    return word.replace("Y", "y")


def _regions(word: str) -> tuple[int, int]:
    early = _EARLY_R1.match(word)
    first = early or _AFTER_VOWEL.search(word)
    if first is None:
        return len(word), len(word)
    second = _AFTER_VOWEL.search(word, first.end())
    return first.end(), len(word) if second is None else second.end()


def _is_short(word: str, r1: int) -> bool:
    return r1 >= len(word) and _SHORT_END.search(word) is not None


def _step_1a(word: str) -> str:
    if word[-1] not in "sd":
        return word
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if (
        word.endswith("s")
        and not word.endswith(("us", "ss"))
        and _VOWEL.search(word, 0, len(word) - 2)
    ):
        return word[:-1]
    return word


def _step_1b(word: str, r1: int) -> str:
    if word[-1] not in "dgy":
        return word
    for ending in ("eedly", "eed"):
        if word.endswith(ending):
            return word[: -len(ending)] + "ee" if len(word) - len(ending) >= r1 else word
    for ending in ("ingly", "edly", "ing", "ed"):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if ending == "ing" and len(rest) == 2 and rest[1] == "y" and rest[0] not in "aeiouy":
                return rest[0] + "ie"
            return _repair(rest, r1) if _VOWEL.search(rest) else word
    return word


def _repair(rest: str, r1: int) -> str:
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest.endswith(_DOUBLE_ENDS):
        # "add", "egg", "off" keep both letters.
        return rest if len(rest) == 3 and rest[0] in "aeo" else rest[:-1]
    return rest + "e" if _is_short(rest, r1) else rest


def _step_1c(word: str) -> str:
    if len(word) > 2 and word[-1] in "yY" and word[-2] not in "aeiouy":
        return word[:-1] + "i"
    return word


def _step_2(word: str, r1: int) -> str:
    for ending, replacement in _STEP_2.get(word[-1:], ()):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if len(rest) < r1 or (ending == "ogi" and not rest.endswith("l")):
                return word
            if ending == "li" and not rest.endswith(tuple("cdeghkmnrt")):
                return word
            return rest + replacement
    return word


def _step_3(word: str, r1: int, r2: int) -> str:
    for ending, replacement in _STEP_3.get(word[-1:], ()):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + replacement if len(rest) >= (r2 if ending == "ative" else r1) else word
    return word


def _step_4(word: str, r2: int) -> str:
    for ending, _ in _STEP_4.get(word[-1:], ()):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if len(rest) < r2 or (ending == "ion" and not rest.endswith(("s", "t"))):
                return word
            return rest
    return word


def _step_5(word: str, r1: int, r2: int) -> str:
    rest = word[:-1]
    if word.endswith("e"):
        in_r1 = len(rest) >= r1
        if len(rest) >= r2 or (in_r1 and _SHORT_END.search(rest) is None):
            return rest
    elif word.endswith("ll") and len(rest) >= r2:
        return rest
    return word
