"""Every command of the program with plausible arguments, and every public method of the library.

Commands are found by walking the click group, and their arguments by the names and types of their
parameters, so a new command is asked without being named here. Only what is skipped is named, with
the reason. The methods are found in the same way.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import click

from ibidem.cli.main import cli

from .graph import Block, Copy, Ref, Tree, cid_text
from .values import ESCAPES, INTEGERS, LABELS, PROPS, TEXTS

SKIPPED = {
    "embed install": "downloads a model",
    "demo": "makes a repository of its own and asks that",
    "view": "does not end",
    "serve": "does not end; `cases` pushes to a server in this process",
}
READS = frozenset(
    (
        *("status", "retrieve", "packs", "prompt", "query", "show"),
        *("memory recall", "edge traverse"),
        *(
            "index stats",
            "thread list",
            "thread select",
            "thread show",
            "memory graph",
            "trust show",
        ),
        *("memory salience", "replay", "receipt list", "receipt show", "run diff", "run list"),
        *("run replay", "run show", "log", "diff", "blame", "bisect", "bisect run", "key verify"),
        *("fsck", "doctor", "remote list", "key list", "snapshot record", "snapshot check"),
        *("export", "run export", "clone", "completion", "index build", "index compact", "help"),
        "cat",
    )
)
"""Commands that change nothing of what others see: they are asked first, on the copy as it came."""
OPTIONS_GIVEN = (0, 0, 1, 1, 2, 3)
"""How many options a command line gets beside those that are needed; many exclude each other."""
RAW = frozenset(("show --content", "completion"))
"""What prints bytes as they are, on purpose."""
Command = tuple[str, click.Command]


def every_command() -> list[Command]:
    """Returns the name and object of every command that does something itself."""
    return list(_walk(cli, ()))


def _walk(command: click.Command, path: tuple[str, ...]) -> Iterator[Command]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        if command.invoke_without_command:
            yield " ".join(path), command
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None, name
            yield from _walk(below, (*path, name))
    else:
        yield " ".join(path), command


class World:
    """What an attacker's copy names, and files beside it."""

    def __init__(self, copy: Copy, chance: Random, folder: Path, data: Path) -> None:
        self.chance = chance
        self.folder = folder
        """Where new files go."""
        self.data = data
        """The file that was taken in."""
        self._count = 0
        self.nodes: list[str] = []
        self.edges: list[str] = []
        self.threads: list[str] = ["support"]
        self.labels: list[str] = list(LABELS)
        self.props: list[str] = list(PROPS)
        self.cids: list[str] = []
        self.commits: list[str] = []
        self.receipts: list[str] = []
        self.words: list[str] = ["retry", "queue", "worker", "restart the queue", "message"]
        self.refs: list[str] = []
        self.conflicts: list[str] = []
        self.names: dict[str, list[str]] = {"model": ["letters"], "vocab": ["words"]}
        for block in copy.blocks():
            self._read(block)
        found = copy.root.value.get("refs") if isinstance(copy.root.value, dict) else None
        self.refs += [str(name) for name in found] if isinstance(found, dict) else []

    def _read(self, block: Block) -> None:
        value = block.value
        if block.cid:
            self.cids.append(cid_text(block.cid))
        if isinstance(block, Tree):
            return
        match block.kind:
            case "node" | "edge" if isinstance(value.get("id"), bytes):
                ids = self.nodes if block.kind == "node" else self.edges
                ids.append(value["id"].hex())
                label = value.get("ntype")
                if label not in self.labels and isinstance(label, str):
                    self.labels.append(label)
                props = value.get("props")
                if isinstance(props, dict):
                    thread = props.get("thread", props.get("name"))
                    if isinstance(thread, str) and label in ("Thread", "Message"):
                        self.threads.append(thread)
                    self.props += [str(name) for name in props]
            case "commit":
                self.commits += self.cids[-1:]
            case "receipt":
                self.receipts += self.cids[-1:]
            case "root":
                conflicts = value.get("conflicts")
                if isinstance(conflicts, Ref) and isinstance(conflicts.block, Tree):
                    self.conflicts += [key.hex() for key in conflicts.block.value]
        if block.kind == "node" and isinstance(value.get("summary"), str):
            self.words += value["summary"].split()[:3]

    # -- values --------------------------------------------------------------------------------

    def one(self, *lists: list[str]) -> str:
        """Returns one of the values in the lists, or a text where they are empty."""
        found = [item for one in lists for item in one]
        return self.chance.choice(found) if found else "nothing"

    def node(self) -> str:
        """Returns the id of a node, or something like it."""
        if self.chance.random() < 0.05:
            return self.one(self.edges, self.cids, [self.chance.randbytes(16).hex()])
        return self.one(self.nodes)

    def revision(self) -> str:
        """Returns what names a revision."""
        branches = [
            ref.partition("/")[2] for ref in self.refs if ref.startswith(("heads/", "tags/"))
        ]
        usual = ["HEAD", "HEAD", "main", "HEAD~1", "HEAD~2", "v1", "main@{2030-01-01T00:00:00Z}"]
        if self.chance.random() < 0.05:
            return self.one(self.cids, self.refs, ["HEAD~9999999", "2024-01-01", "no-such"])
        return self.one(usual, branches, self.commits)

    def new_path(self, suffix: str = "") -> str:
        """Returns a path where nothing is yet."""
        self._count += 1
        return str(self.folder / f"new-{self._count}{suffix}")

    def text(self) -> str:
        """Returns a question or other text."""
        words = [self.chance.choice(self.words) for _ in range(self.chance.randint(1, 4))]
        text = " ".join(words)
        if self.chance.random() < 0.05:
            text = self.chance.choice(TEXTS) or "x"
        return text.replace("\0", "?")

    def run_name(self) -> str:
        """Returns the name of a run."""
        runs = [ref.partition("/")[2] for ref in self.refs if ref.startswith("runs/")]
        return self.one(runs, [run.rpartition("/")[0] or run for run in runs], ["nightly"])

    def file(self) -> str:
        """Returns the path of a small file with a document."""
        path = Path(self.new_path(".md"))
        path.write_text(f"# {self.chance.choice(self.words)}\n\n{self.text()}\n")
        return str(path)


