"""Names for repositories, the global one, and questions to several."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import ibidem


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def two(run, tmp_path: Path):
    """Two registered repositories, each with a document of the same path."""
    for name in ("work", "notes"):
        run("init", name, "--name", name)
        text = f"# Tea\n\nThe parcel of {name} arrives.\n"
        (tmp_path / name / "README.md").write_text(text, encoding="utf-8")
        run("commit", str(tmp_path / name / "README.md"), "-m", "x", "--repo", name)
    return run


def test_a_name_stands_for_a_path(two, data, tmp_path: Path):
    rows = data("config", "repos")["repositories"]
    assert rows == [{"name": name, "location": str(tmp_path / name)} for name in ("notes", "work")]
    assert "notes" in two("config", "repos", "list").stdout
    (tmp_path / "away").mkdir()
    os.chdir(tmp_path / "away")
    assert "parcel of work" in two("retrieve", "parcel", "--repo", "work").stdout
    assert "parcel of notes" in two("retrieve", "parcel", "-R", str(tmp_path / "notes")).stdout


def test_a_folder_and_a_name_are_told_apart(two, tmp_path: Path):
    """In its own folder `work` is both, and the same; elsewhere another folder has the name."""
    assert "parcel of work" in two("retrieve", "parcel", "--repo", "work").stdout
    (tmp_path / "other" / "work").mkdir(parents=True)
    os.chdir(tmp_path / "other")
    assert "parcel of work" in two("retrieve", "parcel", "--repo", "work").stdout
    two("init", "work")
    refused = two("retrieve", "parcel", "--repo", "work", code=3)
    assert str(tmp_path / "work") in refused.stderr
    assert str(tmp_path / "other" / "work") in refused.stderr
    two("retrieve", "parcel", "--repo", "./work")


def test_init_takes_a_registered_name_for_its_repository(two, tmp_path: Path):
    (tmp_path / "other").mkdir()
    os.chdir(tmp_path / "other")
    assert "already" in two("-R", "work", "init").stdout
    assert not list((tmp_path / "other").iterdir())


def test_what_is_registered_stays_until_it_is_removed(two, data, tmp_path: Path):
    two("init", "work", "--name", "work")
    two("init", "notes", "--name", "work", code=2)
    two("config", "repos", "add", "work", "notes", code=2)
    two("config", "repos", "add", "-x", "notes", code=2)
    two("config", "repos", "add", "a/b", "notes", code=2)
    two("config", "repos", "add", "new", "nowhere", code=10)
    two("config", "repos", "add", "second", "notes")
    two("config", "repos", "remove", "notes")
    two("config", "repos", "remove", "notes", code=3)
    assert [row["name"] for row in data("config", "repos")["repositories"]] == ["second", "work"]
    (tmp_path / "work").rename(tmp_path / "gone")
    refused = two("retrieve", "x", "--repo", "work", code=10)
    assert "registered as" in refused.stderr


def test_nothing_is_registered_by_itself(run, data, tmp_path: Path):
    run("init", "work")
    assert data("config", "repos")["repositories"] == []
    assert not (tmp_path / "config").exists()
    run("retrieve", "x", "--global", code=10)
    assert not (tmp_path / "data").exists()


def test_a_damaged_register_is_an_error(two, tmp_path: Path):
    (tmp_path / "config" / "ibidem" / "repositories.json").write_text("[1]", encoding="utf-8")
    assert "repositories.json" in two("retrieve", "x", "--repo", "other", code=2).stderr


def test_an_address_is_shown_without_its_password(run, tmp_path: Path):
    file = tmp_path / "config" / "ibidem" / "repositories.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"db": "postgresql://me:secret@host/x"}), encoding="utf-8")
    assert "secret" not in run("config", "repos").stdout
    assert "secret" not in run("config", "repos", "add", "db", ".", code=10).stderr


def test_the_global_repository(run, tmp_path: Path):
    run("--global", "init")
    run("init", "--global")
    run("node", "add", "Fact", "--summary", "a parcel for all", "--global")
    run("commit", "-m", "x", "--global")
    assert "a parcel for all" in run("retrieve", "parcel", "--global").stdout
    assert "a parcel for all" in run("retrieve", "parcel", "--repo", "global").stdout
    assert (tmp_path / "data" / "ibidem" / "global" / ".ibidem").is_dir()
    run("retrieve", "parcel", "--global", "--repo", "global", code=2)
    run("init", "elsewhere", "--global", code=2)


def test_the_global_repository_where_one_wants_it(run, tmp_path: Path):
    run("init", "mine", "--global", "--name", "mine")
    assert not (tmp_path / "data").exists()
    run("node", "add", "Fact", "--summary", "tea", "--global")
    assert "tea" in run("diff", "--repo", "mine").stdout


def test_several_are_asked_at_once(two, data, tmp_path: Path):
    found = data("retrieve", "parcel arrives", "--repo", "work", "--with", "notes")
    names = {one["root"]: one["name"] for one in found["repositories"]}
    assert set(names) == set(found["roots"])
    assert {names[item["root"]] for item in found["items"]} == {"work", "notes"}
    assert {item["location"]["source"] for item in found["items"]} == {"README.md"}
    same = data("retrieve", "parcel arrives", "--repo", "notes", "--with", str(tmp_path / "work"))
    assert same["result"] == found["result"]
    everywhere = data("retrieve", "parcel arrives", "--all")
    assert everywhere["result"] == found["result"]
    text = two("retrieve", "parcel arrives", "--all").stdout
    assert "] notes: README.md:3" in text
    assert "] work: README.md:3" in text


def test_packs_prompts_and_records_of_several(two, data):
    both = ("--repo", "work", "--with", "notes")
    found = data("packs", "parcel arrives", *both)
    names = {one["root"]: one["name"] for one in found["repositories"]}
    assert {names[pack["root"]] for pack in found["items"]} == {"work", "notes"}
    shown = two("packs", "parcel arrives", "--all").stdout
    assert "] notes: README.md" in shown
    replayed = two("replay", found["receipt"], *both, "--show").stdout
    assert "] work: README.md" in replayed
    prompt = data("prompt", "parcel arrives", *both)
    assert {one["repository"] for one in prompt["citations"]} == {"work", "notes"}
    assert {one["root"] for one in prompt["citations"]} == set(names)
    for name in ("work", "notes"):
        two("memory", "add", f"tea of {name}", "--repo", name)
    listed = data("memory", "graph", "tea", *both)
    home = {one["root"]: one["name"] for one in listed["repositories"]}
    assert {home[one["root"]]: one["text"] for one in listed["nodes"]} == {
        "work": "tea of work",
        "notes": "tea of notes",
    }
    assert "work: tea of work" in two("memory", "graph", "tea", *both).stdout
    assert "notes: tea of notes" in two("replay", listed["receipt"], *both, "--show").stdout
    two("prompt", "parcel", *both, "--thread", "home", code=2)
    two("packs", "parcel", *both, "--assess", code=2)
    two("memory", "graph", "tea", *both, "--at", "main~1", code=2)


def test_the_receipt_replays_with_the_others(two, data):
    receipt = data("retrieve", "parcel", "--repo", "work", "--with", "notes")["receipt"]
    shown = two("replay", receipt, "--repo", "work", "--with", "notes", "--show").stdout
    assert "same bytes" in shown
    assert "] notes: README.md:3" in shown
    two("replay", receipt, "--repo", "work", "--all")
    two("replay", receipt, "--repo", "work", code=1)
    shown = data("receipt", "show", receipt, "--repo", "work")
    assert len(shown["roots"]) == 2
    assert {item["root"] for item in shown["items"]} == set(shown["roots"])
    text = two("receipt", "show", receipt, "--repo", "work").stdout
    assert all(f"root    {root}\n" in text for root in shown["roots"])
    assert f"{shown['items'][0]['id']}  root {shown['items'][0]['root'][:7]}" in text
    two("replay", receipt, "--repo", "work", "--all", "--at", "main", code=2)


def test_a_receipt_of_one_root_replays_with_the_same_options(two, data, tmp_path: Path):
    shutil.copytree(tmp_path / "work", tmp_path / "copy")
    same = ("--repo", "work", "--with", "./copy")
    receipt = data("retrieve", "parcel", *same)["receipt"]
    assert "same bytes" in two("replay", receipt, *same).stdout
    assert "same bytes" in two("replay", receipt, "--repo", "work", "--all").stdout


def test_what_is_about_one_repository(two, run):
    for option in (("--at", "main~1"), ("--assess",), ("--allow-erased",)):
        two("retrieve", "tea", "--repo", "work", "--with", "notes", *option, code=2)
    two("retrieve", "tea", "--repo", "work", "--with", "nowhere", code=10)
    failed = two("retrieve", "tea", "--repo", "work", "--with", "https://ada:x@kb.example", code=2)
    assert "repo: got the server https://ada:***@kb.example" in failed.stderr
    # The same repository twice is one.
    two("retrieve", "tea", "--repo", "work", "--with", "./work")


def test_all_of_none(run):
    run("retrieve", "tea", "--all", code=2)


def test_two_folders_of_one_name(two, data, tmp_path: Path):
    (tmp_path / "other").mkdir()
    two("init", "other/work")
    two("node", "add", "Fact", "--summary", "another parcel", "--repo", "other/work")
    two("commit", "-m", "x", "--repo", "other/work")
    os.chdir(tmp_path / "other" / "work")
    found = data("retrieve", "parcel", "--with", "../../work", "--all")["repositories"]
    assert len({one["name"] for one in found}) == len(found) == 3


def test_init_takes_an_analyser_that_stays(run, tmp_path: Path):
    run("init", "garten", "--analyser", "german-1")
    run("-R", str(tmp_path / "garten"), "node", "add", "Note", "--summary", "Gießkannen")
    run("-R", str(tmp_path / "garten"), "commit", "-m", "cans")
    assert "Gießkannen" in run("-R", str(tmp_path / "garten"), "retrieve", "Gießkanne").stdout
    assert ibidem.open(tmp_path / "garten").at().config.extra["related"] is True
    assert "already" in run("init", "garten", "--analyser", "german-1").stdout
    failed = run("init", "garten", "--analyser", "french-1", code=2)
    assert "got french-1, but the repository there has german-1" in failed.stderr
    failed = run("init", "jardin", "--analyser", "french", code=2)
    assert "--analyser: got 'french', expected one of english-1, unicode-1, " in failed.stderr
    assert not (tmp_path / "jardin").exists()
    run("init", "--global", "--analyser", "french", code=2)
    assert not (tmp_path / "data").exists()
