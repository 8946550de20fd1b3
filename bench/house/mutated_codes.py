"""Change ten error codes of the wire, one at a time, and run the tests of the module that raises each.

    python3 -m bench.house.mutated_codes [CHECKOUT]

CHECKOUT has its own .venv. The script clones its last commit into a temporary folder. There it renames one code in one
module, and gives the new code the title and status of the old one. A test catches the change only if it asserts the
code that the module raises. At most three test files with the code run: first those that import the module, then those
of its folder. The tests of the documentation, of the client and of whole services do not run. The exit code is 0 only
if a test fails for each code.
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

# Each code, with the module that raises it.
CODES: Mapping[str, str] = {
    "notJson": "core/json.py",
    "missingProperty": "core/validation.py",
    "idempotencyKeyReused": "core/errors.py",
    "databaseUnavailable": "core/errors.py",
    "insufficientScope": "auth/permissions.py",
    "etagStale": "auth/models.py",
    "quotaExceeded": "tenants/models.py",
    "templateOfOtherKind": "templates/models.py",
    "addressTaken": "mailboxes/names.py",
    "selfApproval": "guests/findings/rules.py",
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
        tests = {code: tests_of(copy, code, module) for code, module in CODES.items()}
        if failed := failed_test(copy, python, sorted({file for files in tests.values() for file in files})):
            raise SystemExit(f"{failed} fails without a change.")
        for code, module in CODES.items():
            with renamed(copy, code, module):
                failed = failed_test(copy, python, tests[code])
            missed += not failed
            outcome = f"caught by {failed}" if failed else f"NOT caught by {', '.join(tests[code]) or 'any test'}"
            print(f"{code:22} {module:25} {outcome}", flush=True)
    print(f"{len(CODES) - missed} of {len(CODES)} changed codes are caught.")
    return int(missed > 0)


@contextmanager
def clone_of(checkout: Path) -> Iterator[Path]:
    """Clone the last commit of a checkout into a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="ch-house-") as folder:
        subprocess.run(["git", "clone", "--quiet", checkout.absolute(), folder], check=True)
        yield Path(folder)


def tests_of(root: Path, code: str, module: str) -> Sequence[str]:
    """List the test files with this code, those that import the module first."""
    tests, folder = root / "tests", Path(module).parent
    imported = "chamberlain." + module.removesuffix(".py").replace("/", ".")
    ranked = []
    for path in tests.rglob("test_*.py"):
        file, text = path.relative_to(tests), path.read_text()
        if f'"{code}"' in text and file.parts[0] not in EXCLUDED:
            ranked.append((f"from {imported} import" not in text, file.parent != folder, f"tests/{file.as_posix()}"))
    return [file for *_, file in sorted(ranked)[:MOST_FILES]]


@contextmanager
def renamed(root: Path, code: str, module: str) -> Iterator[None]:
    """Rename a code in one module, and restore the sources afterwards."""
    raising, titles = root / SERVICE / module, root / SERVICE / TITLES
    originals = {path: path.read_text() for path in (raising, titles)}
    assert f'"{code}"' in originals[raising], f"{module} does not raise {code}."
    raising.write_text(originals[raising].replace(f'"{code}"', f'"{code}Changed"'))
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
