"""The plugin in projects of its own: recording, checking, updating, refusing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ibidem.memory.graph import GraphMemory, Record, RecordType
from ibidem.objects.errors import CorruptError
from ibidem.repo.repository import Repository
from ibidem.testing.golden import parse, read
from ibidem.testing.recheck import recheck

from .conftest import PLUGIN, QUESTION, Run, note

TEST = f"""
def test_retries(retrieval):
    retrieval.check({QUESTION!r}, limit=2)
"""
MODES = f"""
import pytest

@pytest.mark.parametrize("mode", ["exact", "ranks", "set"])
def test_mode(retrieval, mode):
    retrieval.check({QUESTION!r}, mode=mode)

def test_tolerance(retrieval):
    retrieval.check({QUESTION!r}, tolerance={{"moved": 1, "left": 0, "score": 10}})
"""


def golden(project: pytest.Pytester, test: str, module: str = "test_notes") -> Path:
    return project.path / "__retrieval__" / module / f"{test}.txt"


def outcomes(result: pytest.RunResult) -> dict[str, str]:
    lines = re.findall(r"^(PASSED|FAILED) \S+::(\S+)", result.stdout.str(), re.MULTILINE)
    return {test: word for word, test in lines}


def test_nothing_is_written_without_the_flag(project: pytest.Pytester, run: Run):
    project.makepyfile(test_notes=TEST)
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["no golden answer: test_notes.py::test_retries, check '1'"])
    result.stdout.fnmatch_lines(["run 'pytest --retrieval-update'*test_retries.txt"])
    assert not golden(project, "test_retries").exists()


def test_what_was_recorded_holds(project: pytest.Pytester, run: Run):
    project.makepyfile(test_notes=TEST)
    result = run("--retrieval-update")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["written  __retrieval__/test_notes/test_retries.txt"])
    run().assert_outcomes(passed=1)
    text = golden(project, "test_retries").read_text(encoding="utf-8")
    assert f'query "{QUESTION}"' in text
    assert '"Note" "Retries need a key."' in text


def test_an_update_leaves_what_holds_and_rewrites_what_does_not(
    project: pytest.Pytester, run: Run, repo: Repository
):
    project.makepyfile(test_notes=MODES)
    run("--retrieval-update").assert_outcomes(passed=4)
    before = {path.name: path.read_bytes() for path in golden(project, "x").parent.iterdir()}
    note(repo, "else", "Nothing that matters here.", "beside the point")
    run("--retrieval-update").assert_outcomes(passed=4)
    after = {path.name: path.read_bytes() for path in golden(project, "x").parent.iterdir()}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"test_mode[exact].txt"}
    run().assert_outcomes(passed=4)


def test_modes_ask_for_bytes_order_or_members(project: pytest.Pytester, run: Run, repo: Repository):
    project.makepyfile(test_notes=MODES)
    run("--retrieval-update").assert_outcomes(passed=4)
    note(repo, "else", "Nothing that matters here.", "scores change")
    assert "FAILED" in outcomes(run("-rA"))["test_mode[exact]"]
    run().assert_outcomes(passed=3, failed=1)
    note(repo, "key", "Retries back off, retries back off.", "the order changes")
    found = outcomes(run("-rA"))
    assert found["test_mode[ranks]"] == "FAILED"
    assert found["test_mode[set]"] == "PASSED"
    assert found["test_tolerance"] == "PASSED"
    note(repo, "third", "retries", "a new member")
    assert set(outcomes(run("-rA")).values()) == {"FAILED"}


def test_another_question_than_the_recorded_one_is_named(project: pytest.Pytester, run: Run):
    project.makepyfile(test_notes=TEST)
    run("--retrieval-update")
    project.makepyfile(test_notes=TEST.replace("limit=2", "limit=3, label='Note'"))
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["the question is not the recorded one", "  labels: *", "  limit: 2 -> 3"]
    )


def test_a_tampered_golden_is_refused_and_an_update_replaces_it(project: pytest.Pytester, run: Run):
    project.makepyfile(test_notes=TEST)
    run("--retrieval-update")
    path = golden(project, "test_retries")
    data = path.read_bytes()
    path.write_bytes(re.sub(rb" tokens [0-9]+ ", b" tokens 99 ", data))
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the checksum is not that of the text*"])
    assert "During handling" not in result.stdout.str()
    run("--retrieval-update").assert_outcomes(passed=1)
    assert path.read_bytes() == data


def test_every_byte_of_a_golden_counts(project: pytest.Pytester, run: Run):
    project.makepyfile(test_notes=TEST)
    run("--retrieval-update")
    data = golden(project, "test_retries").read_bytes()
    assert parse(data).text().encode() == data
    for at in range(len(data)):
        for changed in (data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], data[:at]):
            with pytest.raises(CorruptError):
                parse(changed)
    for longer in (data + b"\n", b"\n" + data, data.replace(b"\n", b"\r\n")):
        with pytest.raises(CorruptError):
            parse(longer)


def test_a_repository_that_is_not_there_is_said_without_a_traceback(
    project: pytest.Pytester, run: Run
):
    project.makepyfile(test_notes=TEST)
    project.makeini("[pytest]\nretrieval_repository = nowhere\n")
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["retrieval_repository: *nowhere*", "hint: *repo init*"])
    assert "Traceback" not in result.stdout.str()
    assert "FileNotFoundError" not in result.stdout.str()


def test_a_hint_is_shown_in_the_report_of_a_test(project: pytest.Pytester, run: Run):
    project.makepyfile(test_notes=TEST)
    project.makeini("[pytest]\n")
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["hint: *define the fixture retrieval_repository*"])


def test_a_failing_test_writes_nothing_under_update(project: pytest.Pytester, run: Run):
    project.makepyfile(test_notes=f"{TEST}    assert False\n")
    run("--retrieval-update").assert_outcomes(failed=1)
    assert not golden(project, "test_retries").exists()


def test_names_tell_checks_apart(project: pytest.Pytester, run: Run):
    project.makepyfile(
        test_notes="""
        import pytest

        def test_two(retrieval):
            retrieval.check("retries", name="one")
            retrieval.check("deadline", name="two", label="Note")

        def test_same(retrieval):
            retrieval.check("retries", name="one")
            with pytest.raises(ValueError, match="no other check"):
                retrieval.check("deadline", name="one")

        class TestClass:
            @pytest.mark.parametrize("word", ["a/b", "a:b", "\\u00e4"])
            def test_odd(self, retrieval, word):
                retrieval.check("retries")

        def test_mode(retrieval):
            for wrong in ({"mode": "no"}, {"tolerance": {"rank": 1}}, {"tolerance": {"left": -1}}):
                with pytest.raises(ValueError):
                    retrieval.check("retries", **wrong)
        """
    )
    run("--retrieval-update").assert_outcomes(passed=6)
    run().assert_outcomes(passed=6)
    assert len(list(golden(project, "x").parent.iterdir())) == 5


def test_a_fixture_gives_the_repository(project: pytest.Pytester, run: Run):
    project.makeconftest(
        """
        import ibidem, pytest

        @pytest.fixture(params=["retries", "deadlines"])
        def retrieval_repository(request):
            with ibidem.init("memory:") as repo:
                with repo.transaction(time=1) as tx:
                    tx.add_node("Note", summary=request.param, key=1)
                yield repo
        """
    )
    project.makepyfile(
        test_notes="""
        def test_given(retrieval):
            retrieval.check("retries")

        def test_explicit(retrieval, retrieval_repository):
            retrieval.check(retrieval_repository.at("HEAD"), "retries")
        """
    )
    run("--retrieval-update").assert_outcomes(passed=4)
    run().assert_outcomes(passed=4)


def test_the_nearest_repository_is_the_default(
    project: pytest.Pytester, repo: Repository, run: Run
):
    folder = project.path / "knowledge" / "suite"
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_notes.py").write_text(TEST)
    assert repo.head is not None
    run(f"--rootdir={folder}", "--retrieval-update", str(folder)).assert_outcomes(passed=1)


def test_without_a_repository_the_test_is_told(project: pytest.Pytester, run: Run):
    project.makeini("[pytest]\n")
    project.makepyfile(test_notes=TEST)
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["retrieval_repository: there is none at or above*"])


@pytest.mark.slow
def test_goldens_work_under_xdist(
    project: pytest.Pytester, repo: Repository, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("xdist")
    repo.close()
    project.makepyfile(test_notes=MODES)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2] / "src"))
    arguments = ("-q", *PLUGIN, "-n", "2")
    result = project.runpytest_subprocess(*arguments, "--retrieval-update")
    result.assert_outcomes(passed=4)
    assert result.stdout.str().count("written  ") == 4
    left = golden(project, "test_gone")
    left.write_bytes(b"left over")
    result = project.runpytest_subprocess(*arguments)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["stale *test_gone.txt: there is no such test"])


def test_the_plugin_loads_nothing_heavy():
    program = (
        "import sys; import ibidem.testing.plugin as _; "
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'numpy', 'click', 'lmdb', "
        "'blake3', 'cbor2', 'pyroaring', 'multiformats', 'simsimd'}), "
        "sorted(m for m in sys.modules if m.startswith('ibidem')))"
    )
    source = Path(__file__).resolve().parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(source)!r}); {program}"],
        capture_output=True,
        text=True,
        check=True,
    )
    ours = [
        *("ibidem", "ibidem.objects", "ibidem.objects.notebook", "ibidem.objects.record"),
        *("ibidem.repo", "ibidem.repo.layers"),
        *("ibidem.testing", "ibidem.testing.plugin", "ibidem.testing.stale"),
    ]
    assert done.stdout.strip() == f"[] {ours}"


RECORDS = """
def test_memory(retrieval):
    when = {"as_of": 1_767_225_600_000_000, "mode": "exact"}
    retrieval.check("who has the mill", kind="records", **when)
