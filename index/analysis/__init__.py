"""Text to terms, defined once: `analyse(text, analyser)`. Spec: analysis."""

from ibidem.index.analysis.analyser import (
    ANALYSERS,
    ENGLISH,
    HOME,
    UNICODE,
    analyse,
    analyse_positions,
    analyser_of,
    has_language,
    home_of,
)
from ibidem.index.analysis.symbols import code_words, symbol_words, symbols_of

__all__ = [
    "ANALYSERS",
    "ENGLISH",
    "HOME",
    "UNICODE",
    "analyse",
    "analyse_positions",
    "analyser_of",
    "code_words",
    "has_language",
    "home_of",
    "symbol_words",
    "symbols_of",
]
