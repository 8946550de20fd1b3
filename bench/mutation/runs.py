# SPDX-License-Identifier: Apache-2.0
"""Runs tests on mutants: each in a forked process of its own, many on one PostgreSQL server.

A session of pytest collects its tests once and forks for each mutant. The fork takes over the changed code of the
function, or finds the changed function in the database. A change outside functions (a table, a default) needs a new
import: then the fork comes first, from a process that has imported nothing of the service.
"""

import asyncio
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from bench.mutation.mutants import Mutant

# Imported before the forks, which saves each of them about a second.
LIBRARIES = (
    "anyio",
    "cryptography",
    "hypothesis",
    "joserfc.jwt",
    "msgspec",
    "starlette.applications",
    "structlog",
    "uvloop",
)
# Passed to every run: one failure is enough, and nothing is written into the tree.
OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not heavy", "--timeout=60", "--assert=plain")
# A mutant that loops ends here. Its tests need less than half of it by the record.
SECONDS_OF_A_RUN = 120.0
# A mutant that grows without end meets this. The tests of the service need less than half of it.
BYTES_OF_A_RUN = 6 << 30
_SECONDS_BETWEEN_LOOKS = 0.005
# Answer of a session that cannot take over the code of a mutant. pytest's own codes are below 10.
NEEDS_IMPORT = 10


