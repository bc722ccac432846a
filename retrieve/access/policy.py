"""The trust policy of a root, and the viewer that its questions must name.

A node has a sensitivity level from 0 to 4 and a scope, both in properties that the policy names. A
caller sees nodes at or below its level and in its scopes. Every doubt is decided against the
caller: an unknown level, a value of another type, a list with one member that is not allowed.

Spec: trust 1, 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum
from typing import Any, Final, Self

from ibidem.objects.codec import encode
from ibidem.objects.config import TRUST_SETTING, Config
from ibidem.objects.errors import CorruptError, ErrorKind, InvalidInputError
from ibidem.objects.record import record
from ibidem.retrieve.identity_cache import IdentityCache
from ibidem.retrieve.query import checks

SCOPES_MAX = 1000
NOBODY: Final = 5
"""Used in place of a level for a node that is denied to every level."""


class Level(IntEnum):
    """How sensitive a node is."""

    PUBLIC = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    HYPER = 4


class Reveal(StrEnum):
    """What an answer reveals about withheld neighbours."""

    NONE = "none"
    STUB = "stub"


class Decision(StrEnum):
    """How much of a node a caller may know."""

    FULL = "full"
    REDACTED = "redacted"
    """That the node exists, with `Reveal.STUB`; otherwise as `DENIED`."""
    DENIED = "denied"


ALLOW, DENY = "allow", "deny"
STUBS = "stubs"


@record
class TrustPolicy:
    """How levels and scopes are read from nodes; part of a root's configuration."""

    level: str = "level"
    """The property with the level: an integer from 0 to 4."""
    scope: str = "scope"
    """The property with the scope, a text; empty, or no property, is no scope."""
    default_level: int = Level.LOW
    """The level of nodes without the property."""
    anonymous_level: int = Level.PUBLIC
    """The highest level that a caller sees who is not authenticated."""
    unscoped: str = "allow"
    """Whether nodes without a scope are visible to all within the level, `allow`, or to none,
    `deny`."""
    stubs: str = ALLOW
    """Whether a viewer who asks for stubs learns what type of thing is hidden from him, `allow`, or
    nothing, `deny`."""

    def __post_init__(self) -> None:
        checks.name("trust.level", self.level)
        checks.name("trust.scope", self.scope)
        if self.level == self.scope:
            raise InvalidInputError(f"trust.scope: got {self.scope!r}, expected another property")
        for name in _LEVELS:
            object.__setattr__(self, name, int(level_of(f"trust.{name}", getattr(self, name))))
        for name in ("unscoped", STUBS):
            if getattr(self, name) not in (ALLOW, DENY):
                raise InvalidInputError(
                    f"trust.{name}: got {checks.show(getattr(self, name))}, "
                    "expected 'allow' or 'deny'"
                )

    def form(self) -> dict[str, Any]:
        """Returns the map in `Root.config`, without `stubs` where they are allowed."""
        names = _POLICY_FIELDS if self.stubs == ALLOW else (*_POLICY_FIELDS, STUBS)
        return {name: getattr(self, name) for name in names}

    @property
    def names(self) -> tuple[str, str]:
        """The names of the properties with level and scope."""
        return self.level, self.scope

    @classmethod
    def from_form(cls, form: object) -> Self:
        """Returns the policy of a map; raises `CorruptError` for another form."""
        if not isinstance(form, Mapping) or set(form) - {STUBS} != set(_POLICY_FIELDS):
            raise CorruptError(f"config.trust: got {form!r:.80}, expected {_POLICY_FIELDS}")
        try:
            policy = cls(**form)
        except InvalidInputError as error:
            raise CorruptError(f"config.{error}") from error
        if policy.form() != form or any(type(form[name]) is not int for name in _LEVELS):
            raise CorruptError(f"config.trust: got {form!r:.200}, expected levels as integers")
        return policy

    def check_labels(self, props: Mapping[str, Any]) -> None:
        """Rejects properties whose level or scope no caller could be allowed to see.

        Raises:
            InvalidInputError: naming the property.
        """
        if self.level in props:
            value = props[self.level]
            if type(value) is not int or not 0 <= value <= Level.HYPER:
                raise InvalidInputError(
                    f"props.{self.level}: got {checks.show(value)}, "
                    f"expected a level from 0 to {int(Level.HYPER)}",
                    hint=", ".join(f"{one.value} is {one.name.lower()}" for one in Level),
                )
        if not isinstance(props.get(self.scope, ""), str):
            raise InvalidInputError(
                f"props.{self.scope}: got {checks.show(props[self.scope])}, expected text"
            )


