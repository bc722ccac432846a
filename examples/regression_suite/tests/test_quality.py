"""The judged questions have to stay answered."""

from __future__ import annotations


def test_judged_questions_find_their_pages(retrieval):
    report = retrieval.quality(
        "judged.jsonl",
        recall_at={1: 0.75, 3: 0.9},
        ndcg_at={3: 0.8},
        mrr=0.8,
        identify="source",
        label="Passage",
    )
    print(report.text())