def arguments(name: str, command: click.Command, world: World) -> list[str]:
    """Returns a plausible command line, without the program and the repository."""
    given: list[str] = []
    told: list[str] = []
    options = [one for one in command.params if isinstance(one, click.Option)]
    chosen = world.chance.sample(options, min(len(options), world.chance.choice(OPTIONS_GIVEN)))
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            given += _option(name, parameter, world, is_wanted=parameter in chosen)
        else:
            told += _argument(name, parameter, world)
    if name == "erase" and "--finish" in given:
        told = []
    if name in ("branch", "tag") and "--delete" in given and told:
        told = [_ref_name(world)]
    if name == "feedback not-useful" and "--useful" in given:
        told = []
    if name == "bisect run":
        return [*name.split(), *given, "true"]
    separator = ["--"] if any(one.startswith("-") for one in told) else []
    return [*name.split(), *given, *separator, *told]


def _argument(name: str, parameter: click.Parameter, world: World) -> list[str]:
    chance = world.chance
    if not parameter.required and chance.random() < 0.3:
        return []
    count = chance.choice((1, 1, 2)) if parameter.nargs == -1 else 1
    return [_value(name, parameter, world) for _ in range(count)]


def _option(name: str, option: click.Option, world: World, *, is_wanted: bool) -> list[str]:
    chance = world.chance
    flag = max(option.opts, key=len)
    if flag in ("--repo", "--color", "--agent"):
        return []
    if flag == "--yes":
        return [flag]
    if flag == "--json":
        return [flag] if chance.random() < 0.5 else []
    if name == "resolve" and flag in ("--ours", "--theirs", "--base", "--keep"):
        is_wanted = chance.random() < 0.4
    if not is_wanted and not option.required:
        return []
    if option.is_flag:
        return [flag]
    return [flag, _value(name, option, world)]


