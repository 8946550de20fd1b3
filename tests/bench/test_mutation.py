# SPDX-License-Identifier: Apache-2.0
"""The mutation tool itself: which changes it makes, and that it tells a killed mutant from a survivor."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.mutation.mutants import mutants_of, sample
from bench.mutation.python_mutants import python_edits
from bench.mutation.sql_mutants import sql_edits
from bench.mutation.tests_of import TESTS_OF_SQL
from bench.proofs.mutation import EQUIVALENT, ROOT, read_reviewed, sampled

TOY = '''
"""A toy with one function that a test checks, one that it runs only, and one constant."""

LIMIT = 3


def is_over(value: int) -> bool:
    """Is it over?"""
    return value > LIMIT


def twice(value: int) -> int:
    return value * 2
'''
TOY_TEST = """
from toy.sums import is_over, twice


def test_sums() -> None:
    assert [is_over(3), is_over(4)] == [False, True]
    twice(1)
"""
RUN = """
import json, sys
from pathlib import Path
from bench.mutation.mutants import mutants_of
from bench.mutation.python_mutants import python_edits
from bench.mutation.runs import Bench, Task
from bench.mutation.tests_of import lines_at_import

root, file, tests = Path.cwd(), "src/toy/sums.py", ["tests/test_sums.py"]
bench = Bench(root, with_server=False)
order = ["tests/test_sums.py::test_sums"]
for mutant in mutants_of(root, file, python_edits):
    needs_import = mutant.line in lines_at_import(root, file)
    verdict = bench.judge(Task(mutant, [(tests, order)], [tests], needs_import))
    print(json.dumps([mutant.after, verdict.outcome, verdict.killer]))
bench.close()
"""


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("a < b", ["a <= b", "a >= b"]),
        ("a is not b", ["a is b"]),
        ("a and b", ["a or b"]),
        ("not a", ["bool(a)"]),
        ("a + 1", ["a - 1", "a + 2"]),
        ("min(a, b)", ["max(a, b)"]),
        ("a.strip()", ["a"]),
        ("'code'", ["'XXcode'"]),
        ("'A sentence.'", []),
        ("f'{a}'", []),
        ("True", ["False"]),
        ("a if b else c", ["a if not (b) else c"]),
        ("(a, b, c)", ["(b, c)", "(a, c)", "(a, b)"]),
    ],
)
def test_each_python_operator_makes_its_changes(tmp_path: Path, line: str, changed: list[str]) -> None:
    tmp_path.joinpath("toy.py").write_text(f"def toy(a: int = b) -> str:\n    return {line}\n")

    found = mutants_of(tmp_path, "toy.py", python_edits)

    assert sorted(mutant.after for mutant in found) == sorted(f"return {each}" for each in changed)
    assert {mutant.scope for mutant in found} <= {"toy"}


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("WHERE a.b = 1", ["WHERE a.b <> 1", "WHERE a.b = 2", "WHERE true"]),
        ("WHERE a AND b", ["WHERE a OR b", "WHERE a", "WHERE true AND b"]),
        ("SELECT coalesce(a, b)", ["SELECT a"]),
        ("SELECT a ORDER BY a LIMIT b", ["SELECT a ORDER BY a"]),
        ("SELECT a FOR UPDATE SKIP LOCKED", ["SELECT a", "SELECT a FOR UPDATE"]),
        ("INSERT INTO a ON CONFLICT DO NOTHING", ["INSERT INTO a"]),
        ("SELECT a WHERE 'x' <= a -- 'y' = b", ["SELECT a WHERE 'x' > a -- 'y' = b"]),
        ("SELECT a SET enable_seqscan = off", []),
    ],
)
def test_each_sql_operator_makes_its_changes(tmp_path: Path, line: str, changed: list[str]) -> None:
    tmp_path.joinpath("toy.sql").write_text(f"CREATE OR REPLACE FUNCTION toy() AS $$\n{line};\n$$;\n")

    found = {mutant.after.removesuffix(";").strip() for mutant in mutants_of(tmp_path, "toy.sql", sql_edits)}

    assert found >= set(changed)
    assert bool(found) == bool(changed)


@pytest.mark.heavy
def test_a_checked_line_kills_and_a_line_that_only_runs_does_not(tmp_path: Path) -> None:
    for name, text in {"src/toy/__init__.py": "", "src/toy/sums.py": TOY, "tests/test_sums.py": TOY_TEST}.items():
        tmp_path.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        tmp_path.joinpath(name).write_text(text)
    settings = '[tool.pytest]\npythonpath = ["src"]\naddopts = ["--import-mode=importlib"]\nmarkers = ["heavy"]\n'
    tmp_path.joinpath("pyproject.toml").write_text(settings)
    path = os.pathsep.join((str(ROOT), str(ROOT / "src")))
    environment = {**os.environ, "PYTHONPATH": path}

    ended = subprocess.run(
        [sys.executable, "-c", RUN], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )

    killer = "tests/test_sums.py::test_sums"
    verdicts = {after: rest for after, *rest in (json.loads(line) for line in ended.stdout.splitlines())}
    assert verdicts == {
        "LIMIT = 4": ["killed", killer],
        "return value >= LIMIT": ["killed", killer],
        "return value <= LIMIT": ["killed", killer],
        "return value / 2": ["survived", ""],
        "return value * 3": ["survived", ""],
    }


def test_a_sample_stays_the_same_when_other_lines_change(tmp_path: Path) -> None:
    lines = [f"    a{number} = {number}\n" for number in range(40)]
    tmp_path.joinpath("toy.py").write_text(f"def toy():\n{''.join(lines)}")
    before = sample(mutants_of(tmp_path, "toy.py", python_edits), 0.25, 1)
    tmp_path.joinpath("toy.py").write_text(f"# A new line.\ndef toy():\n{''.join(lines)}")

    after = sample(mutants_of(tmp_path, "toy.py", python_edits), 0.25, 1)

    assert len(before) == 10
    assert [mutant.key for mutant in after] == [mutant.key for mutant in before]


def test_each_sql_file_has_its_tests() -> None:
    files = {path.name for path in (ROOT / "src/chamberlain/database/sql").glob("*.sql")}

    assert set(TESTS_OF_SQL) == files
    assert all((ROOT / test).is_file() for tests in TESTS_OF_SQL.values() for test in tests)


def test_each_reviewed_entry_is_about_a_mutant_of_today() -> None:
    mutants = sampled(ROOT, whole=True)

    assert [entry for entry in read_reviewed(EQUIVALENT) if not any(entry.covers(each) for each in mutants)] == []
