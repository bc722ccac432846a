"""The language of a document: headings, items and cells are too short to tell theirs.

Problem: the analyser of a text is chosen by its stop words, of which a heading or a row of a table
has none, so that in a repository at home in English "Grüne Gießkannen" would lose English endings.
Idea: all text of a document votes once. If that is not the language of the repository, every part
records it as its home; a quotation with words enough of its own is still what it is. Nothing is
recorded of other documents, and of code.

Spec: format 5.1, analysis 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ibidem.index.analysis import HOME, analyser_of, has_language
from ibidem.ingest.draft import Draft


def with_homes(made: Sequence[Draft], home: str) -> list[Draft]:
    """Returns the drafts of a document, with their home analyser if it is not the repository's.

    Args:
        home: the repository's analyser.
    """
    # Every part of every document that is read is looked at here, so without a call for each.
    texts = (f"{one.header}\n{one.summary}" for one in made if one.props.get("format") != "code")
    own = analyser_of("\n".join(texts), home)
    if own == home:
        return list(made)
    return [
        replace(one, props={**one.props, HOME: own})
        if has_language(one.props, one.summary)
        else one
        for one in made
    ]