def _value(command: str, parameter: click.Parameter, world: World) -> str:
    name, kind, chance = str(parameter.name).strip("_"), parameter.type, world.chance
    if isinstance(kind, click.Choice):
        return str(chance.choice(list(kind.choices)))
    made = _BY_COMMAND.get((command, name)) or _BY_NAME.get(name)
    if made is not None:
        return str(made(world))
    if isinstance(kind, click.types.IntRange | click.types.IntParamType):
        return str(chance.choice((0, 1, 2, 5, 100, -1, *INTEGERS[:8])))
    if isinstance(kind, click.types.FloatParamType):
        return str(chance.choice((0.0, 0.25, 0.5, 1.0, -1.0, 1e308)))
    if isinstance(kind, click.Path | click.File):
        return world.new_path()
    return world.text()


def _ref_name(world: World) -> str:
    names = [ref.partition("/")[2] for ref in world.refs]
    return world.one(names, ["side", "new", "main"])


def _condition(world: World) -> str:
    value = world.chance.choice(("1", "true", "active", '"x"', "[1]", "null", "1e400", "2.5"))
    return world.one(world.props) + world.chance.choice(("=", "!=", ">", "<=", "?")) + value


def _prop(world: World) -> str:
    return world.one(world.props) + "=" + world.chance.choice(("1", "x", "[1,2]", '{"a":null}'))


_Made = Callable[[World], Any]
_BY_NAME: dict[str, _Made] = {
    **dict.fromkeys(
        ("node", "nodes", "record", "records", "source", "target", "expect"), World.node
    ),
    **dict.fromkeys(("useful", "by"), World.node),
    **dict.fromkeys(("edges",), lambda world: world.one(world.edges)),
    **dict.fromkeys(
        ("rev", "revision", "before", "after", "at", "onto", "base", "since"), World.revision
    ),
    **dict.fromkeys(("good", "bad"), World.revision),
    **dict.fromkeys(
        ("query", "question", "text", "message", "reason", "summary", "content"), World.text
    ),
    **dict.fromkeys(("context", "session", "made_by"), World.text),
    "ids": World.node,
    "id": lambda world: world.one(world.conflicts, world.conflicts, world.nodes, world.edges),
    "name": _ref_name,
    "thread": lambda world: world.one(world.threads),
    "label": lambda world: world.one(world.labels),
    "ntype": lambda world: world.one(world.labels),
    "etype": lambda world: world.chance.choice(("cites", "supports", "x")),
    "prop": _prop,
    "value": lambda world: _prop(world),
    "where": _condition,
    "order_by": lambda world: world.one(world.props),
    "receipt": lambda world: world.one(world.receipts),
    "path": lambda world: world.chance.choice(
        ("cites", "cites>", "supports", "docs/guide.md", "*")
    ),
    "paths": World.file,
    "file": World.new_path,
    "folder": World.new_path,
    "location": lambda world: world.chance.choice(
        (str(world.data), str(world.folder.parent / "repo"))
    ),
    "remote": lambda world: world.chance.choice(("origin", "file", "none")),
    "first": lambda world: world.chance.choice((0, 1, 3)),
    "last": lambda world: world.chance.choice((2, 3, 5)),
    "amount": lambda world: world.chance.choice((0.25, 0.0, -1, 1e300)),
    "public": lambda world: world.chance.randbytes(32).hex(),
    "refs": lambda world: world.chance.choice(("heads/", "tags/v1", "notes/")),
    "ref": lambda world: world.one(world.refs),
    "limit": lambda world: world.chance.choice(("1", "5", "all", "1000000", "0")),
    "trust": lambda world: world.chance.choice(("all", "low", "high:team", "2:*", "public")),
    "include": lambda world: world.chance.choice(("notes", "runs", "receipts")),
    "model": lambda world: world.chance.choice(("letters", "onnx:/nowhere", "minilm")),
    "vector": lambda world: f"letters={_vector(world)}",
    "estimator": lambda world: world.chance.choice(("heuristic", "x")),
    "as_of": lambda world: world.chance.choice(("2024-01-01", "2030-01-01T00:00:00Z", "0", "x")),
    "level": lambda world: world.chance.choice(("low", "2", "level", "scope")),
    "scope": lambda world: world.chance.choice(("team", "scope")),
    "default_level": lambda world: world.chance.choice(("low", "4")),
    "anonymous_level": lambda world: world.chance.choice(("public", "2")),
    "role": lambda world: world.chance.choice(("user", "tool")),
    "author": lambda world: "eve",
    "sign": lambda world: "eve",
    "key": lambda world: world.chance.choice(('"k"', "[1,2]", "k")),
    "include_status": lambda world: world.chance.choice(("superseded", "retracted")),
    "after": World.revision,
    "delete": lambda world: world.one(world.refs),
    "expect_ref": lambda world: world.one(world.refs),
    "relate": lambda world: f"cites={world.node()}",
    "from": lambda world: f"record={world.node()}",
    "key_file": World.file,
    "citations": World.new_path,
    "token_file": World.file,
    "to": World.new_path,
}
"""By the name of a parameter; what is not here follows from its type."""
_BY_COMMAND: dict[tuple[str, str], _Made] = {
    ("show", "name"): lambda world: world.one(
        world.nodes, world.nodes, world.edges, world.commits, world.receipts, world.cids, world.refs
    ),
    **{
        (f"run {verb}", name): World.run_name
        for verb in ("show", "replay", "export", "drop", "diff")
        for name in ("name", "before", "after")
    },
    ("run replay", "agent"): lambda world: f"{world.file()}:main",
    ("query", "after"): World.node,
    ("import", "file"): lambda world: str(world.data),
    ("import", "branch"): lambda world: "taken",
    ("snapshot check", "file"): lambda world: str(world.folder / "snapshot"),
    ("snapshot record", "file"): lambda world: str(world.folder / "snapshot"),
    ("fsck", "from"): lambda world: str(world.data),
    ("fsck", "source"): lambda world: str(world.data),
    **{(f"key {verb}", "name"): lambda world: "eve" for verb in ("generate", "revoke", "trust")},
    **{(f"remote {verb}", "name"): lambda world: "file" for verb in ("add", "remove")},
    ("history squash", "branch"): _ref_name,
    ("memory add", "name"): lambda world: f"name {world.chance.randrange(2)}",
    ("init", "path"): World.new_path,
    ("bisect", "limit"): lambda world: "5",
}


