"""The table of settings: the defaults of a repository that `repo config` shows and changes.

The settings of questions and conversations are the rows of `retrieve.query.options.SETTINGS`; a
root's configuration keeps them, so they are versioned and merged, and every receipt has their
effect. `--local` keeps one of questions for this copy of the repository only, where it stands for
the flag of a command. The other settings are of the machine and are always kept locally.

    python -m ibidem.cli.options.settings > docs/settings.md
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ibidem.objects.errors import InvalidInputError
from ibidem.objects.record import record
from ibidem.repo.local_settings import (
    ANSWER_CACHE,
    ANSWER_CACHE_DEFAULT,
    BUILT_AT,
    FILE,
    INDEX_BUDGET,
    INDEX_BUDGET_DEFAULT,
    INDEX_BUILD,
    LOG_QUESTIONS,
    QUESTION,
    SLOW_DEFAULT,
    SLOW_MILLISECONDS,
    LogQuestions,
    checked_log_questions,
)
from ibidem.retrieve.query import checks
from ibidem.retrieve.query.options import OF_CONVERSATIONS, Option
from ibidem.retrieve.query.options import SETTINGS as OF_ROOT
from ibidem.store.files import change_file

_HEAD = """# Settings of a repository

Generated from the table of settings by `python -m ibidem.cli.options.settings`; do not edit.
`repo config` shows and changes them; see [Configure a repository](how-to/configure.md). A setting
kept in the root is part of the versioned state; `--local` overrides one of questions on one
machine. A local setting is never committed.

