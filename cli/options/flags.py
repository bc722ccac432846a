"""Builds command line options from the table of query options, reads their values, and names them
in errors as they were typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from ibidem.cli.options.common import complete_label, complete_model
from ibidem.retrieve.query.options import GROUPS, OPTIONS, Flag, Option

Function = TypeVar("Function", bound=Callable[..., Any])
_TYPES: Mapping[str, type] = {"int": int, "float": float}
_COMPLETED = {"label": complete_label, "model": complete_model}
"""What a shell proposes for the value of an option."""
_PARAMETERS = {one.name: one.flag.parameter for one in OPTIONS.values() if one.flag is not None}


def added(options: Iterable[Option]) -> Callable[[Function], Function]:
    """Returns a decorator that adds the flags of these options to a command, in order."""
    flags = [_option(one) for one in options]

    def add(function: Function) -> Function:
        for flag in reversed(flags):
            function = flag(function)
        return function

    return add


def taken(options: Iterable[Option], given: dict[str, Any]) -> dict[str, Any]:
    """Removes these options from the parameters of a command; returns the given ones by their
    library names.
    """
    found: dict[str, Any] = {}
    for one in options:
        if one.flag is not None:
            value = given.pop(one.flag.parameter)
            # 0 is a valid number, and equals False.
            is_absent = value is None or value == () or (value is False and one.flag.off is None)
            if not is_absent:
                found[one.name] = value
    return found


def in_flags(message: str, context: click.Context) -> str:
    """Returns the message of an error of the library that begins with a field; the field is
    replaced by the flag of this command that gave it, if one was typed.

    A flag gives the field of its option, of its own name, or of the name of its parameter:
    `graph.depth: got 9` becomes `--graph-depth: got 9`, and `weights.dense: got 9` becomes
    `--weight dense: got 9`.
    """
    field, _, rest = message.partition(": ")
    flags = {}
    for one in context.command.params:
        if isinstance(one, click.Option) and one.name is not None:
            flag = Flag(max(one.opts, key=len))
            flags[flag.parameter] = flags[one.name] = flag.name, one.name
    for name in (field, re.split(r"[.\[]", field)[0]):
        flag_name, parameter = flags.get(_PARAMETERS.get(name, name)) or flags.get(name, ("", ""))
        if context.get_parameter_source(parameter) is ParameterSource.COMMANDLINE:
            member = field.removeprefix(name)
            return f"{flag_name}{f' {member[1:]}' if member.startswith('.') else ''}: {rest}"
    return message


class GroupedOption(click.Option):
    """An option that the help lists under a heading."""

    def __init__(self, *arguments: Any, group: str, **settings: Any) -> None:
        self.group = group
        super().__init__(*arguments, **settings)


class GroupedCommand(click.Command):
    """A command whose help lists its own options first, then the others by subject."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options under their headings."""
        found: dict[str, list[tuple[str, str]]] = {_OWN: [], _FIRST: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                found.setdefault(getattr(parameter, "group", _OWN), []).append(record)
        for heading, rows in found.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


_OWN, _FIRST = "Options", "What is returned"
_GROUP_OF = {
    option.name: group.capitalize() for group, options in GROUPS.items() for option in options
}


def _option(one: Option) -> Callable[[Function], Function]:
    flag = one.flag
    assert flag is not None, f"BUG: {one.name} has no flag"
    help_text = (flag.help or one.help).format(default=one.default) + "."
    if flag.is_switch:
        return click.option(
            flag.name if flag.off is None else f"{flag.name}/{flag.off}",
            cls=GroupedOption,
            group=_GROUP_OF[one.name],
            is_flag=True,
            default=False if flag.off is None else None,
            help=help_text,
        )
    return click.option(
        flag.name,
        cls=GroupedOption,
        group=_GROUP_OF[one.name],
        type=click.Choice(one.choices) if one.choices else _TYPES.get(one.type),
        multiple=flag.is_many,
        metavar=flag.metavar,
        help=help_text,
        shell_complete=_COMPLETED.get(one.name),
    )
