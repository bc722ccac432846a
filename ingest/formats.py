"""The formats that ingest reads, in one table: suffixes, media type, reader, extra.

A *text* format is kept byte for byte; its reader finds marks in it. Any other is *extracted*, in a
child process (`sandbox.py`), and the text of its extractor is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ibidem.ingest.mark import Mark
from ibidem.ingest.markdown import markdown_marks
from ibidem.ingest.plain import code_marks, plain_marks, subtitle_marks
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.record import record

MARKDOWN = "text/markdown"
RST = "text/x-rst"
PLAIN = "text/plain"
NDJSON = "application/x-ndjson"
_OPEN = "application/vnd.oasis.opendocument"
_OFFICE = "application/vnd.openxmlformats-officedocument"

EXTRACTOR_VERSION = "14"
"""Version of the extractors in this package; it changes whenever their text would change."""

SOURCE_PROPS = frozenset(
    {
        "author",
        "text_language",
        "from",
        "to",
        "cc",
        "date",
        "subject",
        "message_id",
        "in_reply_to",
        "attachments",
    }
)
"""Every property that an extractor may give a document; a second ingest replaces them all."""

READER_VERSION = "11"
"""Version of the readers in this package; it changes whenever they would make other nodes of a
text, so that unchanged files are ingested again."""

Reader = Callable[[str, int], Iterator[Mark]]


@record
class Format:
    """One format."""

    name: str
    media_type: str
    suffixes: tuple[str, ...]
    read: Reader | None = None
    """Finds the marks of a text from an offset; None if there is an entry."""
    entry: str | None = None
    """`module:function` of an extractor, or of a splitter of program source."""
    language: str | None = None
    """The language of program source."""
    packages: tuple[str, ...] = ()
    """Distributions that the entry needs; the first one determines the extractor's version."""
    extra: str | None = None
    is_named: bool = True
    """Whether a word with such a suffix in a text is a file, rather than a number, the name of a
    host or a class: `1.2`, `python.org`, `tkinter.Canvas`."""

    @property
    def is_extracted(self) -> bool:
        """Whether extracted text is stored instead of the source."""
        return self.entry is not None and self.language is None

    @property
    def extractor(self) -> tuple[str, str]:
        """The name and version of the extractor.

        Raises:
            InvalidInputError: kind `missing-package`: the extra is not installed.
        """
        if not self.packages:
            return f"ibidem-{self.name.lower().replace(' ', '-')}", EXTRACTOR_VERSION
        from importlib.metadata import PackageNotFoundError, version

        try:
            versions = [version(package) for package in self.packages]
        except PackageNotFoundError as error:
            raise InvalidInputError(
                f"{self.name} is not read without an extra",
                kind=ErrorKind.MISSING_PACKAGE,
                hint=self.install,
            ) from error
        return self.packages[0], versions[0]

    @property
    def is_installed(self) -> bool:
        """Whether the packages that the entry needs are installed."""
        try:
            return bool(self.extractor)
        except InvalidInputError:
            return False

    @property
    def install(self) -> str:
        """The command that installs the packages that the entry needs."""
        return f"pip install 'ibidem[{self.extra}]'"


# The expressions of these take longer to compile than most documents take to read.


def _rst_marks(source: str, start: int) -> Iterator[Mark]:
    from ibidem.ingest.rst import rst_marks

    return rst_marks(source, start)


def _mdx_marks(source: str, start: int) -> Iterator[Mark]:
    from ibidem.ingest.mdx import mdx_marks

    return mdx_marks(source, start)


def _python_marks(source: str, start: int) -> Iterator[Mark]:
    from ibidem.ingest.python import python_marks

    return python_marks(source, start)


def _titled(name: str, form: str, suffixes: str) -> Format:
    """Returns a format of plain text with headings."""

    def read(source: str, start: int) -> Iterator[Mark]:
        from ibidem.ingest.titled import titled_marks

        return titled_marks(form, source, start)

    return Format(name, PLAIN, tuple(suffixes.split()), read, is_named=False)


def _code(name: str, language: str, suffixes: str, package: str = "") -> Format:
    """Returns the format of program source, cut by the grammar in `package` if that is
    installed."""
    return Format(
        name,
        PLAIN,
        tuple(suffixes.split()),
        lambda source, start: code_marks(source, language, start),
        "ibidem.ingest.code:extract" if package else None,
        language,
        (package, "tree-sitter") if package else (),
        "code" if package else None,
    )


