#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lint the English of the repository; `python3 dev.py prose` runs it.

Each file has a quota of findings in `prose_quota.txt`. A quota can only fall. A file that is not listed has quota 0.
docs/developing.md describes the rules.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from checks.tracked import tracked_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
QUOTA = Path("checks", "prose_quota.txt")
FOLDERS = (".ci", "bench", "checks", "deploy", "docs", "examples", "release", "src", "tests")

# The style guide allows a docstring's first line this many words.
FIRST_LINE_WORDS = 12
EXCERPT_LENGTH = 60

CURES = {
    "opening": "start with the subject, such as client, caller or worker",
    "person": "name the caller, user, worker, administrator, client or directory",
    "anew": "say again",
    "told": "say reported or notified",
    "along": "say included",
    "stand": "say is, or name the place",
    "mend": "say fix",
    "first-line": f"start a docstring with a line of at most {FIRST_LINE_WORDS} words",
}

WORDS = {
    "person": r"somebody|nobody|who(?:m|so)?ever",
    "anew": r"anew",
    "told": r"told",
    "along": r"(?:come|comes|came|coming)\s+along",
    "stand": r"stand|stands|stood|standing",
    "mend": r"mend|mends|mended|mending",
}
# Hyphenated compounds such as stand-in are other words.
WORD = re.compile(
    rf"(?<![\w-])(?:{'|'.join(f'(?P<{rule}>{words})' for rule, words in WORDS.items())})(?![\w-])", re.IGNORECASE
)
# A text may start in lower case, as table cells and labels do; a later sentence starts with a capital letter.
OPENING = re.compile(
    r"""(?:\A(?P<first>["'(\[*_]*(?i:what|who|whose)\b)"""
    r"""|[.!?:]["')\]*_]*\s+(?P<later>["'(\[*_]*(?:What|Who|Whose)\b))"""
)
# Part of every finding but a long first line: most texts have none of these and need no closer look.
SUSPECT = re.compile(r"what|who|somebody|nobody|anew|told|along|stand|stood|mend", re.IGNORECASE)
SUSPECT_COMMENT = re.compile(f"#.*(?:{SUSPECT.pattern})", re.IGNORECASE)
SENTENCE_END = re.compile(r"""[.!?](?=["')\]*_]*(?:\s|\Z))""")

# Exempt: fenced code, code spans, link targets, addresses.
FENCE = re.compile(r"^[ \t>]*(?P<fence>```+|~~~+).*?(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`)", re.DOTALL)
TARGET = re.compile(r"(?<=\])\([^)\s]*\)|\bhttps?://\S+")
LIST_ITEM = re.compile(r"(?:[-*+]|\d+[.)]|>)\s+")

HASH_COMMENT = re.compile(r"(?P<before>(?:.*?\s)??)(?P<comment>#(?:[#\s].*)?)$")
DASH_COMMENT = re.compile(r"""'[^']*'|"[^"\n]*"|(?P<comment>--[^\n]*|/\*.*?\*/)""", re.DOTALL)
SQL = re.compile(r"\s*(?:--|(?:SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|DROP|GRANT|MERGE|DO|SET)\b)")
DIRECTIVE = re.compile(
    r"(?:noqa(?::\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)?|type:\s*ignore(?:\[[\w, -]+\])?|(?:fmt|mypy|ruff):\s*\S+)[\s#]*"
)

# In pages, a separator replaces all that splits texts; values and inline tags are parts of a sentence.
SEPARATOR = "\x1f"
JINJA_VALUE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
JINJA_NOTE = re.compile(r"\{#(?P<text>.*?)#\}", re.DOTALL)
JINJA_STATEMENT = re.compile(r"\{%.*?%\}", re.DOTALL)
JINJA_TEXT = re.compile(r"""(?P<quote>["'])(?P<text>.*?)(?P=quote)""", re.DOTALL)
PAGE_CODE = re.compile(r"<(?P<tag>pre|script|style)\b.*?</(?P=tag)>", re.DOTALL)
TAG = re.compile(r"<(?!/?(?:a|abbr|b|code|em|i|span|strong)\b)[^>]*>")
INLINE_TAG = re.compile(r"<[^>]*>")
ATTRIBUTE = re.compile(r"""\b(?:alt|aria-label|placeholder|title)="(?P<text>[^"]*)\"""")


