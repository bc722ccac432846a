"""`repo mcp integrate` in a home folder of its own."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import ibidem
from ibidem.adapters.mcp.clients import CLIENTS
from ibidem.adapters.mcp.json_member import loads
from ibidem.cli import integrate
from ibidem.cli.main import cli

FILES = {
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "claude-code": ".claude.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "zed": ".config/zed/settings.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    ibidem.init(tmp_path / "notes").close()
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "IBIDEM_REPO"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.chdir(tmp_path / "notes")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["mcp", "integrate", *arguments], prog_name="repo")


def test_the_names_are_those_of_the_clients():
    assert set(integrate._NAMES) == set(CLIENTS) == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_client_gets_the_server_and_loses_it(home: Path, name: str):
    file, client = home / FILES[name], CLIENTS[name]
    load = tomllib.loads if client.is_toml else loads
    before = "# mine\na = 1\n" if client.is_toml else '{\n  // mine\n  "a": 1\n}\n'
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(before)
    file.chmod(0o640)

    shown = run(name, "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "ibidem" in shown.stdout
    assert file.read_text() == before
    assert sorted(file.parent.glob("*before-ibidem*")) == []

    asked = run(name)
    assert asked.exit_code == 2
    assert "--yes" in asked.output
    assert file.read_text() == before

    done = run(name, "--yes")
    assert done.exit_code == 0, done.output
    entry = load(file.read_text())[client.section]["ibidem"]
    assert entry["command"] == sys.executable
    assert entry["args"] == ["-m", "ibidem", "mcp", "--repo", str(home / "notes")]
    assert "mine" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o640
    [backup] = file.parent.glob("*before-ibidem*")
    assert backup.read_text() == before
    assert backup.stat().st_mode & 0o777 == 0o640

    after = file.read_bytes()
    assert "nothing was changed" in run(name, "--yes").stdout
    assert file.read_bytes() == after
    assert len([*file.parent.glob("*before-ibidem*")]) == 1

    assert run(name, "--remove", "--yes").exit_code == 0
    assert "ibidem" not in file.read_text()
    assert load(file.read_text())["a"] == 1
    assert len([*file.parent.glob("*before-ibidem*")]) == 2


def test_a_missing_file_is_created_and_a_link_is_followed(home: Path):
    assert (
        run("cursor", "--yes", "--read-only", "--viewer", "low", "--name", "notes").exit_code == 0
    )
    entry = json.loads((home / FILES["cursor"]).read_text())["mcpServers"]["notes"]
    assert entry["args"][3:] == ["--repo", str(home / "notes"), "--read-only", "--viewer", "low"]
    target = home / "dotfiles.json"
    target.write_text("{}")
    (home / ".gemini").mkdir()
    (home / FILES["gemini"]).symlink_to(target)
    assert run("gemini", "--yes").exit_code == 0
    assert (home / FILES["gemini"]).is_symlink()
    assert "ibidem" in target.read_text()


def test_json_says_what_was_done(home: Path):
    done = json.loads(run("zed", "--yes", "--json").stdout)
    assert done == {
        "schema": "ibidem/mcp-integrate/1",
        "client": "zed",
        "file": str(home / FILES["zed"]),
        "is_changed": True,
        "is_dry_run": False,
        "backup": None,
    }


def test_a_file_that_cannot_be_read_is_left_as_it_is(home: Path):
    file = home / FILES["cursor"]
    file.parent.mkdir()
    for data in (b"{ not json", b"\xff\xfe"):
        file.write_bytes(data)
        done = run("cursor", "--yes")
        assert done.exit_code > 0
        assert file.read_bytes() == data
        assert [*file.parent.iterdir()] == [file]
