# SPDX-License-Identifier: Apache-2.0
"""The `doctor` command."""

import asyncio
from collections.abc import Iterator, Sequence
from textwrap import wrap

import httpx2
import msgspec
import typer

from chamberlain.app.doctor.connections import look_at_connections, look_at_directory, look_at_issuers, look_at_webhooks
from chamberlain.app.doctor.database import look_at_queue, look_at_server, look_at_texts, opened_to_look
from chamberlain.app.doctor.machine import AskService, look_at_folder, look_at_keys, look_at_listeners, look_at_settings
from chamberlain.cli import terminal
from chamberlain.cli.errors import ExitCode
from chamberlain.cli.formats import Format, Output
from chamberlain.cli.output import Column, Record
from chamberlain.core.health import HealthCheck, HealthState, has_fault
from chamberlain.core.text import one_line
from chamberlain.settings import Settings

# Timeout of the readiness call. The checks behind it have two seconds.
_PATIENCE_SECONDS = 5.0


def examine_installation(settings: Settings, output: Output) -> None:
    """Print one line per check. Exits 1 if there is a fault."""
    checkups = asyncio.run(examine(settings, _ask_service))
    if output.is_document:
        output.show(_document(checkups))
    elif output.format is not Format.TABLE or output.fields:
        output.show_records(_checks(checkups), _COLUMNS, "checks")
    else:
        for checkup in checkups:
            for line in _lines(checkup):
                print(line)
        print(_sum(checkups))
    if has_fault(checkups):
        raise typer.Exit(ExitCode.FAILED)


async def examine(settings: Settings, ask: AskService) -> Sequence[HealthCheck]:
    """Examine the installation, whether its service runs or not.

    `ask` asks the service at an address whether it is ready.
    """
    listeners = await look_at_listeners(settings, ask)
    found = [*look_at_settings(settings), *look_at_folder(settings), *listeners.checkups]
    async with opened_to_look(settings) as opened:
        return [
            *found,
            *opened.checkups,
            *await look_at_server(opened),
            *await look_at_keys(opened),
            *await look_at_issuers(opened, is_served=listeners.are_ours),
            *await look_at_directory(opened),
            *await look_at_connections(opened),
            *await look_at_webhooks(opened),
            *await look_at_texts(opened),
            *await look_at_queue(opened),
        ]


async def _ask_service(address: str) -> Sequence[str] | None:
    """List the failed checks of a service; None if none answers."""
    async with httpx2.AsyncClient(timeout=_PATIENCE_SECONDS, trust_env=False) as client:
        try:
            answer = await client.get(f"{address}/health/ready")
            health = msgspec.json.decode(answer.content, type=_Health)
        except (httpx2.HTTPError, httpx2.InvalidURL, msgspec.DecodeError):
            return None
    if health.status not in {"ready", "notReady"}:
        return None
    return [check.detail or f"{check.name}." for check in health.checks if not check.passed]


class _HealthCheck(msgspec.Struct):
    name: str
    passed: bool
    detail: str | None = None


class _Health(msgspec.Struct):
    status: str
    checks: list[_HealthCheck]


def _lines(checkup: HealthCheck) -> Iterator[str]:
    first, *rest = _wrapped(checkup.seen)
    yield f"{checkup.state:8} {checkup.name:19} {first}"
    cure = checkup.cure.splitlines() if checkup.cure is not None else []
    for part in (*rest, *(part for line in cure for part in _wrapped(line))):
        yield f"{'':28} {part}"


def _wrapped(text: str) -> list[str]:
    """Divide a text between words for a terminal, beside the first columns."""
    if not terminal.is_terminal():
        return [one_line(text)]
    width = max(terminal.columns() - 29, 30)
    return wrap(one_line(text), width, break_long_words=False, break_on_hyphens=False) or [""]


def _sum(checkups: Sequence[HealthCheck]) -> str:
    states = [checkup.state for checkup in checkups]
    faults, warnings = states.count(HealthState.FAULT), states.count(HealthState.WARNING)
    if not faults and not warnings:
        return "All is well."
    return f"{_counted(faults, 'fault')}, {_counted(warnings, 'warning')}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_COLUMNS = tuple(Column(name.upper(), name) for name in ("name", "state", "seen", "cure"))


def _document(checkups: Sequence[HealthCheck]) -> Record:
    states = {checkup.state for checkup in checkups}
    worst = next((state for state in (HealthState.FAULT, HealthState.WARNING) if state in states), HealthState.OK)
    return {"state": str(worst), "checks": _checks(checkups)}


def _checks(checkups: Sequence[HealthCheck]) -> list[Record]:
    return [{"name": each.name, "state": str(each.state), "seen": each.seen, "cure": each.cure} for each in checkups]