_LEVELS = ("default_level", "anonymous_level")
_POLICY_FIELDS = ("level", "scope", *_LEVELS, "unscoped")
_MISSING: Final[Any] = object()
ALL_SCOPES: Final = "*"
"""Every scope, given in place of a list."""


@record
class Viewer:
    """What a caller may see. Level and scopes must be given; there is no default."""

    level: int
    """From 0 to 4."""
    scopes: tuple[str, ...] | str
    """The visible scopes; an empty tuple shows only nodes without a scope, `ALL_SCOPES` all."""
    authenticated: bool
    reveal: str
    everything: bool
    """Whether the viewer sees everything, regardless of level and scopes; `ALL` has it set."""

    def __init__(
        self,
        level: Level | int | str = _MISSING,
        scopes: Iterable[str] = _MISSING,
        *,
        authenticated: bool = True,
        reveal: Reveal | str = Reveal.NONE,
        everything: bool = False,
    ) -> None:
        """Checks the fields.

        Args:
            level: a number from 0 to 4, or the name of a level.
            scopes: some scopes, or `ALL_SCOPES`.
            reveal: what an answer reveals about withheld neighbours.

        Raises:
            InvalidInputError: a field is wrong, or level or scopes are missing.
        """
        put = object.__setattr__
        put(self, "authenticated", checks.flag("viewer.authenticated", authenticated))
        put(self, "everything", checks.flag("viewer.everything", everything))
        if reveal not in tuple(Reveal):
            raise InvalidInputError(
                f"viewer.reveal: got {checks.show(reveal)}, expected 'none' or 'stub'"
            )
        put(self, "reveal", str(reveal))
        if level is _MISSING or scopes is _MISSING:
            name = "level" if level is _MISSING else "scopes"
            raise InvalidInputError(
                f"viewer.{name}: got nothing, expected what the caller may see",
                hint="pass scopes=() for no scope, ALL_SCOPES for every one",
            )
        put(self, "level", int(level_of("viewer.level", level)))
        put(self, "scopes", _scopes(scopes))

    def form(self) -> dict[str, Any]:
        """Returns the canonical form, part of the query."""
        scopes = self.scopes
        return {
            "level": self.level,
            "scopes": scopes if isinstance(scopes, str) else list(scopes),
            "authenticated": self.authenticated,
            "reveal": self.reveal,
            "everything": self.everything,
        }

    @classmethod
    def from_form(cls, form: Mapping[str, Any]) -> Self:
        """Returns the viewer of a canonical form."""
        return cls(**form)

    def cap(self, policy: TrustPolicy) -> int:
        """Returns the highest level that the caller sees."""
        return self.level if self.authenticated else min(self.level, policy.anonymous_level)

    def has_scope(self, scope: str, policy: TrustPolicy) -> bool:
        """Returns whether the caller may see nodes of a scope; levels are not checked."""
        if scope == "":
            return policy.unscoped == "allow"
        return self.scopes == ALL_SCOPES or scope in self.scopes


def policy_of(config: Config) -> TrustPolicy | None:
    """Returns the trust policy of a root's configuration, None if it has none."""
    return _POLICY(config)


def _policy(config: Config) -> TrustPolicy | None:
    if TRUST_SETTING not in config.extra:
        return None
    return TrustPolicy.from_form(config.extra[TRUST_SETTING])


_POLICY = IdentityCache(_policy)


