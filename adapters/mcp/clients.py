"""The programs that people use with MCP servers: where each has its configuration, and how a server
is entered there.

An edit changes the entry of one server. Comments, other entries and their order stay; the result is
read again and compared with what was meant before anybody writes it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ibidem
from ibidem.adapters.mcp import json_member

Entry = Mapping[str, Any]
Environment = Mapping[str, str]
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Client:
    """A program and its configuration of one user."""

    name: str
    title: str
    section: str
    """The object or table of the servers."""
    file: Callable[[Path, Environment, str], Path]
    """Returns the file, given the home folder, the environment and `sys.platform`."""
    more: Entry = field(default_factory=dict)
    """What its entries have besides command and arguments."""
    is_toml: bool = False

    def entry(self, command: str, arguments: list[str]) -> dict[str, Any]:
        """Returns the entry of a server that is started by a command."""
        return {**self.more, "command": command, "args": arguments}


def _application(*parts: str) -> Callable[[Path, Environment, str], Path]:
    """Returns the place of a file among the settings of graphical programs."""

    def file(home: Path, environment: Environment, platform: str) -> Path:
        return _settings(home, environment, platform).joinpath(*parts)

    return file


def _settings(home: Path, environment: Environment, platform: str) -> Path:
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        return Path(environment.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config")


def _below_home(*parts: str) -> Callable[[Path, Environment, str], Path]:
    return lambda home, _, __: home.joinpath(*parts)


def _zed(home: Path, environment: Environment, platform: str) -> Path:
    if platform == "win32":
        return _settings(home, environment, platform) / "Zed" / "settings.json"
    base = home / ".config" if platform == "darwin" else _settings(home, environment, platform)
    return base / "zed" / "settings.json"


def _claude_code(home: Path, environment: Environment, _: str) -> Path:
    return Path(environment.get("CLAUDE_CONFIG_DIR") or home) / ".claude.json"


def _codex(home: Path, environment: Environment, _: str) -> Path:
    return Path(environment.get("CODEX_HOME") or home / ".codex") / "config.toml"


_STDIO = {"type": "stdio"}
CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-desktop",
            "Claude Desktop",
            "mcpServers",
            _application("Claude", "claude_desktop_config.json"),
        ),
        Client("claude-code", "Claude Code", "mcpServers", _claude_code, _STDIO),
        Client("cursor", "Cursor", "mcpServers", _below_home(".cursor", "mcp.json")),
        Client("vscode", "VS Code", "servers", _application("Code", "User", "mcp.json"), _STDIO),
        Client("zed", "Zed", "context_servers", _zed, {"source": "custom"}),
        Client("codex", "Codex", "mcp_servers", _codex, is_toml=True),
        Client("gemini", "Gemini CLI", "mcpServers", _below_home(".gemini", "settings.json")),
    )
}
"""The clients by name."""


def edited(client: Client, text: str, name: str, entry: Entry | None) -> str:
    """Returns the configuration of a client with a server in it.

    Fields that a person added to the entry stay, such as an environment.

    Args:
        client: decides on the form.
        text: the configuration, empty if there is none.
        name: of the server.
        entry: None to remove it.

    Raises:
        InvalidInputError: the configuration is malformed, or of a form that cannot be changed
            safely.
    """
    if not _NAME.fullmatch(name):
        raise ibidem.InvalidInputError(
            f"name: got {name!r:.80}, expected 1 to 64 letters, digits, '_' and '-'"
        )
    load = tomllib.loads if client.is_toml else json_member.loads
    try:
        before = load(text)
        servers = before.get(client.section, {})
        old = servers.get(name)
        new = None if entry is None else {**(old or {}), **entry}
        if new == old:
            return text
        change = _toml if client.is_toml else _json
        after = change(text, (client.section, name), new)
        wanted = {key: one for key, one in servers.items() if key != name}
        if new is not None:
            wanted[name] = new
        is_meant = _without_empty(load(after), client.section) == _without_empty(
            {**before, client.section: wanted}, client.section
        )
    except (ValueError, TypeError, AttributeError, RecursionError, IndexError) as error:
        raise ibidem.InvalidInputError(
            f"{client.name}: its configuration cannot be read: {error}"
        ) from error
    if not is_meant:
        raise ibidem.InvalidInputError(
            f"{client.name}: its configuration has a form that cannot be changed safely",
            hint=f"enter it by hand: {json.dumps(new)}",
        )
    return after


def _json(text: str, path: json_member.Path, value: Entry | None) -> str:
    return (
        json_member.drop_member(text, path)
        if value is None
        else json_member.set_member(text, path, value)
    )


def _toml(text: str, path: json_member.Path, value: Entry | None) -> str:
    """Returns a TOML file with a table replaced, its sub-tables left, or all of them removed."""
    section, name = path
    newline = "\r\n" if "\r\n" in text else "\n"
    key = rf"{section}\s*\.\s*(?:{name}|\"{name}\"|'{name}')\s*"
    own = re.compile(rf"\s*\[\s*{key}\]")
    of_entry = own if value is not None else re.compile(rf"\s*\[\s*{key}(?:\.[^\]]*)?\]")
    lines = text.splitlines(keepends=True)
    rest: list[str] = []
    position, is_inside = None, False
    for line in lines:
        if re.match(r"\s*\[", line):
            is_inside = of_entry.match(line) is not None
            if is_inside and position is None:
                position = len(rest)
        if not is_inside:
            rest.append(line)
    if value is None:
        return _ended("".join(rest).rstrip("\r\n"), newline) if position is not None else text
    table = [
        f"[{section}.{name}]",
        *(f"{key} = {_scalar(one)}" for key, one in value.items() if not isinstance(one, Mapping)),
    ]
    block = newline.join(table) + newline
    if position is None:
        head = _ended(text.rstrip("\r\n"), newline)
        return f"{head}{newline if head else ''}{block}"
    after = "".join(rest[position:])
    return "".join(rest[:position]) + block + (f"{newline}{after}" if after.strip() else "")


def _ended(text: str, newline: str) -> str:
    return f"{text}{newline}" if text else ""


def _scalar(value: Any) -> str:
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_scalar, value))}]"
    return json.dumps(str(value), ensure_ascii=False)


def _without_empty(value: Mapping[str, Any], section: str) -> dict[str, Any]:
    """Returns a configuration without its section of servers if that is empty."""
    return {key: one for key, one in value.items() if key != section or one}
