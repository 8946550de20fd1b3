# SPDX-License-Identifier: Apache-2.0
"""Codes and values of faults in the source, by the calls that make faults."""

import ast
import inspect
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BUILDERS = {"Fault.build", "Malformed.build", "Conflict.build", "LimitReached"}
# Functions that make faults with one code, with the values that they add.
_HELPERS: Mapping[str, tuple[str, frozenset[str]]] = {
    "_out_of_bounds": ("outOfBounds", frozenset({"property"})),
    "NamingRuleInvalid": ("ruleInvalid", frozenset()),
}


def codes_of_faults(*places: Path) -> set[str]:
    """The codes that faults are made with in files and folders."""
    return {code for place in places for each in phrased(place) if each.is_fault for code in each.codes}


# Any: what the functions take and answer does not matter here.
def codes_of_functions(*functions: Callable[..., Any]) -> set[str]:
    """The codes that faults are made with in these functions themselves."""
    trees = [ast.parse(inspect.getsource(each)).body[0] for each in functions]
    functions_ = [each for each in trees if isinstance(each, ast.FunctionDef)]
    return {code for each in functions_ for call in _phrased_in(each, "") if call.is_fault for code in call.codes}


def first_arguments(place: Path, functions: set[str]) -> set[str]:
    """The texts that come first in calls of these functions."""
    return set(arguments(place, functions, index=0))


def arguments(place: Path, functions: set[str], *, index: int) -> Iterator[str]:
    """The texts at one position in calls of these functions."""
    for path in place.rglob("*.py") if place.is_dir() else (place,):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
                argument = node.args[index] if len(node.args) > index else None
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value


@dataclass(frozen=True, slots=True)
class Phrased:
    """A call that formats a sentence: codes, templates as far as they are written there, and names of values."""

    file: str
    line: int
    codes: frozenset[str]
    templates: tuple[str, ...]
    values: frozenset[str]
    is_interpolated: bool
    is_fault: bool

    @property
    def placeholders(self) -> list[frozenset[str]]:
        """The names in each template. A function may assign several to one name."""
        parsed = [string.Formatter().parse(text) for text in self.templates]
        return [frozenset(name for _, name, _, _ in each if name) for each in parsed]


def phrased(place: Path) -> Iterator[Phrased]:
    """Every call in a folder or file that formats a sentence of a fault."""
    for path in place.rglob("*.py") if place.is_dir() else (place,):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _phrased_in(function, path.relative_to(place).as_posix())


def _phrased_in(function: ast.FunctionDef | ast.AsyncFunctionDef, file: str) -> Iterator[Phrased]:
    texts = _texts(function)
    for node in ast.walk(function):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if not isinstance(node, ast.Call) or called not in _BUILDERS | _HELPERS.keys():
            continue
        at = {"Fault.build": 1, "_out_of_bounds": 0, "NamingRuleInvalid": 0}.get(called, 0)
        helper = _HELPERS.get(called)
        codes = frozenset([helper[0]]) if helper else frozenset(_codes(node.args[at], texts))
        values = {keyword.arg for keyword in node.keywords if keyword.arg} - {"limit", "after", "values"}
        values |= {name for keyword in node.keywords if keyword.arg == "values" for name in _keys(keyword.value)}
        templates = tuple(_codes(node.args[at + 1], texts))
        values |= helper[1] if helper else set()
        yield Phrased(
            file,
            node.lineno,
            codes,
            templates,
            frozenset(values),
            is_interpolated=_is_interpolated(node.args[at + 1], texts),
            is_fault=called == "Fault.build",
        )


def _is_interpolated(node: ast.expr, texts: Mapping[str, list[ast.expr]]) -> bool:
    given = [node, *texts.get(node.id, ())] if isinstance(node, ast.Name) else [node]
    return any(isinstance(part, ast.FormattedValue) for each in given for part in ast.walk(each))


def _keys(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Dict):
        yield from (key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


def _texts(function: ast.AST) -> Mapping[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                _assign(found, target, node.value)
    return found


def _assign(found: dict[str, list[ast.expr]], target: ast.expr, given: ast.expr) -> None:
    if isinstance(target, ast.Tuple) and isinstance(given, ast.Tuple):
        for one, value in zip(target.elts, given.elts, strict=True):
            _assign(found, one, value)
    elif isinstance(target, ast.Name):
        found.setdefault(target.id, []).append(given)


def _codes(node: ast.expr, texts: Mapping[str, list[ast.expr]]) -> Iterator[str]:
    """The texts that an expression can be. A part that is written elsewhere is left out."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name(id=name):
            for each in texts.get(name, ()):
                yield from _codes(each, {})
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*_codes(body, texts), *_codes(orelse, texts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            ends = list(_codes(right, texts)) or [""]
            yield from (first + end for first in list(_codes(left, texts)) or [""] for end in ends)
        case ast.JoinedStr(values=parts):
            yield "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
        case _:
            return
