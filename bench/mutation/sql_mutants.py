# SPDX-License-Identifier: Apache-2.0
"""Mutants of SQL functions: changed comparisons, literals and logic, and removed conditions and clauses.

Comments, names, planner settings and grants stay as they are. A grant without its function fails every test, and a
planner setting changes only the speed. The database refuses some mutants as bad syntax; those do not count.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.mutation.mutants import Edit

_TOKEN = re.compile(
    rb"(?P<skip>\s+|--[^\n]*|\$\$)|(?P<string>'(?:[^']|'')*')|(?P<number>\d+(?:\.\d+)?)|(?P<word>[A-Za-z_][\w.]*)"
    rb"|(?P<sign>::|:=|<=|>=|<>|->>|->|@>|\|\||.)",
    re.DOTALL,
)
_FUNCTION = re.compile(rb"CREATE OR REPLACE (?:FUNCTION|AGGREGATE|TRIGGER) ([\w.]+)")
# Statements that have no behaviour of their own, or no condition that a test could miss.
_LEFT_ALONE = re.compile(
    rb"^(?:GRANT|REVOKE|DROP FUNCTION)[^;]*;|\bSET (?:plan_cache_mode|enable_\w+|search_path) = [\w, ]+|^#[^\n]*"
    rb"|set_config\('enable_seqscan', 'off', true\)|\bRETURNS TABLE \([^$]*?\)\n|^DECLARE\n.*?^BEGIN$",
    re.MULTILINE | re.DOTALL,
)
_SIGNS: Mapping[bytes, Sequence[bytes]] = {
    b"=": [b"<>"],
    b"<>": [b"="],
    b"<": [b"<=", b">="],
    b"<=": [b"<", b">"],
    b">": [b">=", b"<="],
    b">=": [b">", b"<"],
    b"+": [b"-"],
    b"-": [b"+"],
    b"*": [b"/"],
}
_WORDS: Mapping[bytes, bytes] = {
    b"AND": b"OR",
    b"OR": b"AND",
    b"NOT": b"",
    b"true": b"false",
    b"false": b"true",
    b"greatest": b"least",
    b"least": b"greatest",
    b"DISTINCT": b"",
    b"LEFT": b"",
    b"EXISTS": b"NOT EXISTS",
    b"ANY": b"ALL",
    b"ALL": b"ANY",
    b"DESC": b"",
}
_PHRASES: Sequence[tuple[bytes, bytes]] = (
    (rb"\bIS NOT NULL\b", b"IS NULL"),
    (rb"\bIS NULL\b", b"IS NOT NULL"),
    (rb"\bIS NOT DISTINCT FROM\b", b"IS DISTINCT FROM"),
    (rb"\bON CONFLICT DO NOTHING\b", b""),
    (rb"\bFOR (?:NO KEY UPDATE|KEY SHARE|UPDATE)(?: SKIP LOCKED)?", b""),
    (rb" SKIP LOCKED\b", b""),
    (rb"\bLIMIT [\w.]+(?:\([^()]*\))?", b""),
    (rb"\bORDER BY [\w., ]+(?=[\n);])", b""),
    (rb"\bSECURITY DEFINER\b", b""),
    (rb"\bSET lock_timeout = '\w+'", b""),
    (rb"\bPERFORM [^;]+;", b"NULL;"),
    (rb"\b(?:CONTINUE|RETURN NEXT|RETURN);", b"NULL;"),
    (rb"\blower\(([^()]*)\)", rb"\1"),
    (rb"\bcoalesce\(([^(),]+(?:\([^()]*\))?), [^()]+(?:\([^()]*\))?\)", rb"\1"),
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    start: int
    end: int
    text: bytes


def sql_edits(source: bytes) -> Iterable[Edit]:
    """List all changes of a file of functions."""
    closed = [match.span() for match in _LEFT_ALONE.finditer(source)]
    tokens = list(_tokens(source))
    code = _without_comments(source)
    for start, end, replacement in (*_token_edits(tokens), *_phrase_edits(code), *_dropped_conditions(tokens)):
        if not any(first <= start < last for first, last in closed):
            yield Edit(start, end, replacement, _scope(source, start))


def _token_edits(tokens: Sequence[_Token]) -> Iterator[tuple[int, int, bytes]]:
    for place, token in enumerate(tokens):
        before = tokens[place - 1].text if place else b""
        replacements: Sequence[bytes] = ()
        if token.kind == "sign":
            replacements = _SIGNS.get(token.text, ())
        elif token.kind == "number":
            replacements = [str(int(token.text) + 1).encode()] if token.text.isdigit() else ()
        elif token.kind == "string" and b" " not in token.text and before != b"LANGUAGE":
            replacements = [b"'XX" + token.text[1:]]
        elif token.kind == "word" and token.text in _WORDS and before not in (b"NOT", b"IS", b"UNION", b"CREATE"):
            replacements = [_WORDS[token.text]]
        for replacement in replacements:
            yield token.start, token.end, replacement


def _phrase_edits(code: bytes) -> Iterator[tuple[int, int, bytes]]:
    for pattern, replacement in _PHRASES:
        for match in re.finditer(pattern, code):
            yield match.start(), match.end(), match.expand(replacement)


def _dropped_conditions(tokens: Sequence[_Token]) -> Iterator[tuple[int, int, bytes]]:
    """Remove each `AND condition`, and make each first condition of a WHERE true."""
    for place, token in enumerate(tokens):
        if token.text not in (b"AND", b"WHERE"):
            continue
        end = _end_of_condition(tokens, place + 1)
        if end > place + 1:
            yield token.start, tokens[end - 1].end, b"" if token.text == b"AND" else b"WHERE true"


def _end_of_condition(tokens: Sequence[_Token], place: int) -> int:
    depth = 0
    while place < len(tokens):
        text = tokens[place].text
        depth += (text == b"(") - (text == b")")
        ended = (
            b"AND",
            b"OR",
            b"ORDER",
            b"ON",
            b"LIMIT",
            b"FOR",
            b"RETURNING",
            b"THEN",
            b"OFFSET",
            b"LOOP",
            b"WINDOW",
            b"INTO",
        )
        if depth < 0 or (depth == 0 and (text == b";" or text in ended)):
            break
        place += 1
    return place


def _tokens(source: bytes) -> Iterator[_Token]:
    for match in _TOKEN.finditer(source):
        kind = str(match.lastgroup)
        if kind != "skip":
            yield _Token(kind, match.start(), match.end(), match.group())


def _without_comments(source: bytes) -> bytes:
    return re.sub(rb"--[^\n]*", lambda match: b" " * len(match.group()), source)


def _scope(source: bytes, place: int) -> str:
    names = [match.group(1).decode() for match in _FUNCTION.finditer(source, 0, place)]
    return names[-1].removeprefix("chamberlain.") if names else "file"
