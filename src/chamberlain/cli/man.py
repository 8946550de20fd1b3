# SPDX-License-Identifier: Apache-2.0
"""Manual pages of all commands, from the same source as their help."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from chamberlain import __version__
from chamberlain.cli.help import HelpfulGroup, examples_of, page_of, parameters, path_of, summary, usage_of

if TYPE_CHECKING:
    from typer._click import Context


def write_pages(root: "Context", folder: Path) -> int:
    """Write the pages of section 1, and return their number."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 0
    for ctx in _contexts(root):
        name = _name(ctx)
        (folder / f"{name}.1").write_text(page(ctx), encoding="utf-8")
        number += 1
    return number


def page(ctx: "Context") -> str:
    """Format the page of a command as man(7)."""
    command, name = ctx.command, _name(ctx)
    lines = [
        f'.TH "{name.upper()}" "1" "" "chamberlain {__version__}" "Chamberlain"',
        ".SH NAME",
        rf"{_text(name)} \- {_text(summary(command))}",
        ".SH SYNOPSIS",
        rf"\fB{_text(ctx.command_path)}\fR {_text(usage_of(command, ctx))}",
        ".SH DESCRIPTION",
        *_paragraphs(command.help or ""),
    ]
    if isinstance(command, HelpfulGroup):
        lines += [".SH COMMANDS", *_definitions((each, summary(command.commands[each])) for each in command.commands)]
    examples = list(examples_of(path_of(ctx)))
    if examples:
        lines += [".SH EXAMPLES", ".nf", *(_text(line) for each in examples for line in each.split("\n")), ".fi"]
    for title, rows in parameters(command, ctx).items():
        lines += [f".SH {title.upper()}", *_definitions(iter(rows))]
    lines += [".SH SEE ALSO", ", ".join(_see_also(ctx)), ".PP", f"Documentation: {_text(page_of(path_of(ctx)))}"]
    return "\n".join(lines) + "\n"


def _contexts(ctx: "Context") -> Iterator["Context"]:
    yield ctx
    if isinstance(ctx.command, HelpfulGroup):
        for name, command in ctx.command.commands.items():
            yield from _contexts(command.context_class(command, info_name=name, parent=ctx))


def _see_also(ctx: "Context") -> Iterator[str]:
    if ctx.parent is not None:
        yield rf"\fB{_text(_name(ctx.parent))}\fR(1)"
    if isinstance(ctx.command, HelpfulGroup):
        for name in ctx.command.commands:
            yield rf"\fB{_text(f'{_name(ctx)}-{name}')}\fR(1)"


def _name(ctx: "Context") -> str:
    return "-".join(["chamberlain", *path_of(ctx).split()])


def _definitions(rows: Iterator[tuple[str, str]]) -> Iterator[str]:
    for term, text in rows:
        yield from (".TP", rf"\fB{_text(term)}\fR", _text(text))


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ".PP"
        yield _text(" ".join(paragraph.split()))


def _text(text: str) -> str:
    """Escape backslashes and hyphens, and lines that look like requests."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
