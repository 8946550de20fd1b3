# SPDX-License-Identifier: Apache-2.0
"""Measure the size of the code and the English of its docstrings and comments.

    python3 -m bench.house.figures [CHECKOUT...]

Code lines are neither blank, comment nor docstring. A text is a docstring or a block of comment lines. A clause is a
`what` or `who` in place of a noun, outside a question.
"""

import argparse
import ast
import io
import re
import statistics
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from bench.house.sources import files_of

# A clause in place of a noun. A relative clause ("a user who owns it") names its noun and does not count.
CLAUSE = re.compile(
    r"\b(?:what|whatever|whoever|whomever)\b|(?:\A|[,;:(]\s+|\b(?:of|by|to|for|from|with|and|or|than|as|but|is|says?)\s+)whom?\b",
    re.IGNORECASE,
)
# Standard terms of the trade (STYLE.md, 16). Any form of the word counts.
TERM = re.compile(
    r"\b(?:validat\w+|retr(?:y|ies|ied|ying)|lease\w*|cache\w*|paginat\w+|deduplicat\w+|reconcil\w+|dry[ -]runs?"
    r"|time ?outs?|idempoten\w+|backoff|claim\w*|drift|provision\w*)\b",
    re.IGNORECASE,
)


def main() -> int:
    """Print one column of figures for each checkout."""
    parser = argparse.ArgumentParser(prog="python3 -m bench.house.figures", description=__doc__)
    parser.add_argument("checkouts", type=Path, nargs="*", default=[Path.cwd()])
    columns = [figures_of(each) for each in parser.parse_args().checkouts]
    for name in columns[0]:
        print(f"{name:44}" + "".join(f"{column[name]:>12}" for column in columns))
    return 0


def figures_of(root: Path) -> dict[str, str]:
    """Measure one checkout."""
    files = [path for path in files_of(root) if path.name != "__init__.py"]
    code = {path: code_lines(path.read_text(encoding="utf-8")) for path in files_of(root)}
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    texts = [text for path in files_of(root) for text in texts_of(path.read_text(encoding="utf-8"))]
    public = [function for path in files_of(root) for function in public_functions(path)]
    folders = {path.parent for path in files}
    return {
        "files without __init__.py": f"{len(files)}",
        "lines of code": f"{sum(code.values())}",
        "lines of a file, median": f"{statistics.median(lengths):.0f}",
        "lines of a file, 90th percentile": f"{lengths[len(lengths) * 9 // 10]}",
        "modules in the largest folder": f"{max(len(list(folder.glob('*.py'))) for folder in folders)}",
        "public functions with a docstring": share(sum(function is not None for function in public), len(public)),
        "texts with a what/who clause": share(sum(has_clause(text) for text in texts), len(texts)),
        "texts with a standard term": share(sum(TERM.search(text) is not None for text in texts), len(texts)),
    }


def share(part: int, whole: int) -> str:
    """Format a share in percent."""
    return f"{part / whole:.1%}"


def code_lines(source: str) -> int:
    """Count the lines with code."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    docstrings = {line for node in documented(source) for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def documented(source: str) -> Iterator[ast.Constant]:
    """List the docstrings of a module as nodes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value


def texts_of(source: str) -> Iterator[str]:
    """List docstrings and blocks of comments."""
    yield from (str(node.value) for node in documented(source))
    block: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or re.match(r"#\s*(?:noqa|type:|fmt:)", token.string):
            continue
        if token.start[0] != last + 1 and block:
            yield " ".join(block)
            block = []
        block.append(token.string.lstrip("# "))
        last = token.start[0]
    if block:
        yield " ".join(block)


def has_clause(text: str) -> bool:
    """Return whether a sentence that is no question has a what/who clause. Code spans do not count."""
    plain = re.sub(r"`[^`]*`", "", text)
    return any(CLAUSE.search(each) and not each.endswith("?") for each in re.split(r"(?<=[.!?])\s", plain.strip()))


def public_functions(path: Path) -> Iterator[str | None]:
    """List the docstring, or None, of each public function and method."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield ast.get_docstring(node)


if __name__ == "__main__":
    sys.exit(main())
