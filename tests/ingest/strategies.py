"""Texts that look like Markdown: lines that mean something, joined in every way."""

from hypothesis import strategies as st

LINES = st.sampled_from(
    [
        "# One",
        "## Two",
        "### Three *with* `code`",
        "###### Six",
        "# One",
        "#",
        "Title\n=====",
        "Title\n---",
        "A paragraph of text.",
        "A paragraph of text.",
        "Second line, no stop",
        "- item",
        "  - inner",
        "* other",
        "1. first",
        "2) second",
        "```python",
        "```",
        "~~~",
        "    indented code",
        "> quote",
        "> > deeper",
        "| a | b |",
        "|---|---|",
        "| 1 | 2 |",
        "<div>",
        "</div>",
        "<!-- comment",
        "-->",
        "---",
        "***",
        "[ref]: http://example.org 'title'",
        "[ref]: <",
        "key: value",
        "!!! note",
        '=== "Tab"',
        "    !!! tip",
        "/// tip | T",
        "///",
        ":::note",
        ":::",
        "\ttab",
        "trailing  ",
        "\\",
        "Übergröße — naive 日本語。文章。",
        "\ufeff",
        "\u2028",
        "\x0c",
        "\x85",
        " " * 300,
        "word " * 900,
        "x" * 4100,
        "é" * 4100,
    ]
)
ENDINGS = st.sampled_from(["\n", "\n", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", " \n", "\n\n\n"])
FREE = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40
)
MARKDOWN = st.lists(st.tuples(LINES | FREE, ENDINGS), max_size=25).map(
    lambda pairs: "".join(line + ending for line, ending in pairs)
)
SOURCES = (
    MARKDOWN | st.builds(lambda body: "---\ntitle: T\ntags: [a, b]\n---\n" + body, MARKDOWN) | FREE
)