def _vector(world: World) -> str:
    import numpy as np

    path = world.new_path(".npy")
    np.save(path, np.asarray([1.0, 0.5, -1.0, 0.25], np.float32))
    return path


def stdin(world: World) -> str:
    """Returns what a command may read: messages and records, one a line."""
    lines = [
        {"role": "user", "text": world.text(), "id": "m1"},
        {"role": "assistant", "text": world.chance.choice(ESCAPES), "tool_calls": ["c"]},
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


# The library


def every_method(cls: type) -> list[str]:
    """Returns the names of the public methods and properties of a class."""
    return sorted(name for name in dir(cls) if not name.startswith("_"))


def calls(
    subject: object,
    values: dict[str, Callable[[], Any]],
    skipped: frozenset[str],
    prefix: str = "",
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields (name, call) for every public method of an object that can be called with `values`.

    Args:
        values: makes an argument, by the name of a required parameter, or `METHOD.PARAMETER`.
        prefix: of the names of the methods, such as `history.`.
    """
    for name in every_method(type(subject)):
        full_name = prefix + name
        if not skipped.isdisjoint((name, full_name)):
            continue
        attribute = inspect.getattr_static(type(subject), name)
        if not callable(attribute) and not isinstance(attribute, classmethod | staticmethod):
            yield full_name, lambda name=name: getattr(subject, name)
            continue
        needed = needed_of(getattr(subject, name))
        makers = [values.get(f"{full_name}.{one}", values.get(one)) for one in needed]
        if all(makers):
            yield (
                full_name,
                lambda name=name, makers=makers, needed=needed: _called(
                    getattr(subject, name), dict(zip(needed, makers, strict=True))
                ),
            )


def needed_of(method: Any) -> list[str]:
    """Returns the names of the parameters that a method cannot do without."""
    found = inspect.signature(method).parameters.values()
    return [
        one.name
        for one in found
        if one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]


def _called(method: Any, makers: dict[str, Any]) -> Any:
    found = inspect.signature(method).parameters
    given = {name: make() for name, make in makers.items()}
    places_ = [
        item for name, item in given.items() if found[name].kind is not found[name].KEYWORD_ONLY
    ]
    named = {
        name: item for name, item in given.items() if found[name].kind is found[name].KEYWORD_ONLY
    }
    return method(*places_, **named)
