"""Measures against their definitions and ir_measures; gates that fail with a table."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.repo.repository import Repository
from ibidem.testing.judgement import read_judgements
from ibidem.testing.measure import interval, ndcg, recall, reciprocal_rank

from .conftest import Run

DOCUMENTS = [f"d{number:02}" for number in range(12)]
RANKINGS = st.lists(st.sampled_from(DOCUMENTS), unique=True, max_size=12)
GRADES = st.dictionaries(
    st.sampled_from(DOCUMENTS), st.integers(min_value=0, max_value=3), min_size=1
).filter(lambda grades: any(grades.values()))


@settings(max_examples=examples(60), deadline=None)
@given(RANKINGS, GRADES, st.integers(min_value=1, max_value=12))
def test_measures_equal_ir_measures(ranked: list[str], grades: dict[str, int], depth: int):
    ir_measures = pytest.importorskip("ir_measures")
    qrels = {"q": grades}
    run = {"q": {document: float(-rank) for rank, document in enumerate(ranked)}}
    wanted = [ir_measures.R @ depth, ir_measures.nDCG @ depth, ir_measures.RR]
    found = ir_measures.calc_aggregate(wanted, qrels, run) if ranked else dict.fromkeys(wanted, 0)
    assert recall(ranked, grades, depth) == pytest.approx(found[wanted[0]])
    assert ndcg(ranked, grades, depth) == pytest.approx(found[wanted[1]])
    assert reciprocal_rank(ranked, grades) == pytest.approx(found[wanted[2]])


@settings(max_examples=examples(60), deadline=None)
@given(RANKINGS, GRADES, st.integers(min_value=1, max_value=12))
def test_measures_are_between_0_and_1(ranked: list[str], grades: dict[str, int], depth: int):
    for value in (
        recall(ranked, grades, depth),
        ndcg(ranked, grades, depth),
        reciprocal_rank(ranked, grades),
    ):
        assert 0 <= value <= 1
    best = sorted(grades, key=lambda document: -grades[document])
    assert ndcg(best, grades, depth) == 1


@given(st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=50))
def test_the_interval_holds_the_mean(values: list[float]):
    low, high = interval(values)
    mean = sum(values) / len(values)
    assert 0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1


def test_more_questions_make_a_narrower_interval():
    few, many = interval([1.0, 0.0]), interval([1.0, 0.0] * 50)
    assert few[0] < many[0] < many[1] < few[1]


def test_judgements_come_in_three_forms(tmp_path: Path):
    (tmp_path / "j.jsonl").write_text(
        '{"query": "one", "relevant": ["a"]}\n\n{"id": "x", "query": "two", "relevant": {"b": 2}}\n'
    )
    first, second = read_judgements(tmp_path / "j.jsonl")
    assert (first.id, first.text, dict(first.grades)) == ("1", "one", {"a": 1})
    assert (second.id, second.text, dict(second.grades)) == ("x", "two", {"b": 2})
    (tmp_path / "q.tsv").write_text("q1\tfirst question\nq2\tsecond\n")
    (tmp_path / "q.qrels").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n")
    found = read_judgements(tmp_path / "q.qrels", tmp_path / "q.tsv")
    assert [(one.id, one.text, dict(one.grades)) for one in found] == [
        ("q1", "first question", {"a": 1, "b": 0}),
        ("q2", "second", {"a": 2}),
    ]
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "first question"}\n')
    (tmp_path / "beir.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\n")
    (only,) = read_judgements(tmp_path / "beir.tsv", tmp_path / "queries.jsonl")
    assert (only.text, dict(only.grades)) == ("first question", {"a": 1})


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        '{"query": "a"}',
        '{"query": "a", "relevant": {"b": 1.5}}',
        '{"query": "a", "relevant": {"b": -1}}',
        '{"query": "a", "relevant": []}',
        "",
    ],
)
def test_judgements_of_another_form_are_refused(tmp_path: Path, line: str):
    (tmp_path / "j.jsonl").write_text(line)
    with pytest.raises(InvalidInputError, match=r"j\.jsonl"):
        read_judgements(tmp_path / "j.jsonl")


def test_qrels_of_unknown_questions_are_refused(tmp_path: Path):
    (tmp_path / "q.tsv").write_text("q1\tfirst\n")
    (tmp_path / "q.qrels").write_text("q2 0 a 1\n")
    with pytest.raises(InvalidInputError, match="q2"):
        read_judgements(tmp_path / "q.qrels", tmp_path / "q.tsv")
    with pytest.raises(NotFoundError):
        read_judgements(tmp_path / "none")


JUDGED = """{"query": "how do retries back off", "relevant": {"retries": 2, "key": 1}}
{"query": "when does a call end", "relevant": ["deadline"]}
{"query": "what do retries need", "relevant": ["deadline"]}
"""


def test_gates_fail_with_a_table(project: pytest.Pytester, run: Run):
    (project.path / "judged.jsonl").write_text(JUDGED)
    project.makepyfile(
        test_quality="""
        import pytest

        def by_key(item):
            return item.node.key[1]

        def test_low(retrieval):
            report = retrieval.quality("judged.jsonl", recall_at={2: 0.6}, identify=by_key)
            assert len(report.judged) == 3

        def test_high(retrieval):
            retrieval.quality("judged.jsonl", recall_at={1: 0.2, 2: 0.9}, ndcg_at={2: 0.95},
                              mrr=0.99, identify=by_key)

        def test_bound(retrieval):
            retrieval.quality("judged.jsonl", recall_at={2: 0.6}, identify=by_key, bound="lower")

        def test_wrong(retrieval):
            for wrong in ({}, {"mrr": 2}, {"recall_at": {0: 1}}, {"mrr": 1, "bound": "upper"},
                          {"recall_at": 0.9},
                          {"mrr": 1, "identify": "name"}):
                with pytest.raises(ValueError):
                    retrieval.quality("judged.jsonl", **wrong)
        """
    )
    result = run("-rA")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "quality over 3 questions",
            "3 of 4 gates not reached",
            "  measure         gate    mean   95 % interval",
            "  recall@1      0.2000  0.5000   * to *",
            "  recall@2      0.9000  0.6667   * to *   below the gate (mean)",
            "  worst by recall@2",
            "   0.0000  'what do retries need': deadline not found",
            "  recall@2      0.6000  0.6667   0.2*below the gate (lower)",
        ]
    )


def test_judgements_of_other_names_are_reported_with_names_that_were_found(
    project: pytest.Pytester, run: Run, repo: Repository
):
    (project.path / "judged.jsonl").write_text(JUDGED)
    project.makepyfile(
        test_quality="""
        def test_ids(retrieval):
            retrieval.quality("judged.jsonl", mrr=0.5)

        def test_names(retrieval):
            retrieval.quality("judged.jsonl", mrr=0.5,
                              identify=lambda item: f"docs/{item.node.key[1]}")
        """
    )
    result = run()
    result.assert_outcomes(failed=2)
    found = "  no judged document was found; the names of those found, by "
    id_ = repo.retrieve("how do retries back off")[0].id
    result.stdout.fnmatch_lines(
        [f"{found}identify='id', are such as", f"    *{id_}*", f"{found}identify, are such as"]
    )
    result.stdout.fnmatch_lines(["    docs/deadline, docs/key, docs/retries"])
