"""The server that the conformance suite of the protocol is run against.

It is that of `repo mcp --http`, with what the suite needs: everybody is let in without a token,
because the suite cannot send one, and the tools, prompts and resources that the suite calls by name
are rows of the same tables. Prints its address.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibidem
from ibidem.adapters.mcp import prompts, resources, tools
from ibidem.adapters.mcp.access import Access, Reply
from ibidem.adapters.mcp.http import PATH
from ibidem.cli.mcp import http_listener
from ibidem.serve.guard import Guard

NOTHING = {"type": "object", "properties": {}}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}


def repository() -> ibidem.Repository:
    found = ibidem.init("memory:")
    with found.transaction(author="ada", message="notes") as tx:
        ibidem.ingest_text(tx, "# Mail\n\nThe parcel arrives on Monday.\n", path="mail.md")
    return found


def said(_: Access, **__: Any) -> Reply:
    return Reply("This is a simple text response for testing.")


def failing(_: Access) -> Reply:
    raise ibidem.InvalidInputError("This tool intentionally returns an error for testing")


def add_what_the_suite_calls() -> None:
    for name, call, schema in (
        ("test_simple_text", said, NOTHING),
        ("test_error_handling", failing, NOTHING),
        ("json_schema_2020_12_tool", said, SCHEMA),
    ):
        tools.TOOLS[name] = tools.Tool(name, name, "Of the suite", call, schema, NOTHING)
    for name, arguments in (
        ("test_simple_prompt", {}),
        ("test_prompt_with_arguments", {"arg1": "a word", "arg2": "a word"}),
    ):
        prompts.PROMPTS[name] = prompts.Prompt(
            name, name, "Of the suite", arguments, frozenset(), prompted, "retrieve"
        )
    own = resources.read_resource

    def read(access: Access, uri: str) -> tuple[str, str]:
        is_of_suite = uri.startswith("test://")
        return (resources.TEXT, f"The content of {uri}") if is_of_suite else own(access, uri)

    resources.read_resource = read


def prompted(_: Access, given: Mapping[str, str]) -> str:
    return f"A prompt with {dict(given)}"


def main() -> None:
    add_what_the_suite_calls()
    access = Access(repository(), author="ada")
    Guard.check = lambda self, headers: (self.check_host(headers), access)[1]
    with http_listener(lambda _: access, 0) as server:
        print(f"{server.url}{PATH}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
