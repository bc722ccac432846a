"""Keeps pytest from importing the root folders a second time, under names that are not ours."""

from importlib.util import find_spec

from hypothesis import HealthCheck, settings

# How long an example takes, or its making, depends on what else the machine does. What is tried
# depends on the test alone, so that a change is not judged by luck; `--hypothesis-profile explore`
# tries what nobody has tried before.
settings.register_profile(
    "explore", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=False
)
settings.register_profile("house", settings.get_profile("explore"), derandomize=True, database=None)
settings.load_profile("house")
pytest_plugins = ["pytester"]
collect_ignore = [
    *("cli", "embed", "index", "ingest", "memory", "objects", "repo", "retrieve", "serve", "store"),
    *("testing", "bench", "examples"),
]
if find_spec("cbrrr") is None:
    # An optional engine; without it there is nothing to import the adapter for.
    collect_ignore.append("src/ibidem/objects/engine_cbrrr.py")
