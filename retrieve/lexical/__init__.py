"""The lexical lane: BM25 over the postings of all segments, exact and reproducible."""
