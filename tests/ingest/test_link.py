"""Explicit links become `links_to` edges from the passage that holds them."""

import itertools
import json

import pytest

import ibidem
from ibidem import ingest_text
from ibidem.ingest import link, link_edges
from ibidem.ingest.document import read_document
from ibidem.ingest.draft import document_id
from ibidem.ingest.ingest import ingest
from ibidem.ingest.link import LINKS_MAX, document_links, links_of
from ibidem.ingest.link_edges import SCANNED_MAX
from ibidem.ingest.prune import remove_document
from ibidem.ingest.report import IngestReport
from ibidem.objects.config import Config
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.repository import Repository
from ibidem.store.memory import MemoryStore
from ibidem.store.testing import RecordingStore

MARKDOWN, RST = "text/markdown", "text/x-rst"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see [the guide](guide.md#start).", ["a/guide.md"]),
        ("[x](../b.md?y=1 'title') and [y](<c d.md>)", ["b.md", "a/c d.md"]),
        ("[x](/top.md), [y](c%20d.md)", ["top.md", "a/c d.md"]),
        ("[x](sub/)", ["a/sub/README.md", "a/sub/index.md"]),
        ("[x]: b.md\n", []),
        ('<a class="x" href="b.html">b</a>', ["a/b.html"]),
        ("[[Page One|shown]] [[b.txt]]", ["a/Page One.md", "Page One.md", "a/b.txt", "b.txt"]),
        ("[[_TOC_]] [[TOC]]", []),
        ("run `src/main.py`, not `main`", ["a/src/main.py", "src/main.py"]),
        ("![image](b.png) [x](https://e.org/b.md) [y](#here) [z](mailto:a@b.c)", []),
        ("[x](../../b.md) [y](me.md) `[z](b.md)` [^1]: b.md", []),
        ("[![badge](b.svg)](c.md)", ["a/c.md"]),
        ("[x](%ff.md) [y](%00.md)", []),
    ],
)
def test_markdown(text, expected):
    assert list(links_of("a/me.md", MARKDOWN, text, "paragraph")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`the guide <guide.rst>`_", ["a/guide.rst"]),
        ("`the guide <https://e.org>`_", []),
        (".. _guide: ../guide.rst and `the guide <guide_>`_", []),
        (":doc:`intro`", ["a/intro.rst", "a/intro.md"]),
        (":doc:`Start </intro>`", ["intro.rst", "intro.md"]),
        (".. include:: part.txt", ["a/part.txt"]),
        ("see ``x/y.py``", ["a/x/y.py", "x/y.py"]),
        (
            ".. toctree::\n  :glob:\n\n  one\n  Two <sub/two.rst>\n  self\n  a/*\n\n  /three\n\nx",
            ["a/one.rst", "a/one.md", "a/sub/two.rst", "a/sub/two.md", "three.rst", "three.md"],
        ),
        (".. note::\n\n   .. toctree:: x\n\n      one\n   two", ["a/one.rst", "a/one.md"]),
        (".. toctree::\n\n   Site <https://e.org>\n", []),
    ],
)
def test_restructuredtext(text, expected):
    assert list(links_of("a/me.rst", RST, text, "paragraph")) == expected


def test_code_and_plain_text_have_no_links():
    assert not list(links_of("a.md", MARKDOWN, "[x](b.md)", "code"))
    assert not list(links_of("a.txt", "text/plain", "[x](b.md)", "paragraph"))


USES = {
    "a.md": """# About [guide]

See [the guide][Guide], then [guide][] again, or [x](y.md).

[guide] and [a site], ![image][guide], `[guide]`, \\[guide], [guide](z.md), [guide][none], [^1]

Nothing but `[guide]`, ![guide] and [guide](z.md).

- an item

  ```
  [guide]
  ```

      [guide]

> [![badge](b.svg)][guide]

| a | b |
|---|---|
| 1 | [b] |

!!! note

    See [b] or [inner].

    [inner]: inner.md

```
[guide]
```

[guide]: guide.md#start
[guide]: other.md
[b]: <b c.md> "B"
[a site]: https://e.org/x.md
[^1]: note.md
[unused]: unused.md
""",
    "a.rst": """Title
=====

See `the
guide`_ and `that <the Guide_>`_.

Not ``b_``, :doc:`b_`, `b`__, a_b_c or b__.

Also b_.

Then::

   b_

- one b_::

     a

- two::

     b_

.. code-block:: text

   b_

.. note::

   Also (b_).

.. b_ is hidden

.. _the guide: guide.rst
.. _b: b.rst
.. _a site: https://e.org
.. _unused: unused.rst
""",
}


