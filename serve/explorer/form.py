"""Forms of pages: plain ones, whose fields become the query of the next page."""

from __future__ import annotations

import htpy as h


def form(action: str, name: str, *fields: h.Node, submit: str) -> h.Element:
    """Returns a form that asks for a page.

    Args:
        action: the path of the page.
        name: what the form is for, for screen readers.
        submit: the text of its button.
    """
    return h.form(action=action, method="get", aria_label=name)[
        fields, h.button(type="submit")[submit]
    ]


def field(label: str, name: str, value: str = "", *, wide: bool = False, **more: str) -> h.Element:
    """Returns a labelled field for one line of text."""
    kind = more.pop("type", "text")
    return h.label(class_="wide" if wide else None)[
        label, h.input(type=kind, name=name, value=value, **more)
    ]


def given(name: str, value: str) -> h.Node:
    """Returns a field that is not shown; nothing for an empty value."""
    return h.input(type="hidden", name=name, value=value) if value else None
