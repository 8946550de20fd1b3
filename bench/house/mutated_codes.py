# SPDX-License-Identifier: Apache-2.0
"""Change ten error codes of the wire, one at a time, and run the tests of the noun that raises each.

    python3 -m bench.house.mutated_codes [CHECKOUT]

CHECKOUT has its own .venv. The script clones its last commit into a temporary folder. There it renames one code in the
modules of one folder, and gives the new code the title and status of the old one. A test catches the change only if it
asserts the code that the folder raises. At most three test files with the code run: first those that import a changed
module, then those of the folder. The tests of the documentation, of the client and of whole services do not run. The
exit code is 0 only if a test fails for each code.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

# Each code, with the folder that raises it.
CODES: Mapping[str, str] = {
    "notJson": "core",
    "missingProperty": "core",
    "idempotencyKeyReused": "core",
    "databaseUnavailable": "core",
    "insufficientScope": "auth",
    "etagStale": "auth",
    "quotaExceeded": "tenants",
    "templateOfOtherKind": "templates",
    "addressTaken": "mailboxes",
    "selfApproval": "guests/findings",
}
SERVICE = "src/chamberlain"
TITLES = "http/problems.py"
# These compare the codes with the pages, imitate the service, or take minutes.
EXCLUDED = frozenset({"bench", "client", "clients", "deploy", "docs", "faults", "service"})
MOST_FILES = 3
# A run takes a few seconds; most of them start PostgreSQL.
SECONDS_OF_A_RUN = 300


def main() -> int:
    """Print for each code whether a test caught the change."""
    parser = argparse.ArgumentParser(prog="python3 -m bench.house.mutated_codes", description=__doc__)
    parser.add_argument("checkout", type=Path, nargs="?")
    checkout = parser.parse_args().checkout
    python = sys.executable if checkout is None else str(checkout.absolute() / ".venv/bin/python")
    missed = 0
    with clone_of(checkout or Path.cwd()) as copy:
        tests = {code: tests_of(copy, code, folder) for code, folder in CODES.items()}
        if failed := failed_test(copy, python, sorted({file for files in tests.values() for file in files})):
            raise SystemExit(f"{failed} fails without a change.")
        for code, folder in CODES.items():
            with renamed(copy, code, folder):
                failed = failed_test(copy, python, tests[code])
            missed += not failed
            outcome = f"caught by {failed}" if failed else f"NOT caught by {', '.join(tests[code]) or 'any test'}"
            print(f"{code:22} {folder:15} {outcome}", flush=True)
    print(f"{len(CODES) - missed} of {len(CODES)} changed codes are caught.")
    return int(missed > 0)


@contextmanager
def clone_of(checkout: Path) -> Iterator[Path]:
    """Clone the last commit of a checkout into a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="ch-house-") as folder:
        subprocess.run(["git", "clone", "--quiet", checkout.absolute(), folder], check=True)
        yield Path(folder)


def modules_with(root: Path, code: str, folder: str) -> Sequence[Path]:
    """List the modules of a folder that contain a code."""
    found = [path for path in sorted((root / SERVICE / folder).glob("*.py")) if f'"{code}"' in path.read_text()]
    assert found, f"{folder} does not raise {code}."
    return found


def tests_of(root: Path, code: str, folder: str) -> Sequence[str]:
    """List the test files with this code, those that import a changed module first."""
    package = f"chamberlain.{folder.replace('/', '.')}"
    imports = [f"from {package}.{module.stem} import" for module in modules_with(root, code, folder)]
    ranked = []
    for path in (root / "tests").rglob("test_*.py"):
        file, text = path.relative_to(root / "tests"), path.read_text()
        if f'"{code}"' in text and file.parts[0] not in EXCLUDED:
            imports_none = not any(each in text for each in imports)
            ranked.append((imports_none, file.parent != Path(folder), f"tests/{file.as_posix()}"))
    return [file for *_, file in sorted(ranked)[:MOST_FILES]]


@contextmanager
def renamed(root: Path, code: str, folder: str) -> Iterator[None]:
    """Rename a code in the modules of a folder, and restore the sources afterwards."""
    modules, titles = modules_with(root, code, folder), root / SERVICE / TITLES
    originals = {path: path.read_text() for path in (*modules, titles)}
    for module in modules:
        module.write_text(originals[module].replace(f'"{code}"', f'"{code}Changed"'))
    titles.write_text(re.sub(rf'"{code}": (".*?")', rf'"{code}": \1, "{code}Changed": \1', originals[titles]))
    try:
        yield
    finally:
        for path, text in originals.items():
            path.write_text(text)


def failed_test(root: Path, python: str, files: Sequence[str]) -> str:
    """Run the tests until one fails, and return its name. It is empty if all pass."""
    if not files:
        return ""
    command = [python, "-m", "pytest", "-x", "-q", "--tb=no", "-p", "no:cacheprovider", *files]
    # The processes that the tests start import the copy as well.
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    done = subprocess.run(
        command, cwd=root, env=environment, timeout=SECONDS_OF_A_RUN, check=False, capture_output=True, text=True
    )
    found = re.search(r"^FAILED (\S+)", done.stdout, re.MULTILINE)
    if (done.returncode, bool(found)) not in {(0, False), (1, True)}:
        raise SystemExit(f"The tests did not run:\n{done.stdout}{done.stderr}")
    return found[1] if found else ""


if __name__ == "__main__":
    sys.exit(main())
