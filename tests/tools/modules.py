"""The modules of the product, for tests that import all of them."""

import pkgutil
from collections.abc import Iterator

import ibidem

FRAMEWORKS = (
    *("haystack", "langchain", "langgraph", "llamaindex"),
    *("recording.langchain", "recording.spans"),
)
"""Adapters that are classes of a framework, which need not be installed."""


def modules() -> Iterator[str]:
    """Yields the names of all modules that need no framework, but not that of the program."""
    absent = tuple(f"ibidem.adapters.{name}" for name in FRAMEWORKS)
    for found in pkgutil.walk_packages(ibidem.__path__, "ibidem."):
        if not found.name.startswith(absent) and not found.name.endswith("__main__"):
            yield found.name