def used(path, text):
    """The targets of each passage that has some, by its first word."""
    passages = (one for one in read_document(path, text).drafts if one.ntype == "Passage")
    return [
        (one.summary.split()[0], one.props["targets"]) for one in passages if "targets" in one.props
    ]


def test_a_reference_link_counts_where_it_is_used():
    assert used("a.md", USES["a.md"]) == [
        ("See", ["guide.md#start"]),
        ("[guide]", ["guide.md#start"]),
        (">", ["guide.md#start"]),
        ("|", ["b%20c.md"]),
        ("!!!", ["b%20c.md", "inner.md"]),
    ]
    assert used("a.rst", USES["a.rst"]) == [
        ("See", ["guide.rst"]),
        ("Also", ["b.rst"]),
        ("-", ["b.rst"]),
        ("..", ["b.rst"]),
    ]


def test_reference_links_of_a_notebook_are_those_of_its_cell():
    cells = ["See [x] and [y].", "[x]: x.md", "See [y].\n\n[y]: y.md"]
    source = json.dumps(
        {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {},
            "cells": [{"cell_type": "markdown", "source": one, "metadata": {}} for one in cells],
        }
    )
    assert used("a.ipynb", source) == [("See", ["y.md"])]


@pytest.mark.parametrize(("path", "link"), [("a.md", "[{}]"), ("a.rst", "`{}`_")])
def test_targets_of_a_passage_are_bounded_by_its_length(path, link):
    """A label of a few characters stands for any target, and each passage may use all of them."""
    labels = [f"x{number}" for number in range(100)]
    begin, end = {"a.md": ("[", "]"), "a.rst": (".. _", "")}[path]
    defined = "\n".join(f"{begin}{one}{end}: {one}{'y' * 500}.md" for one in labels)
    text = " ".join(map(link.format, labels)) + f"\n\n{link.format('x7')}\n\n{defined}\n"
    (_, many), *_ = found = used(path, text)
    assert 1 < len(many) < 20
    assert len(found) == 1


@pytest.mark.parametrize(
    ("path", "text", "count"),
    [
        ("a.md", "".join(f"[x{i}]: {i}.md\n\n[x{9999 - i}]\n\n" for i in range(10_000)), 10_000),
        ("a.rst", "".join(f".. _x{i}: {i}.md\n\nx{9999 - i}_\n\n" for i in range(10_000)), 10_000),
        ("a.md", "[x]: x.md\n\n" + "[\\[" * 50_000, 0),
        ("a.md", "[x]: x.md\n\n" + "![x" * 50_000, 0),
        ("a.md", f"[x]: x.md\n\n{'|-' * 300}\n{'|-' * 300}\n" + f"{'|[x]' * 300}\n" * 99, 99),
        ("a.rst", ".. _x: x.md\n\n" + "a_b-" * 50_000, 0),
        ("a.rst", ".. _x: x.md\n\n" + "`a <" * 50_000, 0),
    ],
    ids=range(7),
)
def test_reference_links_are_found_in_linear_time(path, text, count):
    assert len(used(path, text)) == count


def test_number_of_links_is_limited():
    text = " ".join(f"[x]({number:05}.md)" for number in range(LINKS_MAX + 1))
    listed = document_links("a.md", MARKDOWN, [(text, "paragraph", ())])
    assert len(listed) == LINKS_MAX
    assert listed[-1] == f"{LINKS_MAX - 1:05}.md"


