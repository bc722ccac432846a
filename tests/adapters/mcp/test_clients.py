"""A server is entered into each client's configuration, and nothing else there changes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibidem import InvalidInputError
from ibidem.adapters.mcp import json_member
from ibidem.adapters.mcp.clients import CLIENTS, edited

ENTRY = {"command": "/usr/bin/repo", "args": ["mcp", "--repo", "/a b/ä"]}
JSON = [client for client in CLIENTS.values() if not client.is_toml]
CODEX = CLIENTS["codex"]
ZED = CLIENTS["zed"]
SETTINGS = """\
// Zed settings
{
  "theme": "One Dark", // not "light"
  /* servers */
  "context_servers": {
    "other": {
      "command": "npx", // from npm
      "args": ["-y", "a//b",],
    },
  },
  "url": "http://localhost", // the last
}
"""
CODEX_SETTINGS = """\
# what I like
model = "o5"

[mcp_servers.other] # mine
command = "npx"

[mcp_servers.other.env]
KEY = "[mcp_servers.ibidem]"

[history]
persistence = "none"
"""


@pytest.mark.parametrize("client", JSON, ids=lambda client: client.name)
@pytest.mark.parametrize("text", ["", "{}", "{\n}\n", '{"a": 1}', '{\r\n\t"a": [1, 2]\r\n}\r\n'])
def test_an_entry_is_added_once_and_removed(client, text: str):
    added = edited(client, text, "ibidem", client.entry(**as_call(ENTRY)))
    assert json_member.loads(added)[client.section]["ibidem"]["command"] == "/usr/bin/repo"
    assert edited(client, added, "ibidem", client.entry(**as_call(ENTRY))) == added
    removed = edited(client, added, "ibidem", None)
    assert json_member.loads(removed) == {**json_member.loads(text), client.section: {}}
    assert edited(client, removed, "ibidem", None) == removed
    assert ("\r\n" in added) == ("\r\n" in text)


def as_call(entry: dict) -> dict:
    return {"command": entry["command"], "arguments": entry["args"]}


def test_comments_other_servers_and_their_order_stay():
    added = edited(ZED, SETTINGS, "ibidem", ENTRY)
    kept = [line for line in added.splitlines() if line in SETTINGS.splitlines()]
    assert [line for line in SETTINGS.splitlines() if line not in kept] == []
    assert list(json_member.loads(added)["context_servers"]) == ["other", "ibidem"]
    assert edited(ZED, added, "ibidem", None).split() == SETTINGS.split()


def test_what_a_person_added_to_the_entry_stays():
    first = edited(ZED, SETTINGS, "ibidem", {**ENTRY, "env": {"A": "b"}})
    second = edited(ZED, first, "ibidem", {**ENTRY, "command": "other"})
    found = json_member.loads(second)["context_servers"]["ibidem"]
    assert found == {**ENTRY, "command": "other", "env": {"A": "b"}}


def test_a_comment_before_the_last_server_hides_nothing():
    text = '{"mcpServers": { // mine\n "ibidem": {"command": "x"}}}'
    removed = edited(CLIENTS["cursor"], text, "ibidem", None)
    assert json_member.loads(removed) == {"mcpServers": {}}
    assert "// mine" in removed


@pytest.mark.parametrize("text", ["", CODEX_SETTINGS, CODEX_SETTINGS.replace("\n", "\r\n")])
def test_codex_gets_a_table(text: str):
    added = edited(CODEX, text, "ibidem", ENTRY)
    assert added.startswith(text)
    assert tomllib.loads(added)["mcp_servers"]["ibidem"] == ENTRY
    assert edited(CODEX, added, "ibidem", ENTRY) == added
    changed = edited(CODEX, added, "ibidem", {**ENTRY, "command": "other"})
    assert tomllib.loads(changed)["mcp_servers"]["ibidem"]["command"] == "other"
    assert edited(CODEX, added, "ibidem", None).rstrip() == text.rstrip()


def test_a_table_in_the_middle_is_changed_where_it_is():
    own = '[mcp_servers.ibidem]\ncommand = "old"\n\n[mcp_servers.ibidem.env]\nA = "b"\n'
    changed = edited(CODEX, f"{own}\n[history]\nx = 1\n", "ibidem", ENTRY)
    found = tomllib.loads(changed)
    assert found == {"mcp_servers": {"ibidem": {**ENTRY, "env": {"A": "b"}}}, "history": {"x": 1}}
    removed = edited(CODEX, changed, "ibidem", None)
    assert tomllib.loads(removed) == {"history": {"x": 1}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cursor", "{"),
        ("cursor", "[]"),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"mcpServers": 1}'),
        ("cursor", '{"mcpServers": {"ibidem": 1}}'),
        ("cursor", '{"mcpServers": {"a": 1}, "mcpServers": {}}'),
        ("cursor", '{"a": 1} trailing'),
        ("codex", "a ="),
        ("codex", 'mcp_servers = {other = {command = "x"}}'),
        ("codex", "mcp_servers = 1"),
    ],
)
def test_what_cannot_be_changed_safely_is_refused(name: str, text: str):
    with pytest.raises(InvalidInputError, match=name):
        edited(CLIENTS[name], text, "ibidem", ENTRY)


def test_a_name_is_checked():
    with pytest.raises(InvalidInputError, match="name"):
        edited(CODEX, "", "a.b", ENTRY)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
SERVERS = st.dictionaries(
    st.sampled_from(["ibidem", "a", "//", "b"]), st.dictionaries(st.text(max_size=3), VALUES)
)
FILES = st.dictionaries(st.text(max_size=4), VALUES, max_size=3).flatmap(
    lambda rest: SERVERS.map(lambda servers: {**rest, "mcpServers": servers}) | st.just(rest)
)


@given(FILES, st.sampled_from([None, 2, "\t"]))
def test_any_file_has_one_entry_more_and_is_the_same_without_it(value: dict, indent):
    text = json.dumps(value, indent=indent)
    value = json.loads(text)
    path = ("mcpServers", "new")
    added = json_member.set_member(text, path, ENTRY)
    servers = value.get("mcpServers", {})
    assert json_member.loads(added) == {**value, "mcpServers": {**servers, "new": ENTRY}}
    removed = json_member.drop_member(added, path)
    assert json_member.loads(removed) == {**value, "mcpServers": servers}


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, ".config/Claude/claude_desktop_config.json"),
        ("linux", {"XDG_CONFIG_HOME": "/h/x"}, "x/Claude/claude_desktop_config.json"),
        ("darwin", {}, "Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", {"APPDATA": "/h/r"}, "r/Claude/claude_desktop_config.json"),
    ],
)
def test_the_place_depends_on_the_system(platform, environment, expected):
    found = CLIENTS["claude-desktop"].file(Path("/h"), environment, platform)
    assert found == Path("/h") / expected
