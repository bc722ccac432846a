"""Letters that writers exchange or leave out, made one: accents, forms of Arabic and Hindi letters.

Whoever searches types `cafe` for "café", and Arabic and Hindi are spelt in several ways. Here all
spellings become one. The tables follow the normalisers for Arabic, Persian and Hindi that search
engines commonly have (Larkey and Connell, "Arabic information retrieval at UMass", 2001; Larkey et
al., "Hindi CLIR in thirty days", 2003), on decomposed text.

Spec: analysis 5.1.
"""

from __future__ import annotations

import re

_LATIN = {
    "\u00e6": "ae", "\u00f0": "d", "\u00f8": "o", "\u00fe": "th", "\u0111": "d", "\u0127": "h",
    "\u0131": "i", "\u0142": "l", "\u0153": "oe", "\u0167": "t",
}  # fmt: skip
_ARABIC = {
    "\u0653": "", "\u0654": "", "\u0655": "",  # madda and hamza above, hamza below
    "\u0671": "\u0627",  # alef wasla
    "\u0649": "\u064a", "\u06cc": "\u064a",  # alef maksura, Persian yeh: yeh
    "\u0629": "\u0647", "\u06c1": "\u0647", "\u06d5": "\u0647",  # teh marbuta, heh goal, ae: heh
    "\u06a9": "\u0643",  # keheh: kaf
}  # fmt: skip
_HINDI = {
    "\u093c": "", "\u094d": "",  # nukta, virama
    "\u0901": "\u0902",  # candrabindu: anusvara
    "\u0904": "\u0905", "\u0906": "\u0905", "\u0908": "\u0907", "\u090a": "\u0909",
    "\u0960": "\u090b", "\u0961": "\u090c",
    "\u090d": "\u090f", "\u090e": "\u090f", "\u0910": "\u090f",
    "\u0911": "\u0913", "\u0912": "\u0913", "\u0914": "\u0913",
    "\u0940": "\u093f", "\u0942": "\u0941", "\u0944": "\u0943", "\u0963": "\u0962",
    "\u0945": "\u0947", "\u0946": "\u0947", "\u0948": "\u0947",
    "\u0949": "\u094b", "\u094a": "\u094b", "\u094c": "\u094b",
}  # fmt: skip
_TABLE = str.maketrans({chr(code): "" for code in range(0x300, 0x370)} | _LATIN | _ARABIC | _HINDI)
_DEAD_N = "\u0928\u094d"
_ANUSVARA = "\u0902"
_ARTICLE = "(?:[\u0648\u0628\u0643\u0641]?\u0627\u0644|\u0644\u0644)(?=[\u0621-\u064a]{2})"
"""al-, also after wa-, bi-, ka-, fa- and li-."""


def normalised(term: str) -> str:
    """Returns a folded term in its one spelling; an Arabic one without its article.

    >>> normalised("cafe\\u0301"), normalised("\\u0142o\\u0301dz\\u0301")
    ('cafe', 'lodz')
    """
    if term.isascii():
        return term
    plain = term.replace(_DEAD_N, _ANUSVARA).translate(_TABLE)
    article = re.match(_ARTICLE, plain)
    return plain if article is None else plain[article.end() :]
