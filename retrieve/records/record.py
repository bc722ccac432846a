"""Records: nodes of six types, with the fields needed to trust, age and revise them.

A record has a sensitivity level, a scope, a confidence, a rate of decay and a provenance. Its
current salience is not stored: it follows from the initial `salience` and the notes. The scope must
be given, even if it is empty.

Spec: memory 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from ibidem.index.analysis import UNICODE, analyse
from ibidem.objects.block import EMPTY, empty
from ibidem.objects.config import Config
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.objects.record import record
from ibidem.retrieve.access.policy import Level, TrustPolicy, level_of, policy_of
from ibidem.retrieve.query import checks


class RecordType(StrEnum):
    """The type of a record and of its node."""

    WORKING = "Working"
    ENTITY = "Entity"
    SEMANTIC = "Semantic"
    COMPETENCE = "Competence"
    PLAN_GRAPH = "PlanGraph"
    EPISODIC = "Episodic"


LAYERS = tuple(RecordType)
"""The canonical order of layers."""


class Status(StrEnum):
    """Whether a record is still valid."""

    ACTIVE = "active"
    CONTESTED = "contested"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    PROPOSED = "proposed"


STANDING = (Status.ACTIVE, Status.CONTESTED)
"""The statuses that are retrieved by default."""


class Deletion(StrEnum):
    """Who may remove a record."""

    AUTO_PRUNE = "auto_prune"
    MANUAL_ONLY = "manual_only"
    NEVER = "never"


HOUR = 3600
HALF_LIFE_SECONDS: Mapping[RecordType, int] = MappingProxyType(
    {
        RecordType.WORKING: 24 * HOUR,
        RecordType.ENTITY: 30 * 24 * HOUR,
        RecordType.SEMANTIC: 30 * 24 * HOUR,
        RecordType.COMPETENCE: 30 * 24 * HOUR,
        RecordType.PLAN_GRAPH: 30 * 24 * HOUR,
        RecordType.EPISODIC: HOUR,
    }
)
CONFIDENCE_DEFAULT = 0.5
GAIN_DEFAULT = 0.1
NAMESPACES = ("user", "agent", "session")
"""The fields that say whose a record is."""
SOURCES = ("event", "artifact", "tool_call", "observation", "outcome", "record")
_NEUTRAL_POLICY = TrustPolicy()
"""The default names of the properties of records, used without a policy."""
_TAGS_MAX, _TAG_CHARS_MAX = 100, 256


@record
class Record:
    """One record, checked; `fields` converts it to a node, `of` reads it from one."""

    type: RecordType
    text: str
    scope: str
    """Given by the author of the record; empty for none."""
    level: int = Level.LOW
    payload: Mapping[str, Any] = field(default_factory=empty)
    """The fields of its type; a `kind` in it must equal the type."""
    confidence: float = CONFIDENCE_DEFAULT
    salience: float = 1.0
    """The initial salience, from 0 to 1."""
    half_life_seconds: int | None = None
    """The time in which salience halves; if None, a default for the type."""
    floor: float = 0.0
    """The salience below which it does not fade."""
    max_age_seconds: int | None = None
    """The age from which salience is 0."""
    gain: float = GAIN_DEFAULT
    """The amount of a reinforcement that does not give one."""
    pinned: bool = False
    """Whether it does not fade."""
    deletion: Deletion = Deletion.AUTO_PRUNE
    status: Status = Status.ACTIVE
    valid_from: int | None = None
    valid_to: int | None = None
    tags: Sequence[str] = ()
    provenance: Sequence[Mapping[str, Any]] = ()
    """Its origins: `{kind, ref}` each, and other known facts."""
    user: str = ""
    """Of whom it is, empty for nobody in particular; as are `agent` and `session`."""
    agent: str = ""
    session: str = ""
    time: int = 0
    """The time of its creation, microseconds since 1970 UTC; 0 if unknown."""
    id: NodeId | None = None
    """The id of its node, if it was read from one."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "type", _one_of(RecordType, "type", self.type))
        put(self, "deletion", _one_of(Deletion, "deletion", self.deletion))
        put(self, "status", _one_of(Status, "status", self.status))
        checks.name("text", self.text)
        if not isinstance(self.scope, str):
            raise InvalidInputError(
                f"scope: got {checks.show(self.scope)}, expected text, empty for no scope"
            )
        for name in NAMESPACES:
            if not isinstance(getattr(self, name), str):
                raise InvalidInputError(
                    f"{name}: got {checks.show(getattr(self, name))}, expected text"
                )
        put(self, "level", int(level_of("level", self.level)))
        for name in ("confidence", "salience", "floor", "gain"):
            put(self, name, checks.number(name, getattr(self, name), high=1.0))
        if self.half_life_seconds is None:
            put(self, "half_life_seconds", HALF_LIFE_SECONDS[self.type])
        checks.count("half_life_seconds", self.half_life_seconds, low=1, high=1 << 40)
        if self.max_age_seconds is not None:
            checks.count("max_age_seconds", self.max_age_seconds, low=1, high=1 << 40)
        checks.flag("pinned", self.pinned)
        for name in ("valid_from", "valid_to"):
            if getattr(self, name) is not None:
                checks.count(name, getattr(self, name), low=-(2**63), high=2**63 - 1)
        if None not in (self.valid_from, self.valid_to) and self.valid_to <= self.valid_from:  # type: ignore[operator]
            raise InvalidInputError(
                f"valid_to: got {self.valid_to}, expected a time after {self.valid_from}"
            )
        put(self, "tags", _tags(self.tags))
        put(self, "provenance", _sources(self.provenance))
        put(self, "payload", _payload(self.type, self.payload))
        checks.count("time", self.time, low=-(2**63), high=2**63 - 1)

    @property
    def half_life(self) -> int:
        """The half-life in microseconds."""
        assert self.half_life_seconds is not None, "BUG: a record has a half-life"
        return self.half_life_seconds * 1_000_000

    def props(self, policy: TrustPolicy) -> dict[str, Any]:
        """Returns the properties of its node; level and scope under the policy's names."""
        fields: dict[str, Any] = {
            policy.level: self.level,
            policy.scope: self.scope,
            "payload": dict(self.payload),
            "confidence": self.confidence,
            "salience": self.salience,
            "half_life_seconds": self.half_life_seconds,
            "floor": self.floor,
            "gain": self.gain,
            "pinned": self.pinned,
            "deletion": str(self.deletion),
            "status": str(self.status),
            "time": self.time,
            "tags": list(self.tags),
            "provenance": [dict(one) for one in self.provenance],
            "names": names_of(self.type, self.payload),
            "aliases": aliases_of(self.type, self.payload),
            "mentions": mentions_of(self.payload),
        }
        for name in ("max_age_seconds", "valid_from", "valid_to"):
            if getattr(self, name) is not None:
                fields[name] = getattr(self, name)
        fields |= {name: getattr(self, name) for name in NAMESPACES if getattr(self, name)}
        return {
            name: value
            for name, value in fields.items()
            if value not in ([], {}) and (name != "time" or value)
        }

    @classmethod
    def of(cls, node: Node, policy: TrustPolicy) -> Record:
        """Returns the record in a node; properties that the node does not have get their defaults.

        The name of an entity without one is its text, so a plain node of that type is a record.

        Raises:
            InvalidInputError: the node is not a record; the message names the node.
        """
        props = node.props
        if node.ntype not in tuple(RecordType):
            raise InvalidInputError(f"node {node.id}: got {node.ntype!r:.40}, expected a record")
        known = {name: props[name] for name in _READ if name in props}
        payload = known.get("payload", EMPTY)
        if node.ntype == RecordType.ENTITY and isinstance(payload, Mapping):
            known["payload"] = {"canonical_name": node.summary, **payload}
        try:
            return cls(
                type=RecordType(node.ntype),
                text=node.summary or "",
                scope=props.get(policy.scope, ""),
                level=props.get(policy.level, policy.default_level),
                id=node.id,
                **known,
            )
        except InvalidInputError as error:
            raise InvalidInputError(f"node {node.id} is no record: {error}") from error


