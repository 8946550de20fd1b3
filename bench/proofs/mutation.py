# SPDX-License-Identifier: Apache-2.0
"""Mutation score of the rules, of token verification and of the SQL functions.

Each mutant is the source with one small change. The tests that run the changed line should fail; then the mutant is
killed. `bench/mutation/equivalent.toml` lists the mutants that change no behaviour, each with its reason. They do not
count. The sample stays the same as long as the lines do.

    python3 dev.py prove mutation [--resume] [--seconds N] [--jobs N] [--only TEXT] [--all] [--near]

With --resume, verdicts of an earlier run are taken over, and their number is printed: kills while the source file and
the test file are the same, all others while all files are. So a long run can be cut into slices of N seconds. --only
runs the mutants whose file has this text in it, and --all runs all mutants in place of a sample. --near leaves out the
tests that need a database: a first look.
"""

import argparse
import configparser
import hashlib
import json
import multiprocessing
import os
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.mutation.mutants import Mutant, mutants_of, sample
from bench.mutation.python_mutants import python_edits
from bench.mutation.runs import Bench, Task, Verdict
from bench.mutation.sql_mutants import sql_edits
from bench.mutation.tests_of import (
    FAR_SECONDS,
    NEAR_SECONDS,
    TESTS_OF_SQL,
    Record,
    far_tests,
    lines_at_import,
    near_importers,
    near_tests,
    users_of,
)