| setting | value | default | kept | meaning |
|---|---|---|---|---|
"""
ROOT = "root"
LOCAL = "local"
NAME = FILE.as_posix()
"""The file in messages."""


@record
class Setting:
    """One setting."""

    option: Option
    """Its name, type, range and help."""
    scope: str
    """ROOT or LOCAL."""

    @property
    def name(self) -> str:
        """The name in `repo config`."""
        return self.option.name


SETTINGS = {
    setting.name: setting
    for setting in (
        *(Setting(option, ROOT) for option in OF_ROOT.values()),
        Setting(
            Option("author", "str", none="the login name", help="Author of commits made here"),
            LOCAL,
        ),
        Setting(
            Option("language_model", "str", none="no", help="Model that writes summaries"),
            LOCAL,
        ),
        Setting(
            Option("rerank", "str", none="no", help="Reranker of questions, as `--rerank` has it"),
            LOCAL,
        ),
        Setting(
            Option("sparse", "str", none="no", help="Encoder of questions, as `--sparse` has it"),
            LOCAL,
        ),
        Setting(
            Option(
                INDEX_BUILD,
                "str",
                QUESTION,
                choices=BUILT_AT,
                help="When the index of a new head is built: at the commit, or for a question",
            ),
            LOCAL,
        ),
        Setting(
            Option(
                INDEX_BUDGET,
                "int",
                INDEX_BUDGET_DEFAULT,
                help="Bytes that the index of all heads but the current one may occupy",
            ),
            LOCAL,
        ),
        Setting(
            Option(
                ANSWER_CACHE,
                "int",
                ANSWER_CACHE_DEFAULT,
                help="Bytes of packs that a process keeps for the same question again; 0 for none",
            ),
            LOCAL,
        ),
        Setting(
            Option(
                LOG_QUESTIONS,
                "str",
                str(LogQuestions.RECEIPTS),
                choices=tuple(map(str, LogQuestions)),
                help="Where the text of a question is written: nowhere, in the log of receipts, or "
                "in the log of slow questions too",
            ),
            LOCAL,
        ),
        Setting(
            Option(
                SLOW_MILLISECONDS,
                "int",
                SLOW_DEFAULT,
                help="Milliseconds from which on `repo memory slow` lists a question",
            ),
            LOCAL,
        ),
    )
}
"""Every setting by name."""


def setting(name: str) -> Setting:
    """Returns a setting.

    Raises:
        InvalidInputError: there is none of that name.
    """
    if name in SETTINGS:
        return SETTINGS[name]
    from difflib import get_close_matches

    like = " or ".join(get_close_matches(name, SETTINGS))
    raise InvalidInputError(
        f"config: got the unknown setting {name!r:.80}, expected one of {', '.join(SETTINGS)}",
        hint=f"did you mean {like}?" if like else "'repo config' lists them all",
    )


def checked(name: str, value: object) -> Any:
    """Returns a value of a setting in its canonical type.

    Raises:
        InvalidInputError: an unknown name, or a value of the wrong form.
    """
    found = setting(name)
    if name == INDEX_BUILD:
        return checks.choice(name, value, BUILT_AT)
    if name == LOG_QUESTIONS:
        return str(checked_log_questions(value))
    if name in (SLOW_MILLISECONDS, INDEX_BUDGET, ANSWER_CACHE):
        return checks.count(name, value)
    if found.scope == LOCAL:
        if not isinstance(value, str) or not value.strip():
            raise InvalidInputError(f"{name}: got {value!r:.80}, expected a text that is not empty")
        return value
    from ibidem.objects.config import Config
    from ibidem.retrieve.query.settings import changed_fields

    if name in ("rrf_k", "weights"):
        # Valid alone or not, which depends on the fusion that a question has in the end.
        changed_fields(Config(fusion={"name": "weighted_rrf"}), {name: value})
    else:
        changed_fields(Config(), {name: value})
    return value


def read_local(file: Path) -> dict[str, Any]:
    """Returns the local settings in a file, by name; none if there is no file.

    Raises:
        InvalidInputError: the file has another form, or an invalid setting.
    """
    try:
        return _read(file.read_bytes())
    except FileNotFoundError:
        return {}


def _read(data: bytes | None) -> dict[str, Any]:
    try:
        found = json.loads(data or b"{}")
    except ValueError as error:
        raise InvalidInputError(f"{NAME}: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInputError(f"{NAME}: got {type(found).__name__}, expected an object")
    return {name: checked(_local(name), value) for name, value in found.items()}


def _local(name: str) -> str:
    if name in OF_CONVERSATIONS:
        raise InvalidInputError(
            f"{name}: got a local setting, expected it in the root",
            hint=f"'repo config set {name} VALUE' without --local commits it",
        )
    return name


def write_local(file: Path, name: str, value: object | None) -> None:
    """Writes a local setting; None removes it.

    Args:
        file: of the repository's local settings.
        name: one of SETTINGS.
        value: checked.

    Raises:
        InvalidInputError: the setting is only kept in the root.
    """
    _local(name)

    def changed(data: bytes | None) -> bytes:
        found = {**_read(data), name: value}
        remaining = {key: one for key, one in sorted(found.items()) if one is not None}
        return json.dumps(remaining, indent=2).encode() + b"\n"

    change_file(file, changed)


def values_of(option: Option) -> str:
    """Returns the values of a setting in words."""
    if option.choices:
        return ", ".join(option.choices)
    if option.type in ("int", "float"):
        kind = "whole number" if option.type == "int" else "number"
        return f"{kind} from {option.low:g}" + (
            f" to {option.high:,g}" if option.high < 2**53 else ""
        )
    return {"bool": "true or false", "str": "text"}.get(option.type, "JSON object")


def default(option: Option) -> str:
    """Returns the default of a setting in words."""
    if option.default is None:
        return option.none
    return json.dumps(option.default)


def reference() -> str:
    """Returns the page `docs/settings.md`."""
    rows = []
    for name, one in SETTINGS.items():
        option = one.option
        cells = (f"`{name}`", values_of(option), default(option), one.scope, option.help)
        rows.append(f"| {' | '.join(cells)} |")
    return _HEAD + "".join(f"{row}\n" for row in rows)


def question_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the local settings that stand for options of a question."""
    return {name: value for name, value in settings.items() if SETTINGS[name].scope == ROOT}


if __name__ == "__main__":
    click.echo(reference(), nl=False)
