"""A typed view of `Root.config`: the settings on which an answer depends, recorded with the state.

Local settings and the environment only fill in fields of a query and are not part of the config.

Spec: format 5.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Self

from ibidem.objects.block import empty, frozen, require
from ibidem.objects.constants import DIGEST_BYTES, SEMANTICS_VERSION, VECTOR_DIM_MAX
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.record import record
from ibidem.objects.text import TEXT_FIELDS
from ibidem.objects.vector import DTYPE_BYTES

METRICS = ("cosine", "dot", "euclidean")
TRUST_SETTING = "trust"
"""The config key of the trust policy, and the feature that a root with a trust policy requires."""
_KNOWN = frozenset(("semantics", "analyser", "fields", "models", "fusion"))
_MODEL_KNOWN = frozenset(("dim", "metric", "dtype", "digest"))


@record
class Model:
    """Properties that all vectors of one model share."""

    dim: int
    metric: str = "cosine"
    """One of METRICS."""
    dtype: str = "f32"
    """How new vectors are stored: "f32", "f16" or "i8"."""
    digest: bytes | None = None
    """blake3 of the model's files, if known."""
    extra: Mapping[str, Any] = field(default_factory=empty)

    def __post_init__(self) -> None:
        require(
            type(self.dim) is int and 1 <= self.dim <= VECTOR_DIM_MAX,
            "model",
            "dim",
            self.dim,
            f"an integer from 1 to {VECTOR_DIM_MAX}",
        )
        require(self.metric in METRICS, "model", "metric", self.metric, f"one of {METRICS}")
        require(
            type(self.dtype) is str and self.dtype in DTYPE_BYTES,
            "model",
            "dtype",
            self.dtype,
            "'f32', 'f16' or 'i8'",
        )
        valid = self.digest is None or (
            type(self.digest) is bytes and len(self.digest) == DIGEST_BYTES
        )
        require(valid, "model", "digest", self.digest, "32 bytes or nothing")
        object.__setattr__(self, "extra", frozen("model", "extra", self.extra))

    def to_map(self) -> dict[str, Any]:
        """Returns the model as a map for `Root.config`."""
        fields = {**self.extra, "dim": self.dim, "metric": self.metric, "dtype": self.dtype}
        if self.digest is not None:
            fields["digest"] = self.digest
        return fields

    @classmethod
    def from_map(cls, value: object) -> Self:
        """Returns the model in a decoded map; raises `InvalidInputError` naming the field."""
        require(
            isinstance(value, Mapping) and "dim" in value,
            "config",
            "models",
            value,
            "a map with 'dim'",
        )
        fields = dict(value)  # type: ignore[call-overload]
        known = {name: fields.pop(name) for name in _MODEL_KNOWN if name in fields}
        return cls(**known, extra=fields)


def _default_fusion() -> Mapping[str, Any]:
    return {"name": "score_normalised", "weights": {"dense": 0.7}}


@record
class Config:
    """The configuration of one root."""

    semantics: int = SEMANTICS_VERSION
    """Version of the canonical scores."""
    analyser: str = "english-1"
    fields: tuple[str, ...] = TEXT_FIELDS
    """The fields that make up a node's text; see `text.node_text`."""
    models: Mapping[str, Model] = field(default_factory=empty)
    fusion: Mapping[str, Any] = field(default_factory=_default_fusion)
    """How lanes are fused if a query does not specify it."""
    extra: Mapping[str, Any] = field(default_factory=empty)
    """Settings that higher layers read, such as the trust policy and defaults of questions, or that
    this version does not know; they are preserved."""

    def __post_init__(self) -> None:
        require(
            type(self.semantics) is int and self.semantics > 0,
            "config",
            "semantics",
            self.semantics,
            "a version",
        )
        require(
            type(self.analyser) is str and self.analyser,
            "config",
            "analyser",
            self.analyser,
            "a name",
        )
        put = object.__setattr__
        fields = self.fields
        valid = isinstance(fields, (tuple, list)) and all(
            type(name) is str and _is_field(name) for name in fields
        )
        require(valid, "config", "fields", fields, f"names out of {TEXT_FIELDS} or 'props.NAME'")
        put(self, "fields", tuple(fields))
        models = frozen("config", "models", self.models)
        for name, model in models.items():
            require(
                name and type(model) is Model,
                "config",
                "models",
                (name, model),
                "a name and a Model",
            )
        put(self, "models", models)
        put(self, "fusion", frozen("config", "fusion", self.fusion))
        put(self, "extra", frozen("config", "extra", self.extra))

    @classmethod
    def default(cls) -> Self:
        """Returns the configuration of a new repository."""
        return cls()

    def to_map(self) -> dict[str, Any]:
        """Returns the map for `Root.config`."""
        return {
            **self.extra,
            "semantics": self.semantics,
            "analyser": self.analyser,
            "fields": list(self.fields),
            "models": {name: model.to_map() for name, model in self.models.items()},
            "fusion": dict(self.fusion),
        }

    @classmethod
    def from_map(cls, value: Mapping[str, Any]) -> Self:
        """Returns the configuration in `Root.config`; missing fields have their defaults.

        Raises:
            CorruptError: a known field has the wrong form.
        """
        fields = dict(value)
        known = {name: fields.pop(name) for name in _KNOWN if name in fields}
        try:
            models = known.get("models", {})
            require(isinstance(models, Mapping), "config", "models", models, "a map of models")
            known["models"] = {name: Model.from_map(model) for name, model in models.items()}
            return cls(**known, extra=fields)
        except InvalidInputError as error:
            raise CorruptError(str(error)) from error


def _is_field(name: str) -> bool:
    return name in TEXT_FIELDS or name.startswith("props.")
