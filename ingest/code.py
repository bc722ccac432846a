"""Program source to marks by tree-sitter: one passage per definition, under the names that enclose
it.

The source is stored byte for byte, as for Python: a name is a heading without source, and the
comments and attributes above a definition belong to it. Source with syntax errors is cut as far as
it can be parsed.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from ibidem.ingest.extraction import Extraction
from ibidem.ingest.html_tree import words
from ibidem.ingest.mark import BOM, Heading, Layout, Mark, SectionEnd, trim
from ibidem.ingest.plain import code_marks, source_blocks
from ibidem.objects.record import record

NAME_CHARS_MAX = 256
DEPTH_MAX = 16

_BODIES = words(
    """
    block body_statement class_body declaration_list enum_body field_declaration_list
    interface_body object_type program statement_block linkage_specification enum_body_declarations
    preproc_if preproc_ifdef preproc_elif preproc_elifdef preproc_else
    """
)
"""Nodes that can contain definitions; the content of any other node is not cut."""
_WRAPPERS = words("export_statement template_declaration")
_COMMENTS = ("comment", "attribute", "decorator")
_FUNCTIONS = words(
    """
    function_declaration generator_function_declaration method_definition function_definition
    function_item method_declaration constructor_declaration method singleton_method
    abstract_method_signature function_signature_item
    """
)
_CONTAINERS = words(
    """
    class_declaration abstract_class_declaration interface_declaration enum_declaration
    internal_module struct_item enum_item trait_item impl_item mod_item record_declaration
    struct_specifier class_specifier enum_specifier namespace_definition namespace_declaration
    struct_declaration module class trait_declaration type_alias_declaration type_declaration
    type_item union_item annotation_type_declaration
    """
)
_NOTE = r"(?:[ \t]*(?://[^\n]{0,100}$|/\*[^\n]{0,100}?\*/))?+"
_LINE_REST = re.compile(rf"[ \t]*[;,]*{_NOTE}", re.MULTILINE)
_CLOSING = re.compile(
    rf"(?:(?:\}}|#[ \t]*(?:endif|else)\b){_NOTE}|[^\w\s]|\s|\bend\b)*+", re.MULTILINE
)
"""Text that closes a definition or what is around it, and has no content of its own but notes of
what that is."""

_CPP = re.compile(r"^(?:class|namespace|template)\b", re.MULTILINE)
"""How a line begins that no program in C has."""


@record
class Grammar:
    """The location of a language's grammar: a module and the function in it."""

    module: str
    function: str = "language"


GRAMMARS = {
    "c": Grammar("tree_sitter_c"),
    "cpp": Grammar("tree_sitter_cpp"),
    "csharp": Grammar("tree_sitter_c_sharp"),
    "go": Grammar("tree_sitter_go"),
    "java": Grammar("tree_sitter_java"),
    "javascript": Grammar("tree_sitter_javascript"),
    "php": Grammar("tree_sitter_php", "language_php"),
    "ruby": Grammar("tree_sitter_ruby"),
    "rust": Grammar("tree_sitter_rust"),
    "tsx": Grammar("tree_sitter_typescript", "language_tsx"),
    "typescript": Grammar("tree_sitter_typescript", "language_typescript"),
}


def extract(data: bytes, language: str) -> Extraction:
    """Returns the marks of a program; its text is unchanged and is not returned."""
    from tree_sitter import Language, Parser

    source = data.decode("utf-8")
    grammar = _grammar(language, source)
    module = importlib.import_module(grammar.module)
    tree = Parser(Language(getattr(module, grammar.function)())).parse(data)
    start = len(BOM) if source.startswith(BOM) else 0
    marks = _Cut(source, data, language).body(tree.root_node, start, len(source), 1)
    return Extraction("", tuple(marks))


def _grammar(language: str, source: str) -> Grammar:
    """Returns the grammar of a program: a header of C++ may have the suffix of C."""
    if language == "c" and _CPP.search(source) and find_spec(GRAMMARS["cpp"].module):
        language = "cpp"
    return GRAMMARS[language]