def links(repo, at="main"):
    """The edges, each as the text of its passage and the path of its target."""
    head = repo.at(at)
    return sorted(
        (head.node(edge.src, include_tombstoned=True).summary, head.node(edge.dst).props["source"])
        for edge in head.edges()
        if edge.etype == "links_to"
    )


def write(repo, **files):
    with repo.transaction(author="a", message="m") as tx:
        for name, text in files.items():
            ingest_text(tx, text, path=f"{name}.md")
    return tx


FILES = {"a": "# A\n\nTo [b](b.md).\n", "b": "# B\n\nTo [c](c.md).\n", "c": "To `a.md`.\n"}
EDGES = [("To [b](b.md).", "b.md"), ("To [c](c.md).", "c.md"), ("To `a.md`.", "a.md")]


def test_order_and_number_of_commits_do_not_matter():
    roots = set()
    for order in itertools.permutations(FILES):
        one, many = ibidem.init("memory:"), ibidem.init("memory:")
        write(one, **{name: FILES[name] for name in order})
        for name in order:
            write(many, **{name: FILES[name]})
        assert links(one) == links(many) == EDGES
        roots |= {one.at("main").root, many.at("main").root}
    assert len(roots) == 1


def test_second_ingest_changes_nothing():
    repo = ibidem.init("memory:")
    write(repo, **FILES)
    assert write(repo, **FILES).commit is None


def test_edge_goes_with_its_link():
    repo = ibidem.init("memory:")
    write(repo, **FILES)
    write(repo, a="# A\n\nNo more.\n")
    assert links(repo) == EDGES[1:]
    (document,) = repo.query(label="Document", where={"source": "a.md"})
    assert "links" not in document.props
    write(repo, a=FILES["a"])
    assert links(repo) == EDGES


def test_edges_of_a_reference_link_begin_where_it_is_used():
    repo = ibidem.init("memory:")
    files = {"b": "B.\n", "c": "C.\n"}
    rest = "[b]: b.md\n[c]: c.md\n"
    write(repo, **files, a=f"See [the page][b].\n\nOr [b].\n\nNothing.\n\n{rest}")
    assert links(repo) == [("Or [b].", "b.md"), ("See [the page][b].", "b.md")]
    (document,) = repo.query(label="Document", where={"source": "a.md"})
    assert document.props["links"] == ["b.md"]
    write(repo, a=f"See [the page][b].\n\nOr [b].\n\nNothing.\n\n{rest.replace('b.md', 'd.md')}")
    assert links(repo) == []
    write(repo, d="D.\n")
    assert links(repo) == [("Or [b].", "d.md"), ("See [the page][b].", "d.md")]


def test_the_edge_of_a_definition_goes_when_its_document_is_read_again():
    """An earlier version of the reader made it."""
    repo = ibidem.init("memory:")
    text = "Or [b].\n\n[b]: b.md\n"
    write(repo, a=text, b="B.\n")
    (defined,) = (one for one in repo.query(label="Passage") if one.summary == "[b]: b.md")
    with repo.transaction(author="a", message="m") as tx:
        tx.add_edge(defined.id, "links_to", document_id("b.md"))
    assert len(links(repo)) == 2
    write(repo, a=text)
    assert links(repo) == [("Or [b].", "b.md")]


def test_a_link_of_a_page_that_its_text_does_not_show_has_its_edge(tmp_path):
    repo = ibidem.init(tmp_path)
    (tmp_path / "b.md").write_text("Stripes.\n")
    (tmp_path / "c.md").write_text("Spots.\n")
    for target in ("b.md", "c.md#x", "b.md"):
        page = f"<p>Other words.<p>See <a href='{target}'>the page</a> first."
        (tmp_path / "a.html").write_text(page)
        repo.ingest(tmp_path)
        assert links(repo) == [("See the page first.", target.partition("#")[0])]
    (tmp_path / "a.html").write_text("<p>Other words.<p>See the page first.")
    repo.ingest(tmp_path)
    assert links(repo) == []