_READ = (
    "payload",
    "confidence",
    "salience",
    "half_life_seconds",
    "floor",
    "max_age_seconds",
    "gain",
    "pinned",
    "deletion",
    "status",
    "valid_from",
    "valid_to",
    "tags",
    "provenance",
    "time",
    *NAMESPACES,
)


def record_policy(config: Config) -> TrustPolicy:
    """Returns the policy that names the properties of a root's records."""
    return policy_of(config) or _NEUTRAL_POLICY


def term_of(name: str) -> str:
    """Returns a name in its form for look-up: its terms, folded, in order."""
    return " ".join(analyse(name, UNICODE))


def names_of(type_: RecordType, payload: Mapping[str, Any]) -> list[str]:
    """Returns the canonical name of an entity in its form for look-up; none for other types."""
    if type_ is not RecordType.ENTITY:
        return []
    return [term for term in [term_of(payload["canonical_name"])] if term]


def aliases_of(type_: RecordType, payload: Mapping[str, Any]) -> list[str]:
    """Returns the other names of an entity in their form for look-up."""
    if type_ is not RecordType.ENTITY:
        return []
    return sorted({term for name in payload.get("aliases", ()) if (term := term_of(name))})


def mentions_of(payload: Mapping[str, Any]) -> list[str]:
    """Returns the names that a record mentions, in their form for look-up."""
    return sorted({term for name in payload.get("mentions", ()) if (term := term_of(name))})


