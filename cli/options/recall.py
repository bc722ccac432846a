"""The options of a question that widen it or let time and opinions count."""

from __future__ import annotations

from typing import Any

import click

OPTIONS = (
    click.option("--expansion", is_flag=True, help="Ask shorter forms of QUERY too."),
    click.option(
        "--recency",
        is_flag=True,
        help="What is old, by its property time, counts less; its age is that at the commit.",
    ),
    click.option("--importance", is_flag=True, help="The property importance, 0 to 1, counts."),
    click.option("--feedback", is_flag=True, help="Votes count, and what was not useful."),
    click.option("--worth", is_flag=True, help="How it went when a node was used counts."),
    click.option("--direct", is_flag=True, help="Say whether one item answers alone."),
)
NAMES = ("expansion", "recency", "importance", "feedback", "worth", "direct")


def taken(given: dict[str, bool]) -> dict[str, Any]:
    """Takes these options out of all that were given and returns those that are set."""
    found = {name: given.pop(name) for name in NAMES}
    return {name: True for name, is_set in found.items() if is_set}
