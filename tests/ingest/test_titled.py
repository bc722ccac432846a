"""Plain text with headings: what becomes a section and what a passage."""

import pytest

from ibidem.ingest.document import read_document
from ibidem.ingest.formats import format_of, has_suffix
from ibidem.ingest.mark import Heading
from ibidem.ingest.split import ITEMS_CHARS_MAX


def headings(path, source):
    marks = format_of(path).read(source, 0)
    return [(mark.level, mark.text) for mark in marks if isinstance(mark, Heading)]


@pytest.mark.parametrize(
    ("path", "source", "found"),
    [
        ("a.adoc", "= Mill\n\n== The wheel\n\nTurns.\n", [(1, "Mill"), (2, "The wheel")]),
        ("a.org", "* Mill\n** TODO Oil it :iron:\nNow.\n", [(2, "Mill"), (3, "TODO Oil it")]),
        ("a.tex", "\\section{The \\emph{mill}}\n\\subsection*{A}\n", [(2, "The mill"), (3, "A")]),
        ("a.tex", "\\chapter[Mill]{The {\\bf old} mill}\\label{m}", [(1, "The old mill")]),
        ("a.tex", "  \\section{\\module{mill}\n  --- wheels}\n", [(2, "mill")]),
        ("a.tex", "% \\section{A}\n\\sectionauthor{Bo}{b@x}\n", []),
        ("a.pod", "=pod\n\n=head1 NAME\n\n=head2 B<mill> x\n", [(2, "NAME"), (3, "B<mill> x")]),
        ("a.pod", "=head1 A\n\n  =head1 B\n", [(2, "A")]),
        ("a.1", '.TH M 1\n.SH "SEE ALSO"\n.SS \\fBmill\\fR\n', [(2, "SEE ALSO"), (3, "mill")]),
        ("a.8", ".Dd May\r\n.Sh NAME\r\n.Nm mill\r\n", [(2, "NAME")]),
    ],
)
def test_headings_are_sections(path, source, found):
    assert headings(path, source) == found


def test_a_line_of_a_listing_is_no_heading():
    adoc = "== A\n\n----\n== x\n....\n== y\n----\n\n== B\n\n....\n= z\n....\n\n`+----+`\n\n== C\n"
    assert headings("a.adoc", adoc) == [(2, "A"), (2, "B"), (2, "C")]
    latex = "\\section{A}\n\\begin{verbatim}\n\\section{x}\n\\end{verbatim}\n\\section{B}\n"
    assert headings("a.tex", latex) == [(2, "A"), (2, "B")]
    assert headings("a.org", "* A\n#+BEGIN_SRC\n,* x\n - y\n#+END_SRC\n") == [(2, "A")]


def test_long_paragraphs_of_a_manual_page_are_cut_before_an_item():
    page = ".SH OPTIONS\n" + "\n".join(
        f".TP\n\\fB\\-\\-option{at}\\fR\nDoes what {at} means." for at in range(60)
    )
    _, *blocks = format_of("a.1").read(page, 0)
    texts = [page[block.start : block.stop] for block in blocks]
    assert len(texts) > 3
    assert max(map(len, texts)) <= ITEMS_CHARS_MAX
    assert all(text.startswith(".TP") for text in texts)


def test_a_paragraph_of_another_form_is_not_cut_at_a_macro():
    table = "\n".join(f".IP address {at} of the mill" for at in range(60))
    assert len(list(format_of("a.adoc").read(table, 0))) == 1


def test_a_log_that_ends_in_a_number_is_read_as_plain_text():
    log = "\n\n".join(f"{at} started\n.done = {at}\n* SH" for at in range(90))
    assert list(format_of("a.log.1").read(log, 0)) == list(format_of("a.txt").read(log, 0))


def test_a_number_a_host_and_a_class_are_no_names_of_files():
    words = ["version 1.2", "python.org", "tkinter.Canvas", "mill.md"]
    assert [has_suffix(word) for word in words] == [False, False, False, True]


def test_an_item_of_pod_is_in_one_passage_with_its_description():
    page = """\
=encoding utf8

=head1 OPTIONS

=over 4

=item --mill

=item -m

Turns the mill.

It stops at night.

=item *

Oil it.

=back

=cut

=for html <b>wheel</b>

The wheel.

=item last

=head1 NEXT
"""
    parts = read_document("a.pod", page).drafts
    assert [part.summary for part in parts if part.ntype == "Passage"] == [
        "=item --mill\n\n=item -m\n\nTurns the mill.",
        "It stops at night.",
        "=item *\n\nOil it.",
        "=for html <b>wheel</b>\n\nThe wheel.",
        "=item last",
    ]


@pytest.mark.parametrize(
    ("path", "source", "title"),
    [
        (
            "npm.1",
            '.TH NPM 1\n.SH "NAME"\n\\fBnpm-stop\\fR \\- Stop\na package\n.SH SYNOPSIS\nx\n',
            "npm-stop - Stop a package",
        ),
        ("a.1", ".SH NAME\n.PP\n\\f[B]a\\f[R] \\[em] Clean\n", "a \u2014 Clean"),
        ("a.1", ".SH NAME\n.BR a , b\n\\- Clean\n", "a , b - Clean"),
        (
            "b.1",
            ".Sh NAME\n.Nm cat ,\n.Nm dog\n.Nd join files\n.Sh SYNOPSIS\n",
            "cat , dog - join files",
        ),
        ("b.1", ".SH SYNOPSIS\nx\n", "b.1"),
        ("A.pod", "=head1 NAME\n\n=for x y\n\nA::B - does C<this>\n\nMore.\n", "A::B - does this"),
        ("c.tex", "% \\title{No}\n\\title[C]{On \\emph{C}\n and D\\thanks{us}}\n", "On C and D"),
        ("c.tex", "\\chapter[Mill]{The {\\bf old} mill}\\label{m}", "The old mill"),
        ("d.adoc", "= Mill\n\n== The wheel\n\nTurns.\n", "Mill"),
        ("d.adoc", "== Two\n\ntext\n", "d.adoc"),
    ],
)
def test_a_text_is_called_by_its_title_or_its_name_and_purpose(path, source, title):
    assert read_document(path, source).drafts[-1].summary == title