def test_files_removed_and_renamed(tmp_path):
    repo = ibidem.init(tmp_path)
    for name, text in FILES.items():
        (tmp_path / f"{name}.md").write_text(text)
    repo.ingest(tmp_path, prune=True)
    assert links(repo) == EDGES
    repo.ingest(tmp_path, prune=True)
    (tmp_path / "b.md").unlink()
    repo.ingest(tmp_path, prune=True)
    assert links(repo) == EDGES[2:]
    (tmp_path / "b.md").write_text(FILES["b"])
    repo.ingest(tmp_path)
    assert links(repo) == EDGES


def test_graph_lane_walks_links():
    repo = ibidem.init("memory:")
    write(repo, a="Zebras: see [more](b.md).\n", b="Stripes everywhere.\n")
    answer = repo.retrieve("zebras", graph={"mode": "ppr"}, limit=5)
    (item,) = (item for item in answer.items if item.node.summary == "Stripes everywhere.")
    path, document = item.paths["graph"], document_id("b.md")
    assert path.nodes == (answer.items[0].id, document)
    assert str(path) == f"{path.nodes[0]} -links_to-> {document}"
    assert str(path) in answer.explain()


def test_link_follows_a_renamed_document(tmp_path):
    repo = ibidem.init(tmp_path)
    (tmp_path / "a.md").write_text("To [b](b.md).\n")
    (tmp_path / "b.md").write_text("Back to [a](a.md).\n")
    with repo.transaction() as tx:
        ingest(tx, [tmp_path], root=tmp_path)
    with repo.transaction() as tx:
        ingest_text(tx, "Back to [a](a.md).\n", path="s/c.md")
        remove_document(tx, "b.md", IngestReport(), moved_to="s/c.md")
    assert links(repo) == [("To [b](b.md).", "s/c.md")]


def test_a_link_that_a_merge_completes_gets_its_edge_with_the_next_ingest():
    repo = ibidem.init("memory:")
    write(repo, a="Hello.\n")
    repo.branch("other")
    write(repo, b=FILES["b"])
    repo.switch("other")
    write(repo, a=FILES["a"])
    repo.merge("main")
    assert links(repo, "other") == []
    write(repo, a=FILES["a"])
    assert links(repo, "other") == EDGES[:1]
    assert write(repo, a=FILES["a"]).commit is None


@pytest.mark.parametrize("target", ["a", "b"])
def test_a_folder_completes_links_after_a_merge_although_its_files_are_unchanged(tmp_path, target):
    repo = ibidem.init(tmp_path)
    for name in "ac":
        (tmp_path / f"{name}.md").write_text("Hello.\n")
    repo.ingest(tmp_path)
    repo.branch("other")
    link = "To [a](a.md), [b](b.md).\n"
    (tmp_path / "c.md").write_text(link)
    repo.ingest(tmp_path)
    with repo.transaction(branch="other") as tx:
        if target == "a":
            remove_document(tx, "a.md", IngestReport(), moved_to=None)
            ingest_text(tx, "Hello again.\n", path="a.md")
        else:
            ingest_text(tx, "Hello.\n", path="b.md")
    repo.merge("other")
    if target == "b":
        (tmp_path / "b.md").write_text("Hello.\n")
    repo.ingest(tmp_path)
    repo.ingest(tmp_path)
    assert [edge[1] for edge in links(repo)] == (["a.md"] if target == "a" else ["a.md", "b.md"])


def test_an_edge_that_another_writer_changed_stays_as_it_is():
    repo = ibidem.init("memory:")
    write(repo, **FILES)
    (edge,) = (edge for edge in repo.at().edges() if edge.dst == document_id("b.md"))
    with repo.transaction() as tx:
        tx.update_edge(edge.id, weight=3.0, props={"why": "much used"})
    for text in (FILES["a"], FILES["a"] + "\nMore.\n"):
        write(repo, a=text, d="To [b](b.md).\n")
        (found,) = (found for found in repo.at().edges() if found.id == edge.id)
        assert (found.weight, found.props) == (3.0, {"why": "much used"})


