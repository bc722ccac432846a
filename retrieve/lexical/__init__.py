"""The lexical lane: exact, reproducible BM25 over the postings of all segments."""
