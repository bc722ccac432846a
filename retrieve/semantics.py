"""All published versions of the rules that determine an answer, and the choice between them.

The configuration of a root names the version for its questions, a query the version that answers
it, and a receipt contains the query: so each is read and answered by the rules of its own version.
When rules change, the version is increased and gets an entry in VERSIONS, a module with its
`RULES`; the code and the vectors of the previous version are kept unchanged. Common code is shared.

An analyser is not part of a version: its name, in the configuration, is a version of its own.

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
"""By version, the module that contains its `RULES`; versions are never removed."""


@record
class Rules:
    """The functions that determine an answer in one version."""

    resolve: Callable[..., Query]
    """Maps a root's configuration and a caller's options to a query."""
    read_query: Callable[[dict[str, Any]], Query]
    """Maps the canonical form of a query of this version to the query."""
    execute: Callable[..., Any]
    """Maps a snapshot, a query and the nodes to the answer; called as `engine.execute` is."""
    stream_packs: Callable[..., Any]
    """Called as `execute` for a query for packs; yields each pack, then returns the answer."""
    rank_lexical: Callable[..., Any]
    """Maps a universe to the top of the lexical lane."""
    fuse: Callable[..., Any]
    """Maps the tops of lanes to one score per node."""
    pack: Callable[..., Any]
    """Maps ranked nodes to those that fit a limit and a budget."""


def rules(version: int, field: str = "semantics") -> Rules:
    """Returns the rules of a version.

    Args:
        version: the number of the version.
        field: where the version was read, for the message.

    Raises:
        FormatError: kind `unsupported-semantics`: this program does not have the version.
    """
    check_version(version, field)
    return _rules_in(VERSIONS[version])


def check_version(version: int, field: str) -> None:
    """Raises the errors of `rules`, without loading a module."""
    if version not in VERSIONS:
        raise unknown_version(field, version, VERSIONS, ErrorKind.UNSUPPORTED_SEMANTICS)


def resolve(config: Config, **given: Any) -> Query:
    """Returns the query for a caller's options, by the version that the configuration of the root
    names; `query.resolve` describes the options.

    Raises:
        FormatError: kind `unsupported-semantics`: a version that this program does not have.
        InvalidInputError: an option is unknown, or of the wrong type or size.
    """
    return rules(config.semantics, "config.semantics").resolve(config, **given)


def read_query(form: Mapping[str, Any]) -> Query:
    """Returns the query of a canonical form, by the version that the form names.

    Raises:
        CorruptError: it is not the form of a query.
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
