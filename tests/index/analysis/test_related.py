"""The table of related words is as the spec says."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from ibidem.index.analysis import related
from ibidem.index.analysis.related import has_related_terms, related_terms

TABLE = Path(related.__file__).with_name("related-english.txt")


def test_the_table_is_the_one_of_the_spec():
    """[9-a]"""
    spec = Path(__file__).parents[3] / "spec" / "analysis.md"
    assert hashlib.sha256(TABLE.read_bytes()).hexdigest() in spec.read_text(encoding="utf-8")


def test_the_table_has_its_form():
    """[9-a]"""
    text = TABLE.read_text(encoding="ascii")
    assert text.endswith("\n")
    rows = [line.split(" ") for line in text[:-1].split("\n")]
    assert all(re.fullmatch("[a-z]+", term) for row in rows for term in row)
    firsts = [row[0] for row in rows]
    assert firsts == sorted(set(firsts))
    for row in rows:
        assert 2 <= len(row) <= 9
        assert len(set(row)) == len(row)


def test_a_term_without_a_line_has_none():
    assert related_terms("zylinderkopfdichtung") == ()
    assert related_terms("") == ()
    assert not has_related_terms("")
    assert not has_related_terms("Zylinderkopfdichtung")