@dataclass(frozen=True, slots=True)
class Task:
    """One mutant with the tests for it, in stages: the files and the order of tests.

    `sessions` has the files that the session of each stage collects. A change that `needs_import` has no session.
    `importers` are test files that import the module: their tables may call it while pytest collects them, so a mutant
    that survives is imported for them.
    """

    mutant: Mutant
    stages: Sequence[tuple[Sequence[str], Sequence[str]]]
    sessions: Sequence[Sequence[str]]
    needs_import: bool
    importers: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of one mutant: killed, survived, or refused by the database as bad syntax."""

    mutant: Mutant
    outcome: str
    killer: str
    seconds: float


class BaselineFailed(Exception):
    """The tests fail on the original, so they prove nothing about a mutant."""


class Bench:
    """Place for one run at a time, with a server of its own if tests need one."""

    def __init__(self, root: Path, *, with_server: bool) -> None:
        self._root = root
        self._server: subprocess.Popen[str] | None = None
        self._address = ""
        if with_server:
            command = [sys.executable, "-m", "bench.mutation.server"]
            self._server = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert self._server.stdout is not None
            self._address = self._server.stdout.readline().strip()
        self._checked: set[str] = set()
        self._sessions: dict[tuple[str, ...], Session] = {}
        for name in LIBRARIES:
            importlib.import_module(name)

    def close(self) -> None:
        """End the sessions and the server."""
        for session in self._sessions.values():
            session.close()
        if self._server is not None:
            self._server.communicate()

    def judge(self, task: Task) -> Verdict:
        """Run the tests of one mutant until one fails."""
        begin = time.monotonic()
        is_sql = task.mutant.file.endswith(".sql")
        outcome, killer = self._judge_sql(task) if is_sql else self._judge_stages(task, task.mutant)
        return Verdict(task.mutant, outcome, killer, time.monotonic() - begin)

    def record(self, files: Sequence[str], watched: Sequence[str]) -> dict[str, dict[str, object]]:
        """Run all tests of these files on the original and record the lines of each in the watched folders."""

        def run() -> dict[str, object]:
            from bench.mutation.plugin import Recorder, Shared

            recorder = Recorder(self._root, watched)
            options = [option for option in OPTIONS if option != "-x"]
            code = pytest.main([*options, *files], plugins=[Shared(self._address), recorder])
            if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
                raise BaselineFailed(files)
            passed = {test: lines for test, lines in recorder.lines.items() if test not in recorder.failed}
            return {
                "lines": {
                    test: {file: sorted(found) for file, found in lines.items()} for test, lines in passed.items()
                },
                "seconds": {test: recorder.seconds[test] for test in passed},
            }

        answer = forked(run, seconds=3600)
        return {name: dict(answer[name]) for name in ("lines", "seconds")}  # type: ignore[call-overload]

    def _judge_stages(self, task: Task, mutant: Mutant | None) -> tuple[str, str]:
        if task.needs_import and task.importers:
            result = self._run_imported(task.importers, None, task.mutant)
            if result["code"] != 0:
                return "killed", str(result["killer"] or result["code"])
        for number, (files, order) in enumerate(task.stages):
            if task.needs_import:
                result = self._run_imported(files, order, task.mutant)
            else:
                session = self._session(task.sessions[number])
                result = session.run(order, mutant if mutant and mutant.file.endswith(".py") else None)
                if result["code"] == NEEDS_IMPORT:
                    result = self._run_imported(files, order, task.mutant)
            if result["code"] != 0:
                if mutant is None:
                    raise BaselineFailed(str(result))
                return "killed", str(result["killer"] or result["code"])
        if task.importers and mutant is not None and not task.needs_import:
            result = self._run_imported(task.importers, None, mutant)
            if result["code"] != 0:
                return "killed", str(result["killer"] or result["code"])
        return "survived", ""

    def _run_imported(self, files: Sequence[str], order: Sequence[str] | None, mutant: Mutant) -> dict[str, object]:
        def run() -> dict[str, object]:
            sys.meta_path.insert(0, _Mutated(self._root, mutant))
            from bench.mutation.plugin import Selection, Shared

            selection = Selection(None if order is None else {test: place for place, test in enumerate(order)})
            code = pytest.main([*OPTIONS, *files], plugins=[Shared(self._address), selection])
            return {"code": int(code), "killer": selection.killer}

        return forked(run, seconds=SECONDS_OF_A_RUN)

    def _session(self, places: Sequence[str]) -> "Session":
        key = tuple(places)
        if key not in self._sessions:
            self._sessions[key] = Session(self._root, places, self._address)
        return self._sessions[key]

    def _judge_sql(self, task: Task) -> tuple[str, str]:
        if task.mutant.file not in self._checked:
            self._judge_stages(task, None)
            self._checked.add(task.mutant.file)
        before = self._query(
            "SELECT datname FROM pg_database WHERE datname !~ '^(template\\d|postgres|chamberlain|test_.*)$'"
        )
        original = (self._root / task.mutant.file).read_text()
        try:
            self._apply(before, task.mutant.text.decode())
        except asyncpg.PostgresError:
            self._apply(before, original)
            return "refused", ""
        try:
            return self._judge_stages(task, task.mutant)
        finally:
            # A database of this run has rows that the mutant wrote, so the next one makes it again.
            for name in self._query(
                "SELECT datname FROM pg_database WHERE datname !~ '^(template\\d|postgres|chamberlain)$'"
            ):
                if name not in before:
                    self._query(f'DROP DATABASE "{name}" WITH (FORCE)')
            self._apply(before, original)

    def _apply(self, databases: Sequence[str], functions: str) -> None:
        for name in databases:
            self._query(functions, database=name, role="chamberlain_owner")

    def _query(self, statement: str, *, database: str = "", role: str = "") -> Sequence[str]:
        parts = urlsplit(self._address)
        address = urlunsplit(
            parts._replace(netloc=f"{role}@" if role else parts.netloc, path=f"/{database}" if database else parts.path)
        )

        async def ask() -> Sequence[str]:
            connection = await asyncpg.connect(address)
            try:
                if not statement.startswith("SELECT"):
                    # One transaction for a whole file, except for DROP DATABASE, which is a single statement.
                    await connection.execute(statement)
                    return []
                return [row[0] for row in await connection.fetch(statement)]
            finally:
                await connection.close()

        return asyncio.run(ask())


class Session:
    """One session of pytest in a process of its own, which forks for each mutant."""

    def __init__(self, root: Path, places: Sequence[str], address: str) -> None:
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        if os.fork() == 0:
            os.close(self._commands)
            os.close(self._answers)
            _serve(root, places, address, commands, answers)
        os.close(commands)
        os.close(answers)
        self._lines = os.fdopen(self._answers, "r")

    def run(self, tests: Sequence[str], mutant: Mutant | None) -> dict[str, object]:
        """Run these tests until one fails."""
        change = None if mutant is None else (mutant.file, mutant.text.decode())
        with os.fdopen(os.dup(self._commands), "w") as commands:
            print(json.dumps([tests, change]), file=commands)
        return dict(json.loads(self._lines.readline()))

    def close(self) -> None:
        """End the session."""
        os.close(self._commands)
        self._lines.close()


def _serve(root: Path, places: Sequence[str], address: str, commands: int, answers: int) -> None:
    """Collect the tests and run those of each command in a fork."""
    code = 1
    try:
        from bench.mutation.plugin import Loop, Shared

        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (1, 2):
            os.dup2(silent, stream)
        with os.fdopen(commands) as reader, os.fdopen(answers, "w", buffering=1) as writer:
            code = pytest.main([*OPTIONS, "-s", *places], plugins=[Shared(address), Loop(root, reader, writer)])
    finally:
        os._exit(code)


class _Mutated(importlib.abc.MetaPathFinder):
    """Imports one module from the text of a mutant."""

    def __init__(self, root: Path, mutant: Mutant) -> None:
        self._path = root / mutant.file
        self._name = ".".join(Path(mutant.file).with_suffix("").parts[1:])
        self._text = mutant.text

    def find_spec(
        self, fullname: str, _path: object = None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        loader = _Loader(fullname, self._path, self._text)
        return importlib.util.spec_from_file_location(fullname, self._path, loader=loader)


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: Path, text: bytes) -> None:
        super().__init__(name, str(path))
        self._text = text

    def get_code(self, _fullname: str) -> CodeType:
        return compile(self._text, self.path, "exec", dont_inherit=True)


def forked(run: Callable[[], dict[str, object]], *, seconds: float) -> dict[str, object]:
    """Run this in a child and return its result. A child that hangs or dies by a signal counts as a failed run."""
    with tempfile.TemporaryDirectory() as folder:
        answer, output = Path(folder, "answer"), Path(folder, "output")
        child = os.fork()
        if child == 0:
            _in_child(run, answer, output)
        deadline = time.monotonic() + seconds
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
            if time.monotonic() > deadline:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return {"code": -1, "killer": "timeout"}
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        if answer.exists():
            return {"output": output.read_text()[-2000:], **json.loads(answer.read_text())}
        if os.WIFSIGNALED(ended[1]):
            return {"code": -1, "killer": f"signal {os.WTERMSIG(ended[1])}"}
        raise RuntimeError(f"The runner itself failed:\n{output.read_text()[-2000:]}")


def _in_child(run: Callable[[], dict[str, object]], answer: Path, output: Path) -> None:
    code = 1
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (BYTES_OF_A_RUN, BYTES_OF_A_RUN))
        written = os.open(output, os.O_RDWR | os.O_CREAT)
        for stream in (1, 2):
            os.dup2(written, stream)
        answer.write_text(json.dumps(run()))
        code = 0
    finally:
        if code:
            # The process ends below, before Python would report the exception that is under way.
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        # Nothing of the parent's is cleaned up twice.
        os._exit(code)