"""


def test_what_a_graph_memory_says_is_recorded_and_checked(
    project: pytest.Pytester, run: Run, repo: Repository
):
    memory = GraphMemory(repo, author="ada")
    facts = [Record(RecordType.SEMANTIC, text, scope="") for text in ("the mill", "its owner")]
    mill, owner = memory.add(facts, relations=[(0, "has", 1)])
    project.makepyfile(test_memory=RECORDS)
    run("--retrieval-update").assert_outcomes(passed=1)
    run().assert_outcomes(passed=1)
    path = project.path / "__retrieval__" / "test_memory" / "test_memory.txt"
    check = read(path).checks["1"]
    assert [item.id for item in check.items] == [mill, owner]
    assert recheck(repo.core, repo.core.graph("HEAD"), check) == []
    memory.add(Record(RecordType.SEMANTIC, "another mill", scope=""))
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["retrieval changed: *", "*another mill*"])
    assert recheck(repo.core, repo.core.graph("HEAD"), check)


PACKS = """
def test_prompt(retrieval):
    retrieval.check("when is it tried again", kind="packs", expand="section", mode="exact")
    retrieval.check("when is it tried again", kind="packs", expand="section", mode="ranks")
"""


def test_what_is_handed_to_a_model_is_recorded_and_checked(
    project: pytest.Pytester, run: Run, repo: Repository
):
    source = "# Retries\n\nIt is tried again after one second.\n\nA key is {}.\n"
    file = project.path / "retries.md"
    for text in ("needed", "wanted"):
        file.write_text(source.format(text), "utf-8")
        repo.ingest(file, message=text)
        if text == "needed":
            project.makepyfile(test_prompt=PACKS)
            run("--retrieval-update").assert_outcomes(passed=1)
            run().assert_outcomes(passed=1)
            path = project.path / "__retrieval__" / "test_prompt" / "test_prompt.txt"
            exact, ranks = read(path).checks.values()
            [item] = exact.items
            assert (item.label, item.title) == ("section", "It is tried again after one second.")
            assert recheck(repo.core, repo.core.graph("HEAD"), exact) == []
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["retrieval changed: *check '1', mode exact", "caused by*'wanted'*"]
    )
    assert recheck(repo.core, repo.core.graph("HEAD"), exact)
    assert recheck(repo.core, repo.core.graph("HEAD"), ranks) == []
