"""Whatever a document was before, ingesting its text gives the root of a fresh ingest, anywhere."""

import os
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.ingest.draft import document_id
from ibidem.ingest.ingest import ingest_text
from ibidem.objects.location import source_text

from .graph import Graph
from .strategies import SOURCES

SCRIPT = """
from ibidem.ingest.document import read_document
from blake3 import blake3
texts = "".join(f"Text {n}. Übung\\n\\n" for n in range(1500))
source = "---\\ntags: [a, b]\\n---\\n# A\\n\\n" + texts
drafts = read_document("docs/a.md", source).drafts
print(blake3(repr([(d.id, d.key, d.summary, dict(d.props), d.children, d.tail) for d in drafts])
      .encode()).hexdigest())
"""


def take(graph, source, path="a.md"):
    with graph.transaction() as tx:
        ingest_text(tx, source, path=path)


@given(history=st.lists(SOURCES, min_size=2, max_size=4))
@settings(max_examples=examples(40), deadline=None)
def test_the_root_depends_on_the_last_text_and_not_on_those_before(history):
    lived, fresh = Graph(), Graph()
    for source in history:
        take(lived, source)
        assert source_text(document_id("a.md"), lived.nodes().__getitem__) == source
    take(fresh, history[-1])
    assert lived.cid == fresh.cid


@given(sources=st.lists(SOURCES, min_size=2, max_size=3), edited=SOURCES)
@settings(max_examples=20, deadline=None)
def test_one_document_leaves_the_others_alone(sources, edited):
    graph = Graph()
    for index, source in enumerate(sources):
        take(graph, source, f"{index}.md")
    take(graph, edited, "0.md")
    nodes = graph.nodes()
    for index, source in enumerate([edited, *sources[1:]]):
        assert source_text(document_id(f"{index}.md"), nodes.__getitem__) == source


def test_hash_seed_time_zone_and_locale_change_nothing():
    digests = set()
    for seed, zone, locale in (
        ("0", "UTC", "C"),
        ("1", "Asia/Tokyo", "C.UTF-8"),
        ("77", "", "POSIX"),
    ):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": locale}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 1
