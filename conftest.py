"""Keeps pytest from importing the root folders a second time, under names that are not ours."""

from importlib.util import find_spec

from hypothesis import settings

# How long an example takes depends on what else the machine does.
settings.register_profile("house", deadline=None)
settings.load_profile("house")
pytest_plugins = ["pytester"]
collect_ignore = [
    *("cli", "embed", "index", "ingest", "memory", "objects", "repo", "retrieve", "serve", "store"),
    *("testing", "bench", "examples"),
]
if find_spec("cbrrr") is None:
    # An optional engine; without it there is nothing to import the adapter for.
    collect_ignore.append("src/ibidem/objects/engine_cbrrr.py")