class Text(NamedTuple):
    """A piece of English and the line it starts on."""

    line: int
    text: str
    is_docstring: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a rule."""

    line: int
    rule: str
    excerpt: str

    def __str__(self) -> str:
        """Render the line, the rule, the text and the cure."""
        return f"{self.line}: {self.rule}: {self.excerpt} ({CURES[self.rule]})"


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Compare the repository with its quotas, or list the findings under the given paths."""
    parser = argparse.ArgumentParser(prog="python3 dev.py prose", description=__doc__)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="List all findings in these files and folders.")
    parser.add_argument("--freeze", action="store_true", help="Lower each quota to the number of findings.")
    parser.add_argument(
        "--moved",
        nargs=2,
        action="append",
        default=[],
        metavar=("OLD", "NEW"),
        help="Share the quotas of the named files among them after a move, a merge or a split; repeatable.",
    )
    options = parser.parse_args(arguments)
    found = {path: findings(path, root) for path in files(root)}
    if options.paths:
        chosen = [(root / path).resolve() for path in options.paths]
        if missing_paths := [str(path) for path in chosen if not path.exists()]:
            parser.error(f"No such file or folder: {', '.join(missing_paths)}")
        return show({path: each for path, each in found.items() if is_under(root / path, chosen)})
    quotas, counts = read_quotas(root), {path: len(each) for path, each in found.items()}
    paths = {path for pair in options.moved for path in pair}
    missing = sum(counts.get(path, 0) for path in paths) - sum(quotas.get(path, 0) for path in paths)
    if missing > 0:
        print(f"The moved files have {missing} more findings than their quotas allow. Fix those, then repeat.")
        return 1
    quotas |= {path: counts.get(path, 0) for path in paths}
    if options.freeze or options.moved:
        quotas = freeze(quotas, counts)
        write_quotas(quotas, root)
    return compare(quotas, found)


def is_under(file: Path, chosen: list[Path]) -> bool:
    """Decide whether a file is one of some paths or lies below one."""
    return any(file.resolve().is_relative_to(path) for path in chosen)


def show(found: dict[str, list[Finding]]) -> int:
    """Print findings, and their number by rule."""
    for path, each in found.items():
        for finding in each:
            print(f"{path}:{finding}")
    rules = Counter(finding.rule for each in found.values() for finding in each)
    print(", ".join(f"{count} {rule}" for rule, count in sorted(rules.items())) or "No findings.")
    return int(bool(rules))


def compare(quotas: dict[str, int], found: dict[str, list[Finding]]) -> int:
    """Report files above their quota, and quotas that are too high."""
    failed = False
    for path, each in found.items():
        if len(each) > quotas.get(path, 0):
            failed = True
            for finding in each:
                print(f"{path}:{finding}")
            quota = quotas.get(path, 0)
            print(f"{path} has {len(each)} findings; its quota is {quota}. See docs/developing.md, English.")
    high = [path for path, quota in quotas.items() if len(found.get(path, ())) < quota]
    for path in high:
        print(f"{path} has {len(found.get(path, ()))} findings; its quota is {quotas[path]}.")
    if high:
        print("Quotas only fall: run `python3 dev.py prose --freeze`, or with `--moved OLD NEW` after a move.")
    return int(failed or bool(high))


def freeze(quotas: dict[str, int], counts: dict[str, int]) -> dict[str, int]:
    """Lower each quota to the number of findings; never raise one."""
    lowered = {path: min(quota, counts.get(path, 0)) for path, quota in quotas.items()}
    return {path: quota for path, quota in lowered.items() if quota}