def _payload(type_: RecordType, payload: object) -> Mapping[str, Any]:
    if not isinstance(payload, Mapping):
        raise InvalidInputError(f"payload: got {checks.show(payload)}, expected a mapping")
    kind = payload.get("kind", str(type_))
    if kind != type_:
        raise InvalidInputError(f"payload.kind: got {checks.show(kind)}, expected {str(type_)!r}")
    if type_ is RecordType.ENTITY:
        checks.name("payload.canonical_name", payload.get("canonical_name"))
    for name in ("aliases", "mentions"):
        if not isinstance(payload.get(name, []), (list, tuple)):
            raise InvalidInputError(f"payload.{name}: got another thing, expected a list of names")
        for one in payload.get(name, ()):
            checks.name(f"payload.{name}", one)
    for name in ("successes", "failures"):
        if name in payload:
            checks.count(f"payload.{name}", payload[name])
    return payload


def _sources(sources: object) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(sources, (list, tuple)):
        raise InvalidInputError(f"provenance: got {checks.show(sources)}, expected a list of maps")
    return tuple(map(_source, sources))


def _source(source: object) -> Mapping[str, Any]:
    if not isinstance(source, Mapping) or source.get("kind") not in SOURCES:
        raise InvalidInputError(
            f"provenance: got {checks.show(source)}, expected a map with a kind of "
            f"{', '.join(SOURCES)} and a ref"
        )
    checks.name("provenance.ref", source.get("ref"))
    return source


def _tags(tags: object) -> tuple[str, ...]:
    if isinstance(tags, str) or not isinstance(tags, Sequence) or len(tags) > _TAGS_MAX:
        raise InvalidInputError(
            f"tags: got {checks.show(tags)}, expected a list of at most {_TAGS_MAX}"
        )
    for tag in tags:
        if len(checks.name("tags", tag)) > _TAG_CHARS_MAX:
            raise InvalidInputError(
                f"tags: got {len(tag)} characters, expected at most {_TAG_CHARS_MAX}"
            )
    return tuple(tags)


def _one_of(kind: Any, field_name: str, value: object) -> Any:
    if value in tuple(kind) and isinstance(value, str):
        return kind(value)
    raise InvalidInputError(
        f"{field_name}: got {checks.show(value)}, expected one of {', '.join(kind)}"
    )