ROOT = Path(__file__).parents[2]
EQUIVALENT = ROOT / "bench/mutation/equivalent.toml"
CACHE = ROOT / ".pytest_cache/mutation"
# The share of mutants in the sample, and the least number of each file. Token verification is small and guards all.
PARTS: Mapping[str, tuple[float, int]] = {"rules": (0.13, 2), "tokens": (0.35, 3), "SQL functions": (0.1, 6)}
PROMISED = 0.95


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One entry of the reviewed list: a mutant by its key, and the reason why it changes no behaviour."""

    file: str
    scope: str
    before: str
    after: str
    reason: str

    def covers(self, mutant: Mutant) -> bool:
        """Tell whether the entry is about this mutant."""
        return mutant.key == (self.file, self.scope, self.before, self.after)


def main(arguments: Sequence[str]) -> int:
    """Run the mutants and print verdicts, scores and survivors."""
    options = read_options(arguments)
    mutants = [mutant for mutant in sampled(ROOT, whole=options.all) if options.only in mutant.file]
    reviewed = read_reviewed(EQUIVALENT)
    known = Cache(options.resume)
    verdicts = [known.verdicts[mutant.key] for mutant in mutants if mutant.key in known.verdicts]
    taken = len(verdicts)
    done = {verdict.mutant.key for verdict in verdicts}
    # In the order of their ranks, so that a run that is cut short is a fair sample as well.
    waiting = sorted((mutant for mutant in mutants if mutant.key not in done), key=lambda mutant: mutant.rank)
    deadline = time.monotonic() + options.seconds
    if waiting:
        for verdict in judged(waiting, jobs=options.jobs, far=not options.near):
            verdicts.append(verdict)
            known.add(verdict)
            if time.monotonic() > deadline:
                break
    if options.resume:
        print(f"{taken} verdicts come from earlier runs with --resume, on the same source and test files.\n")
    return report(verdicts, reviewed, missing=len(mutants) - len(verdicts))


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python3 dev.py prove mutation")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--near", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args(arguments)


def sampled(root: Path, *, whole: bool = False) -> Sequence[Mutant]:
    """List the mutants to run."""
    found: list[Mutant] = []
    for part, files in files_of_parts(root).items():
        for file in files:
            mutants = mutants_of(root, file, sql_edits if file.endswith(".sql") else python_edits)
            found += mutants if whole else sample(mutants, *PARTS[part])
    return found


def files_of_parts(root: Path) -> Mapping[str, Sequence[str]]:
    """List the files of each part. The rules are the modules that the contract `pure` of the imports names."""
    contracts = configparser.ConfigParser()
    contracts.read(root / ".importlinter")
    names = contracts["importlinter:contract:pure"]["source_modules"].split()
    patterns = {
        "rules": [f"src/{name.replace('.', '/')}.py" for name in names if not name.startswith("chamberlain.auth.")],
        "tokens": ["src/chamberlain/auth/*.py"],
        "SQL functions": ["src/chamberlain/database/sql/*.sql"],
    }
    return {
        part: sorted({path.relative_to(root).as_posix() for each in globs for path in root.glob(each)})
        for part, globs in patterns.items()
    }


def read_reviewed(file: Path) -> Sequence[Reviewed]:
    """Read the list of mutants that change no behaviour."""
    return [Reviewed(**entry) for entry in tomllib.loads(file.read_text()).get("equivalent", [])]


class Cache:
    """Verdicts of earlier runs.

    A kill holds as long as the source file and the test file are the same, all else as long as all files are.
    """

    def __init__(self, resume: bool) -> None:  # noqa: FBT001 - the one option it has.
        CACHE.mkdir(parents=True, exist_ok=True)
        self._file = CACHE / "verdicts.jsonl"
        self._all = digest_of("src", "tests", "bench/mutation")
        if not resume:
            self._file.unlink(missing_ok=True)
        self.verdicts: dict[tuple[str, str, str, str], Verdict] = {}
        known = {mutant.key: mutant for mutant in sampled(ROOT, whole=True)}
        for line in self._file.read_text().splitlines() if self._file.exists() else ():
            key, outcome, killer, seconds, stamp = json.loads(line)
            mutant = known.get(tuple(key))
            if mutant is not None:
                verdict = Verdict(mutant, outcome, killer, seconds)
                if stamp == self._stamp(verdict):
                    self.verdicts[mutant.key] = verdict

    def add(self, verdict: Verdict) -> None:
        """Keep one verdict."""
        values = [verdict.mutant.key, verdict.outcome, verdict.killer, verdict.seconds, self._stamp(verdict)]
        with self._file.open("a") as file:
            print(json.dumps(values), file=file)

    def _stamp(self, verdict: Verdict) -> str:
        test = verdict.killer.split("::")[0]
        if verdict.outcome == "killed" and (ROOT / test).is_file():
            return digest_of(verdict.mutant.file, test)
        return self._all


@cache
def digest_of(*places: str) -> str:
    """Digest the text of these files, or of all sources in these folders."""
    digest = hashlib.sha256()
    for place in places:
        for path in sorted((ROOT / place).rglob("*")) or [ROOT / place]:
            if path.suffix in (".py", ".sql", ".yaml", ".json"):
                digest.update(path.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def judged(mutants: Sequence[Mutant], *, jobs: int, far: bool = True) -> Iterator[Verdict]:
    """Run the tests of all mutants on `jobs` servers at once."""
    context = multiprocessing.get_context("fork")
    with context.Pool(jobs, _open_bench, (far or any(mutant.file.endswith(".sql") for mutant in mutants),)) as pool:
        python = [mutant for mutant in mutants if mutant.file.endswith(".py")]
        near = recorded(pool.imap(_record, halves(near_tests(ROOT)))) if python else Record({}, {})
        distant = recorded(pool.imap(_record, halves(far_tests(ROOT)))) if python and far else Record({}, {})
        tasks = list(tasks_of(mutants, near, distant))
        yield from pool.imap_unordered(_judge, tasks)
        # The servers end with their processes.
        pool.close()
        pool.terminate()


def recorded(parts: Iterable[Mapping[str, Mapping[str, object]]]) -> Record:
    """Join the records of several folders."""
    lines: dict[str, Mapping[str, frozenset[int]]] = {}
    seconds: dict[str, float] = {}
    for part in parts:
        for test, files in part["lines"].items():
            assert isinstance(files, dict)
            lines[test] = {file: frozenset(numbers) for file, numbers in files.items()}
        seconds |= {test: float(str(value)) for test, value in part["seconds"].items()}
    return Record(lines, seconds)


def tasks_of(mutants: Sequence[Mutant], near: Record, far: Record) -> Iterator[Task]:
    """Choose the tests of each mutant."""
    users = users_of(ROOT, sorted({path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*.py")}))
    for mutant in mutants:
        if mutant.file.endswith(".sql"):
            files = TESTS_OF_SQL[Path(mutant.file).name]
            yield Task(mutant, [(files, ())], [files], needs_import=False)
            continue
        at_import = lines_at_import(ROOT, mutant.file)
        stages, sessions = [], []
        for record, seconds, places in ((near, NEAR_SECONDS, near_tests(ROOT)), (far, FAR_SECONDS, far_tests(ROOT))):
            tests = record.within(record.tests_of(mutant, users[mutant.file], at_import), seconds)
            if tests:
                stages.append((sorted({test.split("::")[0] for test in tests}), tests))
                sessions.append(places)
        importers = near_importers(ROOT, mutant.file)
        yield Task(mutant, stages, sessions, needs_import=mutant.line in at_import, importers=importers)


_bench: Bench


def _open_bench(with_server: bool) -> None:  # noqa: FBT001 - a pool passes it by place.
    global _bench  # noqa: PLW0603 - the state of a process of the pool.
    _bench = Bench(ROOT, with_server=with_server)


def _judge(task: Task) -> Verdict:
    return _bench.judge(task)


def halves(tests: Sequence[str]) -> Sequence[Sequence[str]]:
    """Share tests between two processes."""
    return tests[::2], tests[1::2]


def _record(tests: Sequence[str]) -> Mapping[str, Mapping[str, object]]:
    """Record the test files that changed since their last record, and read the records of all."""
    watched = [file for part in ("rules", "tokens") for file in files_of_parts(ROOT)[part]]
    records = {test: CACHE / f"lines-{digest_of(*watched, test)}.json" for test in tests}
    missing = [test for test, record in records.items() if not record.exists()]
    if missing:
        keep_records(_bench.record(missing, watched), {test: records[test] for test in missing})
    joined: dict[str, dict[str, object]] = {"lines": {}, "seconds": {}}
    for record in records.values():
        for name, part in json.loads(record.read_text()).items():
            joined[name] |= part
    return joined


def keep_records(found: Mapping[str, Mapping[str, object]], records: Mapping[str, Path]) -> None:
    """Write one record for each test file."""
    for test, record in records.items():
        mine = {
            name: {each: value for each, value in part.items() if each.split("::")[0] == test}
            for name, part in found.items()
        }
        partial = record.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(mine))
        partial.replace(record)


def report(verdicts: Sequence[Verdict], reviewed: Sequence[Reviewed], *, missing: int) -> int:
    """Print the scores, the survivors and the equivalent mutants."""
    reasons = {
        verdict.mutant.key: entry.reason for verdict in verdicts for entry in reviewed if entry.covers(verdict.mutant)
    }
    counts, survivors = count_outcomes(verdicts, reasons)
    print(f"{'file':58} {'mutants':>8} {'killed':>7} {'survived':>9} {'equivalent':>11} {'score':>6}")
    for file, count in sorted(counts.items()):
        print(row(file.removeprefix("src/chamberlain/"), count))
    print()
    for part, files in files_of_parts(ROOT).items():
        print(row(f"All {part}", sum((count for file, count in counts.items() if file in files), Counter[str]())))
    total = sum(counts.values(), Counter[str]())
    print(row("All", total))
    refused = total["refused"]
    print(f"\nThe database refused {refused} more mutants as bad syntax.")
    print(f"\nSurvivors that change behaviour: {len(survivors)}")
    for mutant in sorted(survivors, key=lambda mutant: (mutant.file, mutant.line)):
        print_mutant(mutant)
    print("\nSurvivors that change no behaviour:")
    for verdict in verdicts:
        if verdict.outcome == "survived" and verdict.mutant.key in reasons:
            print_mutant(verdict.mutant)
            print(f"    Reason: {reasons[verdict.mutant.key]}")
    killed_though = [
        verdict.mutant for verdict in verdicts if verdict.outcome == "killed" and verdict.mutant.key in reasons
    ]
    for mutant in killed_though:
        print(f"\nListed as equivalent, but a test kills it: {mutant.file}:{mutant.line}: {mutant.after}")
    if missing:
        print(f"\n{missing} mutants were not run.")
    return 0 if not missing and not killed_though and score(total) >= PROMISED else 1


def count_outcomes(
    verdicts: Sequence[Verdict], reasons: Collection[tuple[str, str, str, str]]
) -> tuple[Mapping[str, Counter[str]], Sequence[Mutant]]:
    """Count the outcomes of each file, and list the survivors that change behaviour."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    survivors = []
    for verdict in verdicts:
        outcome = verdict.outcome
        if outcome == "survived" and verdict.mutant.key in reasons:
            outcome = "equivalent"
        elif outcome == "survived":
            survivors.append(verdict.mutant)
        counts[verdict.mutant.file][outcome] += 1
    return counts, survivors


def row(name: str, count: Counter[str]) -> str:
    """One line of the table."""
    mutants = count.total() - count["refused"]
    return (
        f"{name:58} {mutants:8} {count['killed']:7} {count['survived']:9} {count['equivalent']:11} {score(count):6.1%}"
    )


def score(count: Counter[str]) -> float:
    """Killed share of the mutants that change behaviour."""
    return count["killed"] / (count["killed"] + count["survived"] or 1)


def print_mutant(mutant: Mutant) -> None:
    """Print where a mutant is and its change."""
    print(f"  {mutant.file.removeprefix('src/chamberlain/')}:{mutant.line} in {mutant.scope}")
    print(f"    - {mutant.before}")
    print(f"    + {mutant.after}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