class _Cut:
    def __init__(self, source: str, data: bytes, language: str) -> None:
        self._source = source
        self._data = data
        self._language = language
        self._ascii = len(source) == len(data)
        self._bytes = self._chars = 0

    def body(self, node: Any, start: int, stop: int, level: int) -> Iterator[Mark]:
        """Yields the marks of a program, or of a definition that contains others."""
        done = start
        found = list(self._definitions(node, start))
        for index, (inner, begin, end) in enumerate(found):
            begin = max(begin, done)
            end = self._end(end, found[index + 1][1] if index + 1 < len(found) else stop, stop)
            text_range = trim(self._source, begin, end)
            if text_range is None:
                continue
            yield from self._own(done, begin, level)
            yield Heading(text_range[0], text_range[0], level, _name(inner))
            if _has_members(inner) and level < DEPTH_MAX:
                yield from self.body(inner, begin, end, level + 1)
            else:
                yield from source_blocks(self._source, begin, end, self._language)
            yield SectionEnd(end, end, level)
            done = end
        yield from self._own(done, stop, level)

    def _end(self, end: int, following: int, stop: int) -> int:
        """Returns the end of a definition, including the text that closes it and its enclosing
        nodes.

        Args:
            following: the start of the next definition, or `stop`.
        """
        end = self._line_end(end, stop)
        if _CLOSING.fullmatch(self._source, end, following):
            return self._line_end(following, stop)
        return end

    def _line_end(self, end: int, stop: int) -> int:
        """Returns the end of what follows a definition on its last line and is about it."""
        rest = _LINE_REST.match(self._source, end, stop)
        return end if rest is None else rest.end()

    def _own(self, start: int, stop: int, level: int) -> Iterator[Mark]:
        """Yields what is between definitions; text that closes something is layout."""
        read: Iterator[Mark] = source_blocks(self._source, start, stop, self._language)
        if level == 1:
            read = code_marks(self._source, self._language, start, stop)
        for mark in read:
            is_closing = _CLOSING.fullmatch(self._source, mark.start, mark.stop)
            yield Layout(mark.start, mark.stop) if is_closing else mark

    def _definitions(self, node: Any, start: int) -> Iterator[tuple[Any, int, int]]:
        """Yields the definitions in a node, with the start (comments above included) and end of
        each."""
        stack = [(child, None) for child in reversed(node.children)]
        begin = start
        while stack:
            child, wrapper = stack.pop()
            stop = self._char((wrapper or child).end_byte)
            if _is_definition(child):
                yield child, begin, stop
                begin = stop
            elif child.type in _BODIES:
                stack.extend((each, None) for each in reversed(_content(child)))
            elif child.type in _WRAPPERS and _has_members(child):
                stack.extend((each, wrapper or child) for each in reversed(child.children))
            elif wrapper is None and not any(word in child.type for word in _COMMENTS):
                begin = max(begin, stop)

    def _char(self, at: int) -> int:
        """Returns the character offset of a byte offset; calls come in roughly ascending order."""
        if self._ascii:
            return at
        if at < self._bytes:
            self._chars -= len(self._data[at : self._bytes].decode("utf-8", "replace"))
        else:
            self._chars += len(self._data[self._bytes : at].decode("utf-8", "replace"))
        self._bytes = at
        return self._chars


def _is_definition(node: Any) -> bool:
    if node.type in _FUNCTIONS:
        return True
    if node.type in ("lexical_declaration", "variable_declaration"):  # const f = () => ...
        values = [child.child_by_field_name("value") for child in node.named_children]
        return len(values) == 1 and values[0] is not None and "function" in values[0].type
    if node.type in ("namespace_definition", "struct_specifier", "enum_specifier"):
        return node.child_by_field_name("body") is not None
    return node.type in _CONTAINERS and node.is_named


def _content(node: Any) -> list[Any]:
    """Returns the children of a node, without a condition of the preprocessor, which belongs to the
    definition below it as comments do."""
    children: list[Any] = node.children
    if node.type.startswith("preproc_if") or node.type.startswith("preproc_elif"):
        return [child for child in children[2:] if child.type != "\n"]
    return children


def _has_members(node: Any) -> bool:
    """Whether there are definitions in a node, other than inside a function."""
    if node.type in _FUNCTIONS:
        return False
    stack = list(node.children)
    while stack:
        child = stack.pop()
        if _is_definition(child):
            return True
        if child.type in _BODIES or child.type in _WRAPPERS:
            stack.extend(child.children)
    return False


def _name(node: Any) -> str:
    """Returns the name of a definition; of a method in Go, with its receiver's type."""
    found = node.child_by_field_name("name") or node.child_by_field_name("declarator")
    if found is None:
        inner = (child.child_by_field_name("name") for child in node.named_children)
        found = node.child_by_field_name("type") or next(filter(None, inner), None)
    while found is not None and (inner_name := found.child_by_field_name("declarator")):
        found = inner_name
    name = str(node.type).replace("_", " ") if found is None else _text(found)
    receiver = node.child_by_field_name("receiver")
    if receiver is not None:
        words_of = receiver.text.decode("utf-8", "replace").strip("()").replace("*", " ").split()
        name = f"{words_of[-1].partition('[')[0]}.{name}" if words_of else name
    return name[:NAME_CHARS_MAX]


def _text(node: Any) -> str:
    return " ".join(node.text.decode("utf-8", "replace").partition("(")[0].split()).lstrip("*& ")