def checked_viewer(policy: TrustPolicy | None, viewer: Viewer | None) -> Viewer | None:
    """Returns the viewer that applies, None if the root has no policy.

    Raises:
        InvalidInputError: kind `viewer-required`: there is a policy and no viewer; or there is a
            viewer and no policy, so that it would protect nothing.
    """
    if viewer is not None and type(viewer) is not Viewer:
        raise InvalidInputError(f"viewer: got {checks.show(viewer)}, expected a Viewer")
    if policy is None:
        if viewer is None or viewer.everything:
            return None
        raise InvalidInputError(
            "viewer: got one, but this root has no trust policy that it could be held to",
            hint="set one in a transaction with tx.set_trust_policy, or `repo trust enable`",
        )
    if viewer is None:
        raise InvalidInputError(
            "viewer: got none, expected a Viewer: this root has a trust policy",
            kind=ErrorKind.VIEWER_REQUIRED,
            hint="say who asks: viewer=Viewer(level=…, scopes=…), or --viewer LEVEL:SCOPES",
        )
    return viewer


def decide(policy: TrustPolicy, viewer: Viewer, props: Mapping[str, Any]) -> Decision:
    """Returns what a caller may know of a node with some properties.

    Spec: trust 2.
    """
    if viewer.everything:
        return Decision.FULL
    level = strictness(policy, props)
    scopes = members(props, policy.scope, "")
    is_named = all(type(scope) is str and viewer.has_scope(scope, policy) for scope in scopes)
    if not scopes or not is_named or level == NOBODY or level > viewer.cap(policy) + 1:
        return Decision.DENIED
    return Decision.FULL if level <= viewer.cap(policy) else Decision.REDACTED


def strictness(policy: TrustPolicy, props: Mapping[str, Any]) -> int:
    """Returns the level that a caller needs for a node with some properties: 0 to 4, or NOBODY if
    no level is enough. Scopes are not considered.

    Spec: trust 2.
    """
    levels = members(props, policy.level, policy.default_level)
    if levels and all(type(one) is int and 0 <= one <= Level.HYPER for one in levels):
        return int(max(levels))
    return NOBODY


def document_labels(
    names: Iterable[str], part: Mapping[str, Any], document: Mapping[str, Any]
) -> frozenset[str]:
    """Returns the names of those properties that a part has from its document: both have the same
    value, or none.

    Args:
        names: the properties, such as those with level and scope.
        part: the properties of the part.
        document: those of its document.

    Spec: trust 1.
    """
    return frozenset(
        name
        for name in names
        if encode([part[name]] if name in part else None)
        == encode([document[name]] if name in document else None)
    )


def with_labels(
    part: Mapping[str, Any], names: Iterable[str], document: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the properties of a part with those labels of its document."""
    own = {name: value for name, value in part.items() if name not in names}
    return own | {name: document[name] for name in names if name in document}


def level_of(field: str, value: object) -> Level:
    """Returns a level given as a number or by its name."""
    if isinstance(value, str) and value.upper() in Level.__members__:
        return Level[value.upper()]
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= Level.HYPER:
        return Level(value)
    names = ", ".join(one.name.lower() for one in Level)
    raise InvalidInputError(
        f"{field}: got {checks.show(value)}, expected 0 to {int(Level.HYPER)}, or one of {names}"
    )


def members(props: Mapping[str, Any], name: str, default: Any) -> list[Any]:
    """Returns the scalar values of a property as an index has them; none if it has only maps."""
    if name not in props:
        return [default]
    value = props[name]
    members = list(value) if isinstance(value, (list, tuple)) else [value]
    return [one for one in members if not isinstance(one, (list, tuple, Mapping))]


def _scopes(scopes: object) -> tuple[str, ...] | str:
    if isinstance(scopes, str):
        if scopes == ALL_SCOPES:
            return ALL_SCOPES
        raise InvalidInputError(
            f"viewer.scopes: got {checks.show(scopes)}, expected a list of scopes, or ALL_SCOPES"
        )
    if not isinstance(scopes, Iterable):
        raise InvalidInputError(f"viewer.scopes: got {checks.show(scopes)}, expected a list")
    found = sorted({checks.name("viewer.scopes", one) for one in scopes})
    if len(found) > SCOPES_MAX:
        raise InvalidInputError(
            f"viewer.scopes: got {len(found)}, expected at most {SCOPES_MAX}",
            kind=ErrorKind.LIMIT_EXCEEDED,
        )
    return tuple(found)


ALL = Viewer(level=Level.HYPER, scopes=ALL_SCOPES, everything=True)
"""Sees everything: for the owner of the repository."""