FORMATS = (
    Format("Markdown", MARKDOWN, (".md", ".markdown", ".mkd", ".qmd", ".rmd"), markdown_marks),
    Format("MDX", MARKDOWN, (".mdx",), _mdx_marks),
    Format("reStructuredText", RST, (".rst", ".rest"), _rst_marks),
    Format("Python", PLAIN, (".py", ".pyi"), _python_marks, None, "python"),
    Format("plain text", PLAIN, (".txt", ".text"), plain_marks),
    Format("subtitles", PLAIN, (".srt", ".vtt"), subtitle_marks),
    _titled("AsciiDoc", "asciidoc", ".adoc .asciidoc"),
    _titled("LaTeX", "latex", ".tex"),
    _titled("Org", "org", ".org"),
    _titled("POD", "pod", ".pod"),
    _titled("manual page", "man", ".1 .2 .3 .4 .5 .6 .7 .8 .man"),
    Format("JSON lines", NDJSON, (".ndjson", ".jsonl")),
    Format("HTML", "text/html", (".html", ".htm", ".xhtml"), None, "ibidem.ingest.html:extract"),
    Format(
        "notebook", "application/x-ipynb+json", (".ipynb",), None, "ibidem.ingest.notebook:extract"
    ),
    Format(
        "canvas",
        "application/x-jsoncanvas",
        (".canvas",),
        None,
        "ibidem.ingest.canvas:extract",
        is_named=False,
    ),
    Format("SVG", "image/svg+xml", (".svg",), None, "ibidem.ingest.svg:extract"),
    Format("CSV", "text/csv", (".csv",), None, "ibidem.ingest.table:extract_csv"),
    Format("TSV", "text/tab-separated-values", (".tsv",), None, "ibidem.ingest.table:extract_tsv"),
    Format("e-mail", "message/rfc822", (".eml",), None, "ibidem.ingest.mail:extract_message"),
    Format("mailbox", "application/mbox", (".mbox",), None, "ibidem.ingest.mail:extract_mailbox"),
    Format("EPUB", "application/epub+zip", (".epub",), None, "ibidem.ingest.epub:extract"),
    Format(
        "DOCX",
        f"{_OFFICE}.wordprocessingml.document",
        (".docx", ".docm"),
        None,
        "ibidem.ingest.office:extract_docx",
    ),
    Format(
        "PPTX",
        f"{_OFFICE}.presentationml.presentation",
        (".pptx", ".pptm"),
        None,
        "ibidem.ingest.office:extract_pptx",
    ),
    Format(
        "XLSX",
        f"{_OFFICE}.spreadsheetml.sheet",
        (".xlsx", ".xlsm"),
        None,
        "ibidem.ingest.workbook:extract",
    ),
    Format(
        "ODT", f"{_OPEN}.text", (".odt", ".fodt"), None, "ibidem.ingest.opendocument:extract_odt"
    ),
    Format(
        "ODS",
        f"{_OPEN}.spreadsheet",
        (".ods", ".fods"),
        None,
        "ibidem.ingest.opendocument:extract_ods",
    ),
    Format(
        "ODP",
        f"{_OPEN}.presentation",
        (".odp", ".fodp"),
        None,
        "ibidem.ingest.opendocument:extract_odp",
    ),
    Format(
        "PDF",
        "application/pdf",
        (".pdf",),
        None,
        "ibidem.ingest.pdf:extract",
        None,
        ("pypdf",),
        "pdf",
    ),
    _code("C", "c", ".c .h", "tree-sitter-c"),
    _code("C++", "cpp", ".cc .cpp .cxx .hh .hpp", "tree-sitter-cpp"),
    _code("C#", "csharp", ".cs", "tree-sitter-c-sharp"),
    _code("Go", "go", ".go", "tree-sitter-go"),
    _code("Java", "java", ".java", "tree-sitter-java"),
    _code("JavaScript", "javascript", ".js .jsx .mjs .cjs", "tree-sitter-javascript"),
    _code("PHP", "php", ".php", "tree-sitter-php"),
    _code("Ruby", "ruby", ".rb", "tree-sitter-ruby"),
    _code("Rust", "rust", ".rs", "tree-sitter-rust"),
    _code("TSX", "tsx", ".tsx", "tree-sitter-typescript"),
    _code("TypeScript", "typescript", ".ts .mts .cts", "tree-sitter-typescript"),
    _code("Bash", "bash", ".bash"),
    _code("CSS", "css", ".css"),
    _code("INI", "ini", ".cfg .ini"),
    _code("JSON", "json", ".json"),
    _code("Kotlin", "kotlin", ".kt"),
    _code("Lua", "lua", ".lua"),
    _code("Perl", "perl", ".pl"),
    _code("R", "r", ".r"),
    _code("Scala", "scala", ".scala"),
    _code("shell", "sh", ".sh"),
    _code("SQL", "sql", ".sql"),
    _code("Swift", "swift", ".swift"),
    _code("TOML", "toml", ".toml"),
    _code("XML", "xml", ".xml"),
    _code("YAML", "yaml", ".yaml .yml"),
    _code("Zig", "zig", ".zig"),
)
CONVERTED = {
    ".doc": "docx",
    ".dot": "docx",
    ".pages": "docx",
    ".rtf": "docx",
    ".wpd": "docx",
    ".numbers": "xlsx",
    ".xls": "xlsx",
    ".xlsb": "xlsx",
    ".pps": "pptx",
    ".ppt": "pptx",
}
"""Suffixes of documents that are not read, and the format that LibreOffice converts them to."""
TEXT = next(each for each in FORMATS if each.name == "plain text")
"""The format of files with any other suffix."""

MEDIA_TYPES = tuple(dict.fromkeys(each.media_type for each in FORMATS))

_BY_SUFFIX = {suffix: each for each in FORMATS for suffix in each.suffixes}


def suffix_of(path: str) -> str:
    """Returns the suffix of a file's name in lower case, as `pathlib` has it.

    >>> [suffix_of(path) for path in ("a/b.MD", ".gitignore", "b.c/d", "e.")]
    ['.md', '', '', '']
    """
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot:].lower() if 0 < dot < len(name) - 1 else ""


def has_suffix(path: str) -> bool:
    """Returns whether the name of a file ends in a suffix that only files have."""
    found = _BY_SUFFIX.get(suffix_of(path))
    return found is not None and found.is_named


def format_of(path: str, media_type: str | None = None) -> Format:
    """Returns the format of a document.

    Args:
        path: its suffix decides if `media_type` is None.
        media_type: one of `MEDIA_TYPES`, or None.

    Raises:
        InvalidInputError: the media type is unknown.
    """
    found = _BY_SUFFIX.get(suffix_of(path), TEXT)
    if media_type in (None, found.media_type):
        return found
    if media_type == PLAIN:
        return TEXT
    for each in FORMATS:
        if each.media_type == media_type:
            return each
    raise InvalidInputError(
        f"media_type: got {media_type!r}, expected one of {', '.join(MEDIA_TYPES)}"
    )
