"""Stemmers that the Snowball compiler 3.1.1 generated; frozen, never edited.

Copied by `tests/tools/make_snowball.py` from snowballstemmer 3.1.1; `COPYING` is their licence
(BSD-3-Clause). A stemmer holds the word that it works on, so each word takes a new one.

Spec: analysis 6.
"""
