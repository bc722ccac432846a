"""The defaults of questions that a root's configuration gives: `config.limit`, `config.model` and
the like, one field for each option of `options.SETTINGS`.

`thread_window` and the like are about conversations: no question has an option for them.

An option that a question gives wins; then comes the configuration of the root that is asked; then
the default of the table. The resolved query contains the result, so a receipt names it. `fusion`,
`rrf_k` and `weights` are parts of one field, `config.fusion`.

Spec: format 5.6, retrieval 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ibidem.objects.config import Config
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.retrieve.identity_cache import IdentityCache
from ibidem.retrieve.query import option_checks
from ibidem.retrieve.query.fusion import RRF_K, configured_fusion, resolve_fusion
from ibidem.retrieve.query.options import OF_CONVERSATIONS, SETTINGS

FUSION_SETTINGS = ("fusion", "rrf_k", "weights")
FUSION_FIELD = "fusion"
"""The field of the configuration with the settings in FUSION_SETTINGS."""
_OF_QUESTIONS = tuple(
    name for name in SETTINGS if name not in FUSION_SETTINGS and name not in OF_CONVERSATIONS
)


def configured(config: Config) -> Mapping[str, Any]:
    """Returns the defaults that a configuration gives, by option, without those of fusion.

    Raises:
        CorruptError: one is of the wrong form; the message begins with `config` and its name.
    """
    return _CONFIGURED(config)


def of_conversations(config: Config) -> Mapping[str, Any]:
    """Returns what a configuration says of conversations, by name.

    Raises:
        CorruptError: as `configured`.
    """
    return _CONVERSATIONS(config)


def changed_fields(config: Config, given: Mapping[str, object]) -> dict[str, Any]:
    """Returns the fields of a configuration that settings change; None removes a field.

    Args:
        config: the configuration that is changed.
        given: values by name; None restores the default.

    Raises:
        InvalidInputError: an unknown name, or a value of the wrong form.
    """
    for name in given:
        if name not in SETTINGS:
            raise InvalidInputError(
                f"{name}: got an unknown setting, expected one of {', '.join(SETTINGS)}"
            )
    found: dict[str, Any] = {
        name: None if value is None else option_checks.present(name, value)
        for name, value in given.items()
        if name not in FUSION_SETTINGS
    }
    requested = {name: given[name] for name in FUSION_SETTINGS if name in given}
    if requested:
        found[FUSION_FIELD] = _fusion_field(config, requested)
    return found


def shown(config: Config) -> dict[str, Any]:
    """Returns the settings that a configuration gives, by name, those of fusion too."""
    found = {**configured(config), **of_conversations(config)}
    fusion = configured_fusion(config)
    if fusion != configured_fusion(Config.default()):
        found["fusion"] = fusion.name
        if fusion.k != RRF_K:
            found["rrf_k"] = fusion.k
        if fusion.weights:
            found["weights"] = dict(fusion.weights)
    return {name: found[name] for name in SETTINGS if name in found}


def _fusion_field(config: Config, requested: Mapping[str, Any]) -> dict[str, Any] | None:
    if "fusion" in requested and requested["fusion"] is None:
        if set(requested) > {"fusion"} and any(requested[name] is not None for name in requested):
            raise InvalidInputError("fusion: got None with parts of it, expected it alone")
        return None
    weights = (
        {} if "weights" in requested and requested["weights"] is None else requested.get("weights")
    )
    k = requested.get("rrf_k")
    fusion = resolve_fusion(config, requested.get("fusion"), k, weights)
    form = fusion.form()
    if fusion.k == RRF_K or ("rrf_k" in requested and k is None):
        del form["k"]
    return form


def _read(config: Config, names: Iterable[str]) -> Mapping[str, Any]:
    try:
        return {
            name: option_checks.present(name, config.extra[name])
            for name in names
            if name in config.extra
        }
    except InvalidInputError as error:
        raise CorruptError(f"config.{error}") from error


_CONFIGURED: IdentityCache[Config, Mapping[str, Any]] = IdentityCache(
    lambda config: _read(config, _OF_QUESTIONS)
)
_CONVERSATIONS: IdentityCache[Config, Mapping[str, Any]] = IdentityCache(
    lambda config: _read(config, OF_CONVERSATIONS)
)
