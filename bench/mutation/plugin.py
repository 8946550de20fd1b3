# SPDX-License-Identifier: Apache-2.0
"""pytest plugins of a mutation run: one records which test runs which line, one selects tests for a mutant."""

import gc
import inspect
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, TextIO, TypeAlias
from urllib.parse import parse_qs, urlsplit

import hypothesis
import pytest

from bench.mutation.runs import NEEDS_IMPORT, SECONDS_OF_A_RUN, forked
from chamberlain.embedded import postgres
from chamberlain.embedded.postgres.roles import SET_UP, Addresses, address, addresses_in

# Later calls of one function in one test rarely reach new lines, and tracing all of them takes minutes.
TRACED_CALLS = 30

# Line numbers of each file, by its path in the tree.
Lines: TypeAlias = dict[str, set[int]]
# A function for sys.settrace, which gets the next one from it.
Trace: TypeAlias = Callable[[FrameType, str, object], "Trace | None"]


@dataclass(frozen=True, slots=True)
class SharedServer:
    """The part of a PostgreSQL server that test databases need. Another process runs the server."""

    data: Path

    @property
    def addresses(self) -> Addresses:
        """Addresses of the first database."""
        return self.addresses_of("postgres")

    @property
    def set_up_address(self) -> str:
        """Address of the superuser."""
        return address(self.data, SET_UP, "postgres")

    def addresses_of(self, database: str) -> Addresses:
        """Addresses of one database."""
        return addresses_in(self.data, database)


class Shared:
    """Gives tests a running server, and lets Hypothesis try the same examples in each run."""

    def __init__(self, set_up_address: str) -> None:
        hosts = parse_qs(urlsplit(set_up_address).query).get("host", [])
        self._server = SharedServer(Path(hosts[0])) if hosts else None

    def pytest_configure(self) -> None:
        """Make runs repeatable. A failed example needs no smaller one."""
        phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
        hypothesis.settings.register_profile("mutation", derandomize=True, database=None, phases=phases, deadline=None)
        hypothesis.settings.load_profile("mutation")

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: "pytest.FixtureDef[Any]", request: pytest.FixtureRequest
    ) -> SharedServer | postgres.Server | None:
        """Replace the fixture that starts a server."""
        if fixturedef.argname != "postgres_server" or self._server is None:
            return None
        fixturedef.cached_result = (self._server, fixturedef.cache_key(request), None)  # type: ignore[arg-type]
        return self._server


@dataclass(slots=True, eq=False)
class Recorder:
    """Records for each passed test its lines in `folders`, and its seconds."""

    root: Path
    folders: Sequence[str]
    lines: dict[str, Lines] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    _current: Lines = field(default_factory=dict)
    _files: dict[str, str | None] = field(default_factory=dict)
    _calls: Counter[CodeType] = field(default_factory=Counter)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Trace one test with its fixtures."""
        self._current = {}
        self._calls.clear()
        before = time.monotonic()
        threading.settrace(self._called)
        sys.settrace(self._called)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            self.lines[item.nodeid] = self._current
            self.seconds[item.nodeid] = time.monotonic() - before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note tests that cannot tell a mutant from the original."""
        if not report.passed:
            self.failed.append(report.nodeid)

    def _called(self, frame: FrameType, _event: str, _argument: object) -> Trace | None:
        file = self._file(frame.f_code.co_filename)
        if file is None:
            return None
        self._calls[frame.f_code] += 1
        if self._calls[frame.f_code] > TRACED_CALLS:
            return None
        numbers = self._current.setdefault(file, set())

        def step(frame: FrameType, _event: str, _argument: object) -> Trace:
            numbers.add(frame.f_lineno)
            return step

        return step(frame, "call", None)

    def _file(self, name: str) -> str | None:
        if name not in self._files:
            path = Path(name)
            inside = path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else ""
            self._files[name] = inside if inside.startswith(tuple(self.folders)) else None
        return self._files[name]


@dataclass(slots=True, eq=False)
class Selection:
    """Runs the tests of `places` in this order, or all if it is None, and keeps the name of the first that fails."""

    places: Mapping[str, int] | None
    killer: str | None = None

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Drop and sort tests."""
        places = self.places
        if places is not None:
            items[:] = sorted((item for item in items if item.nodeid in places), key=lambda item: places[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the first failure."""
        if report.failed and self.killer is None:
            self.killer = report.nodeid


@dataclass(slots=True, eq=False)
class Loop:
    """Takes the place of pytest's own loop: for each command it runs the named tests in a fork."""

    root: Path
    commands: TextIO
    answers: TextIO
    killer: str | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Serve commands until there are no more."""
        items = {item.nodeid: item for item in session.items}
        for line in self.commands:
            tests, change = json.loads(line)
            # Without names: all of them.
            chosen = [items[test] for test in tests if test in items] if tests else list(items.values())
            answer = forked(partial(self._run, chosen, change), seconds=SECONDS_OF_A_RUN)
            print(json.dumps(answer), file=self.answers)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the first failure."""
        if report.failed and self.killer is None:
            self.killer = report.nodeid

    def _run(self, items: Sequence[pytest.Item], change: tuple[str, str] | None) -> dict[str, object]:
        if change is not None:
            try:
                replace_code(self.root / change[0], change[1])
            except ValueError:
                # The change took the last use of an outer variable away, so the code does not fit the function.
                return {"code": NEEDS_IMPORT, "killer": None}
        for item, following in zip_longest(items, items[1:]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.killer is not None:
                return {"code": 1, "killer": self.killer}
        return {"code": 0 if items else 5, "killer": None}


def replace_code(path: Path, text: str) -> None:
    """Give all functions of a module that is imported already the code that they have in this text."""
    codes = dict(_functions(compile(text, str(path), "exec", dont_inherit=True)))
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename == str(path):
            code = codes.get(each.__code__.co_qualname)
            if code is not None:
                each.__code__ = code


def _functions(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for each in code.co_consts:
        if not isinstance(each, CodeType):
            continue
        if each.co_flags & inspect.CO_OPTIMIZED:
            yield each.co_qualname, each
        else:
            yield from _functions(each)
