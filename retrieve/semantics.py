"""Every published version of the rules that decide an answer, and which of them a query names.

The configuration of a root names the version by which it is asked, a query the one that answers it,
and a receipt keeps the query: so each is read and answered by the rules of its own version. When
rules change, the version goes up and gets an entry in VERSIONS, a module with its `RULES`; the code
and the vectors of the one before stay as they are. What the two have in common, they share.

An analyser is no part of a version: its name, in the configuration, is a version of its own.

Spec: retrieval 10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ibidem.objects.errors import CorruptError, ErrorKind, unknown_version
from ibidem.objects.record import record

if TYPE_CHECKING:
    from ibidem.objects.config import Config
    from ibidem.retrieve.query.query import Query

VERSIONS = {1: "ibidem.retrieve.engine"}
"""By version, the module whose `RULES` are its; versions are never taken out."""


@record
class Rules:
    """What decides an answer in one version."""

    resolve: Callable[..., Query]
    """A root's configuration and a person's options, to the query that they mean."""
    read_query: Callable[[dict[str, Any]], Query]
    """The canonical form of a query of this version to the query."""
    execute: Callable[..., Any]
    """A snapshot, a query and the nodes to the answer; called as `engine.execute` is."""
    rank_lexical: Callable[..., Any]
    """A universe to the top of the lexical lane."""
    fuse: Callable[..., Any]
    """The tops of lanes to one score a node."""
    pack: Callable[..., Any]
    """Ranked nodes to those that fit a limit and a budget."""


def rules(version: int, field: str = "semantics") -> Rules:
    """Returns the rules of a version.

    Args:
        field: where the version was read, for the message.

    Raises:
        FormatError: kind `unsupported-semantics`: a version that this program does not have.
    """
    check_version(version, field)
    return _rules_in(VERSIONS[version])


def check_version(version: int, field: str) -> None:
    """Raises as `rules` does, and loads nothing."""
    if version not in VERSIONS:
        raise unknown_version(field, version, VERSIONS, ErrorKind.UNSUPPORTED_SEMANTICS)


def resolve(config: Config, **given: Any) -> Query:
    """Returns the query that a person's options mean, by the version that the configuration of the
    root names; `query.resolve` has the options.

    Raises:
        FormatError: kind `unsupported-semantics`: a version that this program does not have.
        InvalidInputError: an option is unknown, or of the wrong type or size.
    """
    return rules(config.semantics, "config.semantics").resolve(config, **given)


def read_query(form: Mapping[str, Any]) -> Query:
    """Returns the query of a canonical form, read by the version that it names.

    Raises:
        CorruptError: not the form of a query.
        FormatError: kind `unsupported-semantics`: a version that this program does not have.
    """
    version = form.get("semantics")
    if type(version) is not int:
        raise CorruptError(f"query.semantics: got {version!r:.80}, expected an integer")
    return rules(version, "query.semantics").read_query(dict(form))


@cache
def _rules_in(module: str) -> Rules:
    found: Rules = import_module(module).RULES
    return found
