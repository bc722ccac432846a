"""CSV and TSV: how they are read, and what is above the table."""

import pytest

from ibidem.ingest.table import extract_csv, extract_tsv


def table(*rows):
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def text(source):
    return extract_csv(source.encode()).text


@pytest.mark.parametrize("end", ["", '4,"z"\n', '4,x" y\n'])
def test_a_quote_without_its_end_does_not_take_in_the_rows_after_it(end):
    read = extract_csv(f'a,b\n1,"5 inch\n2,x\n3,y\n{end}'.encode())
    rows = [tuple(line.split(",")) for line in end.splitlines()]
    assert read.text == table(("a", "b"), ("1", '"5 inch'), ("2", "x"), ("3", "y"), *rows)
    assert read.warnings == ("a quote has no end: quotes are read as text",)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ('"x, ""y"""', 'x, "y"'),
        ('"x\ny"', "x y"),
        ('5" pipe', '5" pipe'),
        ('"5" pipe', "5 pipe"),
        ('"x, y" ', "x, y"),
    ],
)
def test_quotes_that_end_are_no_text(cell, shown):
    read = extract_csv(f"a,b\n{cell},2\n".encode())
    assert read.text == table(("a", "b"), (shown, "2"))
    assert read.warnings == ()


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("what\tsize, in mm\na\t3\nb\t4\n", [("what", "size, in mm"), ("a", "3"), ("b", "4")]),
        ('"a, b, c";"d"\n1;2\n', [("a, b, c", "d"), ("1", "2")]),
        ("name;a;b\nx;1,5;2,5\n", [("name", "a", "b"), ("x", "1,5", "2,5")]),
        ("name,tags\nx,a;b;c\ny,d\n", [("name", "tags"), ("x", "a;b;c"), ("y", "d")]),
        ("a, b|c\n1|2\n", [("a, b", "c"), ("1", "2")]),
        ("name\nAda\nBob, too\n", [("name",), ("Ada",), ("Bob", "too")]),
        ("a,b\n1,2,\n3,4,\n", [("a", "b"), ("1", "2", ""), ("3", "4", "")]),
        ("a,b,\n1,2,3\n4,5,6\n", [("a", "b", ""), ("1", "2", "3"), ("4", "5", "6")]),
        (",total\nx,1\n", [("", "total"), ("x", "1")]),
        ("sep=;\na;b,c\n1;2\n", [("a", "b,c"), ("1", "2")]),
        ('"sep=\t"\na\tb,c\n1,2\t3\n', [("a", "b,c"), ("1,2", "3")]),
    ],
)
def test_the_separator_is_what_cuts_rows_alike(source, rows):
    assert text(source) == table(*rows)


def test_the_separator_that_a_file_names_is_that_of_any_table():
    assert extract_tsv(b"sep=;\na;b\n1;2\n").text == table(("a", "b"), ("1", "2"))
    assert extract_tsv(b"a, b\tc\n1\t2\n").text == table(("a, b", "c"), ("1", "2"))


def test_lines_above_the_rows_are_text():
    rows = [("name", "size", "note"), ("a", "1", "x"), ("b", "2", "y")]
    source = "".join(f"{','.join(row)}\n" for row in rows)
    titled = f"Stock, by shelf\n\n{table(*rows)}"
    assert text(f"Stock, by shelf\n{source}") == titled
    assert text(f"Stock\n\n{source}") == titled.replace(", by shelf", "")
    assert text(f"Stock,,\n,,\n{source}") == titled.replace(", by shelf", "")


def test_comments_above_the_rows_are_text():
    rows = [("a", "b"), ("1", "2"), ("3", "4")]
    source = "".join(f"{','.join(row)}\n" for row in rows)
    assert text(f"# Stock\n{source}") == f"Stock\n\n{table(*rows)}"
    assert text(f'# By "hand,\n# since 1830, for Ada\n#\n# Stock\n{source}') == (
        f'By "hand,\nsince 1830, for Ada\n\nStock\n\n{table(*rows)}'
    )
    long = "A comment, which goes on, and on; and on;\n" * 30
    commented = "".join(f"# {line}\n" for line in long.splitlines())
    assert text(f"{commented}\n{source}") == f"{long}\n{table(*rows)}"
    assert text(f"{commented}\n{source.replace(',', ';')}") == f"{long}\n{table(*rows)}"
    assert text(commented) == long.strip()


@pytest.mark.parametrize("above", ["", "# Stock\n#\n"])
def test_a_header_may_be_a_comment(above):
    titled = "Stock\n\n" if above else ""
    rows = [("1", "2"), ("3", "4")]
    assert text(f"{above}# a,b\n1,2\n3,4\n") == titled + table(("a", "b"), *rows)
    assert text(f"{above}#a,b\n1,2\n3,4\n") == titled + table(("#a", "b"), *rows)
    assert extract_tsv(f"{above}#\tb\n1\t2\n3\t4\n".encode()).text == (
        titled + table(("#", "b"), *rows)
    )


def test_rows_below_a_long_header_name_their_values():
    names = [f"question {number} of the form" for number in range(40)]
    source = f"{','.join(names)}\n" + f"yes,,no{',' * 37}\n" * 2 + f"{'8,' * 39}9\n"
    header, *rows = text(source).split("\n")
    assert header == f"- {' | '.join(names)}"
    assert rows[:2] == ["- question 0 of the form: yes | question 2 of the form: no"] * 2
    assert rows[2].endswith("| question 39 of the form: 9")
    assert text(f"{'x' * 900},{'y' * 200}\n1,2\n").endswith(f"\n- 1 | {'y' * 200}: 2")
