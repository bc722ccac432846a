"""The allow-list for restricted viewers: what each public entry point gives them.

Every public method of the repository, of its namespaces, of revisions, transactions and the memory
layers, every command and every route of a server has one row here. Anything without a row is
refused, so a new method reveals nothing to a restricted viewer until its exposure is decided; until
then, a test that finds methods by reflection fails.

Spec: trust 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from ibidem.objects.errors import ErrorKind, InvalidInputError

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=type[Any])


class Exposure(StrEnum):
    """What a restricted viewer gets."""

    VISIBLE = "visible"
    """The same as a repository that has only the visible nodes."""
    EXEMPT = "exempt"
    """Names and CIDs, the configuration or the clock; nothing of any node."""
    REFUSED = "refused"
    """A `not-permitted` error that depends only on the name."""


def _rows(group: str, exposure: Exposure, names: str) -> dict[str, Exposure]:
    return {f"{group}.{name}" if group else name: exposure for name in names.split()}


def _commands(exposure: Exposure, *names: str) -> dict[str, Exposure]:
    return {f"repo {name}": exposure for name in names}


EXPOSURES: Final[Mapping[str, Exposure]] = {
    # -- the repository ------------------------------------------------------------------------
    **_rows("Repository", Exposure.VISIBLE, "at as_viewer conflicts retrieve retriever packs"),
    **_rows("Repository", Exposure.VISIBLE, "prompt context verify_citation query transaction"),
    **_rows("Repository", Exposure.VISIBLE, "notes receipts"),
    **_rows(
        "Repository",
        Exposure.EXEMPT,
        "head current_branch branches tags resolve now close",
    ),
    **_rows("Repository", Exposure.EXEMPT, "viewer author"),
    **_rows("Repository", Exposure.REFUSED, "core folder history stage sync runs keys maintenance"),
    **_rows(
        "Repository",
        Exposure.REFUSED,
        "commit_at use_embedder embed embed_sparse branch tag switch",
    ),
    **_rows("Repository", Exposure.REFUSED, "refs set_ref delete_ref"),
    **_rows("Repository", Exposure.REFUSED, "delete_branch delete_tag merge rebase cherry_pick"),
    **_rows("Repository", Exposure.REFUSED, "revert conflict_values resolve_conflict ingest"),
    **_rows("Repository", Exposure.VISIBLE, "conversations records recall feedback add"),
    **_rows("Repository", Exposure.REFUSED, "show_progress act_as use_workers work"),
    # -- its namespaces ------------------------------------------------------------------------
    **_rows(
        "History",
        Exposure.REFUSED,
        "log diff diff_documents compare bisect touching blame squash prune newest_nodes",
    ),
    **_rows("History", Exposure.REFUSED, "merge_bases operations undoable undo redo"),
    **_rows("Stage", Exposure.REFUSED, "transaction commit_with commit changes clear"),
    **_rows("Sync", Exposure.REFUSED, "remotes export export_part load fetch fetched pull push"),
    **_rows("Receipts", Exposure.VISIBLE, "replay"),
    **_rows("Receipts", Exposure.REFUSED, "keep log_questions list find drop"),
    **_rows("Runs", Exposure.REFUSED, "start open replay check differences fork list load drop"),
    **_rows("NoteSpaces", Exposure.VISIBLE, "space"),
    **_rows("NoteSpaces", Exposure.EXEMPT, "spaces"),
    **_rows("Notes", Exposure.VISIBLE, "at log add reinforce penalize vote outcome"),
    **_rows("Notes", Exposure.EXEMPT, "head"),
    **_rows("Keys", Exposure.REFUSED, "ring sign_with verify revoke require_signed"),
    **_rows("Maintenance", Exposure.REFUSED, "checkup fsck repair gc stats log_stats index_counts"),
    **_rows("Maintenance", Exposure.REFUSED, "audit_vectors audit_texts missing_vectors reindex"),
    **_rows(
        "Maintenance",
        Exposure.REFUSED,
        "verify_index share_index index_heads build_index drop_index",
    ),
    **_rows("Maintenance", Exposure.REFUSED, "erase erasures is_erased accept_erasures"),
    **_rows("Maintenance", Exposure.REFUSED, "finish_erasing"),
    # -- revisions and transactions ------------------------------------------------------------
    **_rows("Revision", Exposure.VISIBLE, "seen_by node find_nodes node_id edge_id edge nodes"),
    **_rows("Revision", Exposure.VISIBLE, "edges edges_of vector sparse tombstone content"),
    **_rows("Revision", Exposure.VISIBLE, "vectors sparse_vectors"),
    **_rows("Revision", Exposure.VISIBLE, "document locate locate_many newest moment paths"),
    **_rows(
        "Revision", Exposure.VISIBLE, "is_visible retrieve retrieve_many packs records stream_packs"
    ),
    **_rows("Revision", Exposure.VISIBLE, "prompt context verify_citation query page count schema"),
    **_rows("Revision", Exposure.VISIBLE, "navigate neighbours communities"),
    **_rows("Revision", Exposure.EXEMPT, "root_cid commit_cid config trust_policy viewer"),
    **_rows("Revision", Exposure.EXEMPT, "is_restricted erasures"),
    **_rows("Revision", Exposure.REFUSED, "core root commit log snapshot with_snapshot"),
    **_rows("Transaction", Exposure.REFUSED, "add_summaries"),
    **_rows("Transaction", Exposure.VISIBLE, "add_node update_node node find_node"),
    **_rows("Transaction", Exposure.VISIBLE, "add_edge update_edge remove_edge edge edges_of"),
    **_rows("Transaction", Exposure.VISIBLE, "tombstone untombstone publish rollback"),
    **_rows("Transaction", Exposure.VISIBLE, "note noted content"),
    **_rows("Transaction", Exposure.VISIBLE, "conversations records feedback add"),
    **_rows("Transaction", Exposure.EXEMPT, "base commit author now step"),
    **_rows("Transaction", Exposure.REFUSED, "before require_unchanged embed ingest"),
    **_rows("Transaction", Exposure.VISIBLE, "is_tombstoned at"),
    **_rows("Transaction", Exposure.REFUSED, "conflicts nodes node_id edge_id read_ahead settle"),
    **_rows("Transaction", Exposure.REFUSED, "memo"),
    **_rows("Transaction", Exposure.REFUSED, "copy_vectors copy_tombstone"),
    **_rows("Transaction", Exposure.REFUSED, "add_trailers set_semantics"),
    **_rows("Transaction", Exposure.REFUSED, "set_vector set_sparse remove_vector remove_sparse"),
    **_rows("Transaction", Exposure.REFUSED, "register_model configure set_labels values_of"),
    **_rows("Transaction", Exposure.REFUSED, "remove_node set_trust_policy trust_policy"),
    # -- the memory layers ---------------------------------------------------------------------
    **_rows(
        "Conversations",
        Exposure.VISIBLE,
        "at threads thread messages view select context to_messages append save clear purge",
    ),
    **_rows(
        "Conversations", Exposure.REFUSED, "compact compact_by outgrown add_facts propose_by_rules"
    ),
    **_rows("GraphMemory", Exposure.VISIBLE, "add relate supersede fork retract merge contest"),
    **_rows("GraphMemory", Exposure.VISIBLE, "retrieve_graph get list versions salience notes"),
    **_rows("GraphMemory", Exposure.VISIBLE, "update delete"),
    **_rows("GraphMemory", Exposure.REFUSED, "commits"),
    **_rows("GraphMemory", Exposure.EXEMPT, "policy"),
    **_rows("GraphMemory", Exposure.REFUSED, "consolidate prune metrics read"),
    **_rows("GraphMemory", Exposure.REFUSED, "propose proposals accept maintain"),
    **_rows("recall", Exposure.VISIBLE, "recall"),
    **_rows("Feedback", Exposure.VISIBLE, "vote not_useful outcome reinforce penalize"),
    **_rows("procedures", Exposure.VISIBLE, "offers"),
    **_rows("procedures", Exposure.REFUSED, "add_procedure set_status mine"),
    # -- the commands --------------------------------------------------------------------------
    **_commands(Exposure.VISIBLE, "retrieve", "packs", "prompt", "query", "show"),
    **_commands(Exposure.VISIBLE, "cat", "edge traverse"),
    **_commands(Exposure.REFUSED, "checkout", "rm", "mv"),
    **_commands(Exposure.VISIBLE, "memory recall", "memory graph", "memory salience", "trust show"),
    **_commands(Exposure.VISIBLE, "thread list", "thread show", "thread select"),
    **_commands(Exposure.VISIBLE, "thread append", "thread clear"),
    **_commands(Exposure.VISIBLE, "snapshot record", "mcp", "view"),
    **_commands(Exposure.EXEMPT, "init", "demo", "completion", "help", "mcp integrate"),
    **_commands(Exposure.EXEMPT, "config repos", "config repos list", "config repos add"),
    **_commands(Exposure.EXEMPT, "config repos remove"),
    **_commands(Exposure.REFUSED, "config list", "config get", "config set", "config unset"),
    **_commands(Exposure.REFUSED, "add", "node add", "node remove", "node tombstone"),
    **_commands(Exposure.REFUSED, "node untombstone", "edge add", "edge remove", "commit"),
    **_commands(Exposure.REFUSED, "status", "config", "embed", "embed install", "index stats"),
    **_commands(Exposure.REFUSED, "memory feedback vote", "memory feedback not-useful"),
    **_commands(Exposure.REFUSED, "memory feedback outcome"),
    **_commands(Exposure.REFUSED, "thread compact", "thread extract"),
    **_commands(Exposure.REFUSED, "memory add", "memory consolidate", "memory contest"),
    **_commands(
        Exposure.REFUSED, "memory propose", "memory proposals", "memory accept", "memory list"
    ),
    **_commands(Exposure.REFUSED, "memory maintain", "memory slow", "memory list"),
    **_commands(Exposure.REFUSED, "memory fork", "memory merge", "memory supersede"),
    **_commands(Exposure.REFUSED, "memory penalize", "memory prune", "memory reinforce"),
    **_commands(Exposure.REFUSED, "memory retract", "trust enable", "trust disable", "replay"),
    **_commands(Exposure.REFUSED, "receipt drop", "receipt keep", "receipt list", "receipt show"),
    **_commands(Exposure.REFUSED, "run diff", "run drop", "run export", "run list", "run replay"),
    **_commands(Exposure.REFUSED, "run record", "run fork", "run test"),
    **_commands(Exposure.REFUSED, "run show", "snapshot check", "log", "diff", "blame", "bisect"),
    **_commands(Exposure.REFUSED, "bisect run", "branch", "switch", "tag", "merge", "resolve"),
    **_commands(
        Exposure.REFUSED,
        "history rebase",
        "cherry-pick",
        "revert",
        "undo",
        "redo",
        "history squash",
    ),
    **_commands(
        Exposure.REFUSED, "history prune", "clone", "remote add", "remote list", "remote remove"
    ),
    **_commands(Exposure.REFUSED, "remote show", "embed list"),
    **_commands(
        Exposure.REFUSED, "index compact", "index share", "index verify", "index list", "index drop"
    ),
    **_commands(
        Exposure.REFUSED, "remote fetch", "pull", "push", "export", "import", "serve", "fsck"
    ),
    **_commands(Exposure.REFUSED, "trust token create", "trust token list"),
    **_commands(Exposure.REFUSED, "trust token rotate", "trust token revoke"),
    **_commands(Exposure.REFUSED, "trust token log"),
    **_commands(Exposure.REFUSED, "gc", "erase", "key generate", "key list", "key require"),
    **_commands(Exposure.REFUSED, "key revoke", "key trust", "key verify", "index build", "doctor"),
    # -- the tools of the MCP server -----------------------------------------------------------
    **_rows("mcp", Exposure.VISIBLE, "retrieve read remember verify"),
    **_rows("mcp", Exposure.REFUSED, "history compare"),
    **_rows("mcp.resource", Exposure.EXEMPT, "status"),
    **_rows("mcp.resource", Exposure.VISIBLE, "node"),
    **_rows("mcp.resource", Exposure.REFUSED, "receipt"),
    **_rows("mcp.prompt", Exposure.VISIBLE, "answer-with-citations"),
    **_rows("mcp.prompt", Exposure.REFUSED, "review-changes"),
    # -- export --------------------------------------------------------------------------------
    **_rows("exporting", Exposure.VISIBLE, "export"),
    # -- the pages of the explorer -------------------------------------------------------------
    **_rows("view", Exposure.VISIBLE, "ask node document graph threads thread"),
    **_rows("view", Exposure.REFUSED, "compare bisect history operations commit health runs run"),
    # -- the routes of a server ----------------------------------------------------------------
    **_rows("", Exposure.REFUSED, "/v1/refs /v1/known /v1/fetch /v1/push /v1/work"),
    **_rows("", Exposure.VISIBLE, "/v1/retrieve /v1/packs /v1/context /v1/replay/{receipt}"),
    **_rows("", Exposure.VISIBLE, "/v1/prompt /v1/query /v1/nodes /v1/nodes/{id}"),
    **_rows("", Exposure.EXEMPT, "/v1/health /v1/openapi.json /v1/branches /v1/events"),
    **_rows("", Exposure.REFUSED, "/v1/compare /v1/log /v1/diff /v1/transactions /v1/messages"),
    **_rows("", Exposure.REFUSED, "/v1/metrics"),
}
"""Exposure by name: the class or module and the method, `repo` and the command, or the path of a
route.
"""


def exposure_of(name: str) -> Exposure:
    """Returns the exposure of an entry point; `REFUSED` if it has no row.

    Spec: trust 6.

    >>> exposure_of("Repository.retrieve").value, exposure_of("of no row").value
    ('visible', 'refused')
    """
    return EXPOSURES.get(name, Exposure.REFUSED)


def not_permitted(name: str) -> InvalidInputError:
    """Returns the error for a refused entry point; it contains only the name."""
    return InvalidInputError(
        f"viewer: {name} is refused to a viewer who may not see everything",
        kind=ErrorKind.NOT_PERMITTED,
        hint="it is for the owner: viewer=ALL, or --viewer all",
    )


def check_exposed(name: str) -> None:
    """Raises if an entry point is refused to restricted viewers.

    Raises:
        InvalidInputError: kind `not-permitted`.
    """
    if exposure_of(name) is Exposure.REFUSED:
        raise not_permitted(name)


class Proxy:
    """An object as a restricted viewer gets it; attributes that it does not define are refused."""

    proxy_of = ""
    """The name of the wrapped class in the table."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise not_permitted(f"{self.proxy_of}.{name}")


def guarded(function: Callable[P, T]) -> Callable[P, T]:
    """Returns a function, whose first argument is a repository or a revision, that enforces the
    table for a restricted viewer; its name there consists of its module and its name.
    """
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"

    @wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> T:
        if args and isinstance(args[0], Proxy):
            check_exposed(name)
        return function(*args, **options)

    return checked


def guarded_methods(cls: C) -> C:
    """Returns a class, with a repository in its attribute `repository`, whose public methods
    enforce the table for a restricted viewer.
    """
    for name, method in list(vars(cls).items()):
        if callable(method) and not name.startswith("_"):
            setattr(cls, name, _guarded_method(f"{cls.__name__}.{name}", method))
    return cls


def _guarded_method(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def checked(self: Any, *args: Any, **options: Any) -> Any:
        if isinstance(self.repository, Proxy):
            check_exposed(name)
        return method(self, *args, **options)

    return checked