def test_links_follow_what_the_document_is_read_as():
    repo = ibidem.init("memory:")
    write(repo, b=FILES["b"])
    for media_type, count in ((MARKDOWN, 1), ("text/plain", 0), (RST, 0), (MARKDOWN, 1)):
        with repo.transaction() as tx:
            ingest_text(tx, "To [b](b.md).\n", path="a.md", media_type=media_type)
        assert len(links(repo)) == count


def test_a_link_that_no_longer_counts_among_the_first_has_no_edge(monkeypatch):
    monkeypatch.setattr(link, "LINKS_MAX", 2)
    monkeypatch.setattr(link_edges, "LINKS_MAX", 2)
    repo = ibidem.init("memory:")
    write(repo, **{name: f"{name}\n" for name in "xyz"})
    ends = "To [y](y.md).\n\nTo [z](z.md).\n"
    for start, paths in (("", "yz"), ("To [x](x.md).\n\n", "xy"), ("", "yz")):
        write(repo, a=start + ends)
        assert [target for _, target in links(repo)] == [f"{name}.md" for name in paths]


@pytest.fixture
def scan_up_to(monkeypatch):
    """Sets the number of nodes up to which a graph is scanned; a larger one is looked up."""
    return lambda count: monkeypatch.setattr(link_edges, "SCANNED_MAX", count)


def test_a_large_graph_is_looked_up_in_its_index(scan_up_to):
    roots = set()
    for scanned in (0, SCANNED_MAX):
        scan_up_to(scanned)
        repo = ibidem.init("memory:")
        for name in reversed(FILES):
            write(repo, **{name: FILES[name]})
        assert links(repo) == EDGES
        roots.add(repo.at("main").root)
    assert len(roots) == 1


@pytest.mark.parametrize("scanned", [0, SCANNED_MAX])
def test_hidden_and_foreign_documents_that_list_a_path(scan_up_to, scanned):
    scan_up_to(scanned)
    repo = ibidem.init("memory:")
    write(repo, a=FILES["a"])
    with repo.transaction() as tx:
        (document,) = tx.nodes(label="Document")
        tx.tombstone(document.id)
        tx.add_node("Document", summary="x", props={"links": ["b.md"]})
        tx.add_node("Document", summary="y", props={"links": "b.md", "media_type": MARKDOWN})
        given = {"links": ["b.md"], "media_type": MARKDOWN}
        tx.add_node("Document", summary="without a path", props=given)
    write(repo, b="Hello.\n")
    assert links(repo) == EDGES[:1]


@pytest.mark.parametrize("scanned", [0, SCANNED_MAX])
def test_a_document_under_another_label_is_looked_up_alike(scan_up_to, scanned):
    scan_up_to(scanned)
    repo = ibidem.init("memory:")
    write(repo, a=FILES["a"])
    with repo.transaction() as tx:
        (document,) = tx.nodes(label="Document")
        tx.update_node(document.id, ntype="Manual")
    write(repo, b="Hello.\n")
    assert links(repo) == EDGES[:1]


def reads_of_adding(scan_up_to, documents):
    scan_up_to(0)
    store = RecordingStore(bootstrapped(MemoryStore(), Config.default(), "", lambda: 0))
    repo = Repository(Core(store, None, lambda: 0))
    with repo.transaction() as tx:
        for number in range(documents):
            ingest_text(tx, f"To [n](n{number}.md), no {number}.\n", path=f"{number}.md")
    write(repo, n0="First: the index is built.\n")
    store.get_count = 0
    write(repo, n1="Second.\n")
    assert len(links(repo)) == 2
    return store.get_count


def test_adding_a_document_reads_no_more_of_a_large_graph(scan_up_to):
    few, many = reads_of_adding(scan_up_to, 50), reads_of_adding(scan_up_to, 500)
    assert many <= few + 20


def test_a_lookup_does_not_make_the_index_follow_the_head(scan_up_to):
    scan_up_to(0)
    repo = ibidem.init("memory:")
    write(repo, a=FILES["a"])
    write(repo, b=FILES["b"])
    head = repo.at("main").root.cid
    assert not repo.core.search_index.current.is_remembered(head)
    repo.retrieve("to")
    assert repo.core.search_index.current.is_remembered(head)