def read_quotas(root: Path) -> dict[str, int]:
    """Read the quota of each file that has one."""
    lines = (root / QUOTA).read_text(encoding="utf-8").splitlines()
    return {path: int(quota) for path, quota in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def write_quotas(quotas: dict[str, int], root: Path) -> None:
    """Write the quotas, sorted by path."""
    head = "# Findings of `python3 dev.py prose` that each file may have. Written by `--freeze`; quotas only fall.\n"
    lines = [f"{path} {quota}\n" for path, quota in sorted(quotas.items())]
    (root / QUOTA).write_text(head + "".join(lines), encoding="utf-8")


def files(root: Path) -> list[str]:
    """List the files that the lint can read, sorted by path: those that git knows, if it is a repository."""
    everything = [*root.iterdir(), *(file for folder in FOLDERS for file in (root / folder).rglob("*"))]
    tracked = tracked_files(root)
    known = everything if tracked is None else set(everything).intersection(tracked)
    readable = [file for file in known if file.suffix in READERS and file.name != "LICENSE" and file.is_file()]
    return sorted(file.relative_to(root).as_posix() for file in readable)


def findings(path: str, root: Path) -> list[Finding]:
    """Lint one file."""
    source = (root / path).read_text(encoding="utf-8")
    texts = [*READERS[Path(path).suffix](source, path)]
    found = [finding for text in texts for finding in text_findings(text)]
    if path.startswith("src/"):
        found += [finding for text in texts if text.is_docstring for finding in long_first_line(text)]
    return sorted(found, key=lambda finding: (finding.line, finding.rule))


def text_findings(text: Text) -> Iterator[Finding]:
    """Find openings and words in one text, outside of code."""
    if not SUSPECT.search(text.text):
        return
    for line, block in blocks(text):
        for match in OPENING.finditer(block):
            start = max(match.start("first"), match.start("later"))
            end = SENTENCE_END.search(block, start)
            if end is None or end[0] != "?":
                yield finding_at(line, block, start, "opening")
        for match in WORD.finditer(block):
            yield finding_at(line, block, match.start(), str(match.lastgroup))


def finding_at(line: int, block: str, start: int, rule: str) -> Finding:
    """Describe a finding by its line and the text from there on."""
    excerpt = re.sub("__+", "...", " ".join(block[start:].split()))
    shortened = excerpt if len(excerpt) <= EXCERPT_LENGTH else excerpt[: EXCERPT_LENGTH - 3] + "..."
    return Finding(line + block.count("\n", 0, start), rule, shortened)


def long_first_line(text: Text) -> Iterator[Finding]:
    """Report a docstring whose first line has too many words; a code span is one word."""
    first, _, _ = without_code(text.text).lstrip().partition("\n")
    words = [word for word in first.split() if re.search(r"\w", word)]
    if len(words) > FIRST_LINE_WORDS:
        yield finding_at(text.line, first, 0, "first-line")


def blocks(text: Text) -> Iterator[tuple[int, str]]:
    """Split a text into paragraphs, headings, list items and table cells, each with its line."""
    gathered: list[str] = []
    start = text.line
    for line, content in enumerate(without_code(text.text).split("\n"), text.line):
        stripped = content.strip()
        is_row, is_heading = stripped.startswith("|"), stripped.startswith("#")
        item = LIST_ITEM.match(stripped)
        if gathered and (is_row or is_heading or item or not stripped):
            yield start, "\n".join(gathered)
            gathered = []
        if is_row:
            yield from ((line, cell.strip()) for cell in stripped.split("|") if cell.strip())
        elif is_heading:
            yield line, stripped.lstrip("# ")
        elif stripped:
            start = start if gathered else line
            gathered.append(stripped[item.end() :] if item else stripped)
    if gathered:
        yield start, "\n".join(gathered)


def without_code(text: str) -> str:
    """Blank out code, link targets and addresses; lines and positions stay."""
    text = FENCE.sub(lambda match: blank(match[0], " "), text)
    text = CODE.sub(lambda match: blank(match[0], "_"), text)
    return TARGET.sub(lambda match: blank(match[0], "_"), text)


def blank(text: str, character: str) -> str:
    """Replace all but line ends, so that what follows keeps its line."""
    return re.sub(r"[^\n]", character, text)


def python_texts(source: str, path: str) -> Iterator[Text]:
    """Read docstrings and comments, and outside of tests the string literals that are prose."""
    nodes = [*ast.walk(ast.parse(source))]
    docstrings = {id(docstring(node)) for node in nodes}
    is_test = path.startswith("tests/")
    # A literal inside an f-string is read as a part of it.
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in docstrings:
                yield Text(node.lineno, node.value, is_docstring=True)
            elif not is_test and id(node) not in parts:
                yield from literal_texts(node.lineno, node.value)
        elif isinstance(node, ast.JoinedStr) and not is_test:
            pieces = [str(part.value) if isinstance(part, ast.Constant) else "_" for part in node.values]
            yield from literal_texts(node.lineno, "".join(pieces))
    if not SUSPECT_COMMENT.search(source):
        return
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT and token.string[:2] != "#!"]
    yield from joined((token.line[: token.start[1]], token.start[0], token.string) for token in comments)


