"""Errors name the flag that was typed, whatever the library calls its option."""

from __future__ import annotations

import pytest

from ibidem.retrieve.query.options import OPTIONS

from .conftest import Run

GRAPH = ("retrieve", "retries", "--graph", "ppr")
OTHER_NAMES: dict[str, tuple[tuple[str, ...], str]] = {
    "queries": (("retrieve", "retries", "--also", ""), "--also: got ''"),
    "graph.mode": (("retrieve", "retries", "--graph", "far"), "'--graph'"),
    "graph.depth": ((*GRAPH, "--graph-depth", "2"), "--graph-depth: got an unknown option"),
    "graph.seeds": ((*GRAPH, "--graph-seeds", "0"), "--graph-seeds: got 0"),
    "graph.direction": ((*GRAPH, "--direction", "up"), "'--direction'"),
    "graph.etypes": ((*GRAPH, "--etype", ""), "--etype: got ''"),
    "weights": (("retrieve", "retries", "--weight", "lexical=-1"), "--weight lexical: got -1.0"),
    "mmr.lambda": (("retrieve", "retries", "--mmr", "7"), "--mmr: got 7.0"),
    "token_budget": (("retrieve", "retries", "--budget", "-1"), "--budget: got -1"),
    "per_hit_neighbors": (("packs", "retries", "--around", "1001"), "--around: got 1001"),
    "etypes": (("packs", "retries", "--walk-etype", "a"), "--walk-etype: got it with"),
    "hops": (("packs", "retries", "--walk-hops", "2"), "--walk-hops: got it with"),
    "fanout": (("packs", "retries", "--walk-fanout", "2"), "--walk-fanout: got it with"),
    "direction": (("packs", "retries", "--walk-direction", "outgoing"), "--walk-direction: got it"),
}
"""By option whose flag has another name, a command that is refused, and what is said."""
OWN = {
    "an underscore": (("packs", "x", "--nodes-max", "-1"), "--nodes-max: got -1"),
    "of no table": (("query", "--overview", "--budget", "-1"), "--budget: got -1"),
    "of a command": (("memory", "prune", "--below", "7"), "--below: got 7.0"),
    "a keyword": (("export", "x.json", "--format", "foo"), "--format: got 'foo'"),
    "a viewer": (("export", "x.ndjson", "--format", "ndjson", "--for", "foo"), "--for: got 'foo'"),
    "a property": (("node", "add", "N", "--prop", 'a={"b": 1e400}'), "--prop a.b: "),
    "a time": (("retrieve", "x", "--created-after", "soon"), "--created-after: got 'soon'"),
    "a time ago": (("query", "--as-of", "2 years ago"), "--as-of: got '2 years ago'"),
    "an end": (("trust", "token", "rotate", "n", "--expires", "soon"), "--expires: got 'soon'"),
    "a sentence": (("node", "add", "N", "--context", "\ud800"), "--context: "),
}


def test_the_table_is_of_all_options_whose_flag_has_another_name():
    assert OTHER_NAMES.keys() == {
        one.name
        for one in OPTIONS.values()
        if one.flag is not None and one.flag.parameter != one.name
    }


@pytest.mark.parametrize("which", [*OTHER_NAMES, *OWN])
def test_an_error_names_the_flag_that_was_typed(notes: Run, which: str):
    arguments, said = {**OTHER_NAMES, **OWN}[which]
    error = notes(*arguments, code=2).stderr.splitlines()
    [line] = [one for one in error if one.startswith("error: ")]
    assert said in line
    assert f"{which}: " not in line.replace(said, "")


def test_an_error_about_what_was_not_typed_names_the_option(notes: Run):
    assert "error: text: got" in notes("retrieve", "", code=2).stderr
    refused = notes("config", "set", "token_budget", "many", code=2).stderr
    assert "error: token_budget: got" in refused
