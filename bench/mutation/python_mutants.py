# SPDX-License-Identifier: Apache-2.0
"""Mutants of Python source: changed operators, conditions, constants and tables, and removed statements.

Sentences (texts with a space) stay as they are, because tests must not assert them. Annotations, decorators and the
bodies of f-strings stay as well: the first two have no behaviour of their own, and Python 3.11 has no positions for
the last.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from bench.mutation.mutants import Edit, iterate_gaps

_COMPARISONS: Mapping[type[ast.cmpop], tuple[bytes, Sequence[bytes]]] = {
    ast.Lt: (rb"<", [b"<=", b">="]),
    ast.LtE: (rb"<=", [b"<", b">"]),
    ast.Gt: (rb">", [b">=", b"<="]),
    ast.GtE: (rb">=", [b">", b"<"]),
    ast.Eq: (rb"==", [b"!="]),
    ast.NotEq: (rb"!=", [b"=="]),
    ast.Is: (rb"\bis\b", [b"is not"]),
    ast.IsNot: (rb"\bis\s+not\b", [b"is"]),
    ast.In: (rb"\bin\b", [b"not in"]),
    ast.NotIn: (rb"\bnot\s+in\b", [b"in"]),
}
_OPERATORS: Mapping[type[ast.operator], tuple[bytes, bytes]] = {
    ast.Add: (rb"\+", b"-"),
    ast.Sub: (rb"-", b"+"),
    ast.Mult: (rb"\*", b"/"),
    ast.Div: (rb"/", b"*"),
    ast.FloorDiv: (rb"//", b"*"),
    ast.Mod: (rb"%", b"*"),
    ast.BitAnd: (rb"&", b"|"),
}
_FUNCTIONS: Mapping[str, bytes] = {"min": b"max", "max": b"min", "any": b"all", "all": b"any", "sorted": b"list"}
_METHODS: Mapping[str, bytes] = {
    "startswith": b"endswith",
    "endswith": b"startswith",
    "partition": b"rpartition",
    "rpartition": b"partition",
    "removeprefix": b"removesuffix",
    "removesuffix": b"removeprefix",
}
_DROPPED_METHODS = ("lower", "upper", "casefold", "strip", "lstrip", "rstrip")
# Their strings are names for type checkers and logs.
_UNCHANGED_CALLS = ("TypeVar", "NewType", "cast", "get_logger", "ParamSpec")
# A shorter literal is rarely a table.
_SMALLEST_TABLE = 3


def python_edits(source: bytes) -> Iterable[Edit]:
    """List all changes of a module."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    return finder.edits


class _Finder(ast.NodeVisitor):
    def __init__(self, source: bytes) -> None:
        self.edits: list[Edit] = []
        self._source = source
        self._lines = [0, *(match.end() for match in re.finditer(rb"\n", source))]
        self._scope: list[str] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._scope.append(node.name)
        self._visit_all(node.body)
        self._scope.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        # Names for `import *`, which the linter forbids.
        if not (isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"):
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave f-strings as they are."""

    def visit_Import(self, node: ast.Import) -> None:
        """Leave imports as they are."""

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # A docstring.
        if isinstance(node.value, ast.Call | ast.Await | ast.Yield | ast.YieldFrom):
            self._replace(node, b"pass")
        self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace(node, b"pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._change_operator(node.op, self._end(node.target), self._start(node.value))
        self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self._negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [(self._start(each), self._end(each)) for each in (node.left, *node.comparators)]
        for operator, (start, end) in zip(node.ops, iterate_gaps(operands), strict=True):
            pattern, replacements = _COMPARISONS[type(operator)]
            for replacement in replacements:
                self._change_between(start, end, pattern, replacement)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        word, other = (rb"\band\b", b"or") if isinstance(node.op, ast.And) else (rb"\bor\b", b"and")
        for start, end in iterate_gaps([(self._start(each), self._end(each)) for each in node.values]):
            self._change_between(start, end, word, other)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._replace(node, b"bool(" + self._text(node.operand) + b")")
        elif isinstance(node.op, ast.USub):
            self._replace(node, self._text(node.operand))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._change_operator(node.op, self._end(node.left), self._start(node.right))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._replace(node, str(not value).encode())
        elif isinstance(value, int | float):
            self._replace(node, str(value + 1).encode())
        elif isinstance(value, str) and " " not in value:
            self._replace(node, repr(f"XX{value}").encode())

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Name):
            if function.id in _UNCHANGED_CALLS:
                return
            if function.id in _FUNCTIONS:
                self._replace(function, _FUNCTIONS[function.id])
        elif isinstance(function, ast.Attribute):
            if function.attr in _UNCHANGED_CALLS:
                return
            if function.attr in _DROPPED_METHODS and not node.args:
                self._replace(node, self._text(function.value))
            elif function.attr in _METHODS:
                start = self._end(function) - len(function.attr)
                self._add(start, self._end(function), _METHODS[function.attr])
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        spans = [
            (self._start(key), self._end(value))
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None
        ]
        if len(spans) == len(node.keys):
            self._drop_elements(spans)
        self.generic_visit(node)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        self._visit_collection(node, node.elts)

    def visit_List(self, node: ast.List) -> None:
        self._visit_collection(node, node.elts)

    def visit_Set(self, node: ast.Set) -> None:
        self._visit_collection(node, node.elts)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        # A tuple as an index is a generic type.
        if not isinstance(node.slice, ast.Tuple):
            self.visit(node.slice)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._scope.append(node.name)
        self._visit_all([*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)])
        self._visit_all(node.body)
        self._scope.pop()

    def _visit_collection(self, node: ast.expr, elements: Sequence[ast.expr]) -> None:
        if all(isinstance(each, ast.Constant | ast.Attribute | ast.Name) for each in elements):
            self._drop_elements([(self._start(each), self._end(each)) for each in elements])
        self.generic_visit(node)

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def _drop_elements(self, spans: Sequence[tuple[int, int]]) -> None:
        if len(spans) < _SMALLEST_TABLE:
            return
        for (start, _), (following, _) in pairwise(spans):
            self._add(start, following, b"")
        self._add(spans[-2][1], spans[-1][1], b"")

    def _negate(self, test: ast.expr) -> None:
        # The operators of other conditions are changed themselves.
        if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            self._replace(test, b"not (" + self._text(test) + b")")

    def _change_operator(self, operator: ast.operator, start: int, end: int) -> None:
        pattern, replacement = _OPERATORS.get(type(operator), (b"", b""))
        if pattern:
            suffix = b"=" if self._source[start:end].rstrip().endswith(b"=") else b""
            self._change_between(start, end, pattern + suffix, replacement + suffix)

    def _change_between(self, start: int, end: int, pattern: bytes, replacement: bytes) -> None:
        match = re.search(pattern, self._source[start:end])
        if match is not None:
            self._add(start + match.start(), start + match.end(), replacement)

    def _replace(self, node: ast.expr | ast.stmt, replacement: bytes) -> None:
        self._add(self._start(node), self._end(node), replacement)

    def _add(self, start: int, end: int, replacement: bytes) -> None:
        self.edits.append(Edit(start, end, replacement, ".".join(self._scope) or "module"))

    def _text(self, node: ast.expr) -> bytes:
        return self._source[self._start(node) : self._end(node)]

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset


def executable_lines(source: bytes) -> Iterator[int]:
    """List the lines that run when the module is imported: all outside functions."""
    inside = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)
    }
    yield from (line for line in range(1, source.count(b"\n") + 2) if line not in inside)