def docstring(node: ast.AST) -> ast.Constant | None:
    """Find the docstring of a module, class or function."""
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
        return None
    first = node.body[0]
    return first.value if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) else None


def literal_texts(line: int, text: str) -> Iterator[Text]:
    """Take a string literal as prose if it has a space or is one capitalized word; of SQL, take the comments."""
    if SQL.match(text):
        yield from (Text(line + each.line - 1, each.text) for each in dash_comments(text, ""))
    elif text.startswith((" ", ",", ";")):
        # The literal continues a sentence.
        yield Text(line, f"_{text}")
    elif " " in text or re.fullmatch(r"[A-Z][a-z]+", text):
        yield Text(line, text)


def hash_comments(source: str, _: str) -> Iterator[Text]:
    """Read the comments of TOML, YAML, shell and the like."""
    lines = ((line, HASH_COMMENT.match(content)) for line, content in enumerate(source.splitlines(), 1))
    yield from joined((match["before"], line, match["comment"]) for line, match in lines if match)


def joined(comments: Iterable[tuple[str, int, str]]) -> Iterator[Text]:
    """Join comments that fill consecutive lines; each comes with the code before it and its line."""
    gathered: list[str] = []
    first, indent_before = 0, ""
    for before, line, comment in comments:
        if gathered and (line != first + len(gathered) or before != indent_before):
            yield Text(first, "\n".join(gathered))
            gathered = []
        first, indent_before = first if gathered else line, before
        gathered.append(DIRECTIVE.sub("", comment.lstrip("#: "), count=1))
    if gathered:
        yield Text(first, "\n".join(gathered))


def dash_comments(source: str, _: str) -> Iterator[Text]:
    """Read the comments of SQL and Lua; those of consecutive lines belong together."""
    found = [match for match in DASH_COMMENT.finditer(source) if match["comment"]]
    lines = ((source.count("\n", 0, match.start()) + 1, match["comment"]) for match in found)
    yield from joined(("", line, comment.removesuffix("*/").lstrip("-/* ")) for line, comment in lines)


def markdown_texts(source: str, _: str) -> Iterator[Text]:
    """Read a whole page of Markdown."""
    yield Text(1, source)


def page_texts(source: str, _: str) -> Iterator[Text]:
    """Read the text, the labels and the notes of a Jinja page."""
    for pattern in (ATTRIBUTE, JINJA_NOTE):
        for match in pattern.finditer(source):
            yield Text(source.count("\n", 0, match.start()) + 1, match["text"])
    for statement in JINJA_STATEMENT.finditer(source):
        for match in JINJA_TEXT.finditer(statement[0]):
            yield from literal_texts(source.count("\n", 0, statement.start() + match.start()) + 1, match["text"])
    visible = JINJA_VALUE.sub(lambda match: blank(match[0], "_"), source)
    for pattern in (JINJA_NOTE, JINJA_STATEMENT, PAGE_CODE, TAG):
        visible = pattern.sub(separator, visible)
    visible = INLINE_TAG.sub("", visible)
    for match in re.finditer(f"[^{SEPARATOR}]+", visible):
        yield Text(visible.count("\n", 0, match.start()) + 1, match[0])


def separator(match: re.Match[str]) -> str:
    """Replace a tag or statement by separators."""
    return blank(match[0], SEPARATOR)


READERS: dict[str, Callable[[str, str], Iterable[Text]]] = {
    ".py": python_texts,
    ".sql": dash_comments,
    ".lua": dash_comments,
    ".md": markdown_texts,
    ".html": page_texts,
    ".toml": hash_comments,
    ".yaml": hash_comments,
    ".service": hash_comments,
    ".env": hash_comments,
    "": hash_comments,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
