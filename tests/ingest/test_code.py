"""Program source by tree-sitter: passages of definitions under their names, byte for byte."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.ingest import code
from ibidem.ingest.document import read_document
from ibidem.ingest.formats import FORMATS
from ibidem.ingest.mark import Block, Heading, with_gaps
from ibidem.ingest.outline import outline, source_of

SAMPLES = {
    "c": (
        """\
#include <x.h>

/* Doc. */
static int *f(int a)
{
  return 0;
}
struct s { int a; };
""",
        ["f", "s"],
    ),
    "cpp": (
        """\
namespace n {
class A {
public:
  int m() { return 1; }
};
template <class T> T g(T a) { return a; }
}
int A::k() { return 2; }
""",
        ["n", "n.A", "n.A.m", "n.g", "A::k"],
    ),
    "csharp": (
        """\
using X;
namespace N {
  /// Doc.
  public class A {
    public void M() {}
  }
}
""",
        ["N", "N.A", "N.A.M"],
    ),
    "go": (
        """\
package a

// Doc.
func F() {}

type T struct{}

func (t *T) M() {}
""",
        ["F", "T", "T.M"],
    ),
    "java": (
        """\
package a;
/** Doc. */
class A {
  int x;
  A() {}
  void m() {}
  class B { void n() {} }
}
""",
        ["A", "A.A", "A.m", "A.B", "A.B.n"],
    ),
    "javascript": (
        """\
import a from 'b';
/** Doc. */
export class A {
  m() { return 1 }
}
export default function f() {}
export const g = () => 2;
const x = 3;
""",
        ["A", "A.m", "f", "g"],
    ),
    "php": (
        """\
<?php
namespace N;
/** Doc. */
class A {
  function m() {}
}
function f() {}
""",
        ["A", "A.m", "f"],
    ),
    "ruby": (
        """\
module M
  # Doc.
  class A < B
    def m
      1
    end
    def self.s; end
  end
end
""",
        ["M", "M.A", "M.A.m", "M.A.s"],
    ),
    "rust": (
        """\
use x;
/// Doc é.
#[derive(Debug)]
struct S;

impl S {
    fn new() -> S { S }
}

mod m { fn z() {} }
""",
        ["S", "S", "S.new", "m", "m.z"],
    ),
    "tsx": (
        """\
class A {
  b() { return <p title="x">I'm {"<"}</p>; }
  c() {}
}
export const D = () => <A>it's</A>;
""",
        ["A", "A.b", "A.c", "D"],
    ),
    "typescript": (
        """\
interface I { a: string }
export namespace N { export function g(): void {} }
abstract class C { n() {} }
""",
        ["I", "N", "N.g", "C", "C.n"],
    ),
}
PIECES = st.sampled_from(
    ["class A {", "}", "fn f() {", "void f(int a) {", "// c", "/* c */", "def m", "end", ";", "é",
     "\n\n", "export", "function f() {}", "func (t T) M() {}", "namespace N {", "'", '"',
     "<?php", "@a", "#[b]", "\n#if A\n", "\n#else\n", "\n#endif // A\n", "} // n\n"]
)  # fmt: skip


def names(marks):
    path, found = [], []
    for mark in marks:
        if isinstance(mark, Heading):
            path = [*path[: mark.level - 1], mark.text]
            found.append(".".join(path))
    return found


@pytest.mark.parametrize("language", SAMPLES)
def test_a_definition_is_a_passage_under_its_names(language):
    pytest.importorskip("tree_sitter")
    source, expected = SAMPLES[language]
    suffix = next(each.suffixes[0] for each in FORMATS if each.language == language)
    marks = list(code.extract(source.encode(), language).marks)
    assert names(marks) == expected
    reading = read_document(f"a{suffix}", source)
    assert reading.drafts[-1].props["extractor"].startswith("tree-sitter-")
    texts = [draft.summary for draft in reading.drafts if draft.ntype == "Passage"]
    assert all(any(letter.isalpha() for letter in text) for text in texts), texts
    documented = next((text for text in texts if "Doc" in text), None)
    assert documented is None or not documented.rstrip().endswith(("Doc.", "Doc. */"))


@pytest.mark.parametrize("language", SAMPLES)
@given(pieces=st.lists(PIECES, max_size=20))
@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_parts_give_the_source_back(language, pieces):
    pytest.importorskip("tree_sitter")
    for source in ("\n".join(pieces), "\ufeff" + "".join(pieces)):
        marks = list(code.extract(source.encode(), language).marks)
        body = 1 if source.startswith("\ufeff") else 0
        assert source_of(outline(source, with_gaps(source, body, marks))) == source


def test_there_are_ten_languages():
    table = {each.language for each in FORMATS if each.extra == "code"}
    assert table == set(code.GRAMMARS) == set(SAMPLES)
    assert len({each.module for each in code.GRAMMARS.values()}) == 10


def test_definitions_below_a_condition_are_sections():
    pytest.importorskip("tree_sitter")
    source = """\
#ifndef A_H
#define A_H
#ifdef __cplusplus
namespace ns {
#endif
#if defined(FAST)
static int add(int a) { return a; } // at once
#elif defined(SLOW)
static int late(int a) { return a; }
#else
int never(void) { return 0; }
#endif // FAST

struct mill { int a; };
} // namespace ns
int last;

#endif /* A_H */
"""
    marks = list(code.extract(source.encode(), "cpp").marks)
    assert names(marks) == ["ns", "ns.add", "ns.late", "ns.never", "ns.mill"]
    texts = [source[mark.start : mark.stop] for mark in marks if isinstance(mark, Block)]
    assert texts == [
        "#ifndef A_H\n#define A_H",
        "#ifdef __cplusplus\nnamespace ns {\n#endif",
        "#if defined(FAST)\nstatic int add(int a) { return a; } // at once",
        "#elif defined(SLOW)\nstatic int late(int a) { return a; }\n#else",
        "int never(void) { return 0; }\n#endif // FAST",
        "struct mill { int a; };\n} // namespace ns",
        "int last;",
    ]


def test_conditions_in_conditions_are_read_in_linear_time():
    pytest.importorskip("tree_sitter")
    source = "#if 1\n" * 1500 + "int f(void) {}\n" + "#endif\n" * 1500
    assert names(code.extract(source.encode(), "c").marks) == ["f"]


def test_a_header_of_cpp_with_the_suffix_of_c_is_read_as_cpp(monkeypatch):
    pytest.importorskip("tree_sitter")
    source, expected = SAMPLES["cpp"]
    assert names(code.extract(source.encode(), "c").marks) == expected
    monkeypatch.setattr(code, "find_spec", lambda name: None)
    assert "A::k" not in names(code.extract(source.encode(), "c").marks)
