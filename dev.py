#!/usr/bin/env python3
"""Everything a developer does here, one word each. Needs python3 with its venv module, nothing else."""

from __future__ import annotations

import configparser
import contextlib
import fcntl
import hashlib
import importlib.util
import itertools
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
CLIENTS_VENV = ROOT / ".venv-clients"
ORDINARY_WAY_VENV = ROOT / ".venv-ordinary"

# The parts of an environment, in the order of installation: locks, and the tree itself.
TREE = "pyproject.toml"
TO_RUN = ("requirements.lock", TREE)
TO_TEST = ("requirements.lock", "requirements-test.lock", TREE)
TRACES = ("requirements-traces.lock",)
CLIENTS = ("requirements-clients.lock",)
ORDINARY_WAY = ("requirements-ordinary.lock",)

# The parts of `test --all` with their minutes on two quiet cores, and the options of pytest. A file stays together,
# because its tests may share a running service. Files keep their order: sorted by the number of tests, the long ones
# would come last and leave one core idle.
LOADFILE = ("--dist", "loadfile", "--no-loadscope-reorder")
TESTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "check": (1, ()),
    "ordinary": (7, ("-n", "3", *LOADFILE, "-m", "not heavy")),
    "heavy": (15, ("-n", "2", *LOADFILE, "-m", "heavy and not alone")),
    # These measure how soon the service answers, or how much they get done in a given time.
    "alone": (4, ("-m", "heavy and alone")),
}

# Parts of the machine that heavy tests name by the marker `needs`: is it there, and how does one get it?
PARTS: dict[str, tuple[Callable[[], object], str]] = {
    "chromium": (lambda: shutil.which("chromium"), "apt-get install chromium"),
    "promtool": (lambda: shutil.which("promtool"), "apt-get install prometheus"),
    "wrk": (lambda: shutil.which("wrk"), "apt-get install wrk"),
    "postgresql-15": (Path("/usr/lib/postgresql/15/bin/postgres").exists, "apt-get install postgresql-15"),
    "pgbouncer": (Path("/usr/sbin/pgbouncer").exists, "apt-get install pgbouncer"),
    "patroni": (lambda: shutil.which("patroni") and shutil.which("etcd"), "apt-get install patroni etcd-server"),
    "faketime": (
        lambda: any(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")),
        "apt-get install libfaketime",
    ),
    "root": (lambda: os.geteuid() == 0, "run it as root, so that tests can start the service as another user"),
    "loop": (
        # Root in a container may have no loop devices.
        lambda: shutil.which("mkfs.ext4") and subprocess.call(["losetup", "--find"], stdout=subprocess.DEVNULL) == 0,
        "apt-get install e2fsprogs, as root on a machine with loop devices",
    ),
}

# The question that makes each lock, asked of uv; test packages must agree with those of the service.
LOCKS = {
    "requirements.lock": (TREE, "--group", "build"),
    "requirements-traces.lock": (TREE, "--extra", "traces", "--constraints", "requirements.lock"),
    "requirements-test.lock": ("--group", "test", "--constraints", "requirements.lock"),
    "requirements-clients.lock": ("--group", "clients"),
    "requirements-ordinary.lock": ("--group", "ordinary"),
}


def main() -> int:
    """Find the word in the table below and do it."""
    word, arguments = (sys.argv[1] if len(sys.argv) > 1 else "help"), sys.argv[2:]
    if sys.version_info < (3, 11):  # noqa: UP036  An older Python can run this file, and gets a clear message.
        stop(f"Chamberlain needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    if word not in WORDS:
        print("python3 dev.py WORD\n\n" + "\n".join(f"  {name:6} {done.__doc__}" for name, done in WORDS.items()))
        return 0 if word in {"help", "-h", "--help"} else 2
    os.chdir(ROOT)
    try:
        return WORDS[word](arguments)
    except PermissionError as error:
        stop(f"{error.strerror}: {error.filename}. Let its owner do it or remove .venv, or use a clone of your own.")
    except KeyboardInterrupt:
        return 130  # The exit code of a shell for a program ended by Ctrl-C.


def setup(arguments: list[str]) -> int:
    """Install what the service needs into .venv (run and test do it by themselves); --traces adds what sends traces."""
    prepare(VENV, (TO_RUN[0], *TRACES, TREE) if "--traces" in arguments else TO_RUN)
    print(f"Ready: {VENV / 'bin' / 'chamberlain'}")
    return 0


def run(arguments: list[str]) -> int:
    """Set up and start the service; what follows goes to `chamberlain serve`."""
    command = prepare(VENV, TO_RUN) / "chamberlain"
    os.execv(command, [str(command), "serve", *arguments])  # noqa: S606  The service takes our place: signals and exit code are its own.


def test(arguments: list[str]) -> int:
    """Check, then run the tests; --all adds the heavy ones; what follows goes to pytest."""
    if "--all" in arguments:
        return test_everything([argument for argument in arguments if argument != "--all"])
    return check([]) | pytest(*TESTS["ordinary"][1], *arguments)


def test_everything(arguments: list[str]) -> int:
    """Run all tests, say what the machine lacks for some of them, and end with the sum in pytest's own form."""
    prepare(CLIENTS_VENV, CLIENTS)
    prepare(ORDINARY_WAY_VENV, ORDINARY_WAY)
    missing = {part: cure for part, (is_there, cure) in PARTS.items() if not is_there()}
    with tempfile.TemporaryDirectory() as reports:
        failed = check([])
        for name in ("ordinary", "heavy", "alone"):
            options = (*TESTS[name][1], f"--missing={','.join(missing)}", f"--junit-xml={reports}/{name}.xml")
            failed |= pytest(*options, *arguments)
        for part, cure in missing.items():
            print(f"Not run for want of {part}, counted as skipped. To have it: {cure}")
        print(total(sorted(Path(reports).iterdir())))
    # A person may go on without a part; a machine that proves everything may not.
    return int(bool(failed) or (bool(missing) and os.environ.get("CI") == "true"))


def check(_: list[str]) -> int:
    """Format, lint, types, direction of imports, English, the SDK, commits, tests of the rules; under a minute."""
    programs = prepare(VENV, TO_TEST)
    python = str(programs / "python")
    # The longest first, so that two cores end at the same time.
    tools = {
        "types": [python, "-m", "mypy"],
        "rules": [python, "-m", "pytest", "-q", *pure_tests(), "tests/checks"],
        "prose": [python, "-m", "checks.prose"],
        "client": [python, "-m", "checks.client", "--check"],
        "imports": [str(programs / "lint-imports")],
        "lint": [str(programs / "ruff"), "check"],
        "format": [str(programs / "ruff"), "format", "--check"],
        "commits": [python, "-m", "checks.commits"],
    }
    with ThreadPoolExecutor(max_workers=2) as two_cores:
        passed = list(two_cores.map(report, tools, tools.values()))
    uncovered = outside_contracts()
    for name in uncovered:
        print(f"contracts  {name} is named in no contract of .importlinter: add it to one.")
    return 0 if all(passed) and not uncovered else 1


def bench(arguments: list[str]) -> int:
    """Run the measurements of bench/, all or those named; options such as --quick come last and go to each."""
    python = prepare(VENV, TO_RUN) / "python"
    prepare(ORDINARY_WAY_VENV, ORDINARY_WAY)
    named = list(itertools.takewhile(lambda argument: not argument.startswith("-"), arguments))
    questions = named or sorted(file.stem for file in Path("bench").glob("[!_]*.py"))
    # All of them are asked, whatever becomes of one.
    return max([measure([str(python), "-m", f"bench.{each}", *arguments[len(named) :]]) for each in questions])


def measure(command: list[str]) -> int:
    """Run one measurement, and say how long it took."""
    begin = time.monotonic()
    # A start is measured as it is where the service was started before: what was compiled then is there.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    code = subprocess.call(command, env=environment)
    print(f"{'Stopped' if code else 'Done'} after {time.monotonic() - begin:.0f} s.", flush=True)
    return code


def prove(arguments: list[str]) -> int:
    """Run one proof of bench/proofs with its full counts and record its output in bench/proofs/results."""
    names = sorted(file.stem.replace("_", "-") for file in Path("bench/proofs").glob("[!_]*.py"))
    name, *options = arguments or [""]
    if name not in names:
        print("python3 dev.py prove NAME [OPTION ...]\n\n" + "\n".join(f"  {each}" for each in names))
        return 2 if name else 0
    python = prepare(VENV, TO_TEST) / "python"
    result = Path("bench/proofs/results") / f"{name}.txt"
    # The result of the last run that ended stays until this one ends.
    partial = result.with_suffix(".partial")
    command = [str(python), "-u", "-m", f"bench.proofs.{name.replace('-', '_')}", *options]
    with partial.open("w") as record:
        print("\n".join(provenance(name, options)), file=record, flush=True)
        proof = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in proof.stdout or ():
            print(line, end="", flush=True)
            record.write(line)
        code = proof.wait()
        print(f"\nExit code {code}.", file=record)
    partial.replace(result)
    return code


def provenance(name: str, options: list[str]) -> list[str]:
    """Describe a run of a proof: its command, date, commit and machine."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True)
    return [
        f"Command: {' '.join(['python3 dev.py prove', name, *options])}",
        f"Date: {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC",
        f"Commit: {commit.stdout.strip()}",
        f"Machine: {os.cpu_count()} cores, {platform.platform(terse=True)}, Python {platform.python_version()}",
        "",
    ]


def lock(arguments: list[str]) -> int:
    """Write the locks again from pyproject.toml; --upgrade takes newer versions."""
    # uv stays a tool of this one command: installing needs pip alone.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip(Path(folder), "install", "uv")
        for name, question in LOCKS.items():
            options = ("--universal", "--python-version=3.11", "--generate-hashes", "--no-config", "--quiet")
            label = "--custom-compile-command=python3 dev.py lock"
            command = [f"{folder}/bin/uv", "pip", "compile", *options, label, *arguments, *question, "-o", name]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return 0


def client(_: list[str]) -> int:
    """Generate the SDK's models from the OpenAPI document, and its synchronous client."""
    return subprocess.call([prepare(VENV, TO_TEST) / "python", "-m", "checks.client"])


def prose(arguments: list[str]) -> int:
    """Check the English; PATH lists all findings, --freeze lowers quotas, --moved OLD NEW follows a move."""
    from checks.prose import main as lint  # Beside us, and needed for this word alone.

    return lint(arguments)


WORDS = {
    "setup": setup,
    "run": run,
    "test": test,
    "check": check,
    "bench": bench,
    "prove": prove,
    "lock": lock,
    "client": client,
    "prose": prose,
}


def prepare(folder: Path, parts: tuple[str, ...]) -> Path:
    """Bring an environment up to date with its parts, and give its folder of programs."""
    wanted = {part: fingerprint(part) for part in parts}
    if not todo(folder, wanted):
        return folder / "bin"
    with alone():
        missing = todo(folder, wanted)
        if missing == list(wanted):
            make(folder)
        # Without its stamp an environment counts as unfinished: an interrupted installation starts again.
        stamp = {part: known for part, known in read_stamp(folder).items() if part not in missing}
        (folder / "stamp.json").unlink(missing_ok=True)
        for part in missing:
            install(folder, part)
        (folder / "stamp.json").write_text(json.dumps(stamp | wanted | {"made for": made_for(folder)}))
    return folder / "bin"


def todo(folder: Path, wanted: dict[str, str]) -> list[str]:
    """List the parts to be installed; all of them when the environment must be made again."""
    known = read_stamp(folder)
    usable = os.access(folder / "bin" / "python", os.X_OK) and known.get("made for") == made_for(folder)
    changed = [part for part in wanted if part != TREE and known.get(part, wanted[part]) != wanted[part]]
    if not usable or changed:
        return list(wanted)
    return [part for part in wanted if known.get(part) != wanted[part]]


def read_stamp(folder: Path) -> dict[str, str]:
    """Read which parts are installed; nothing is known of an environment that is unfinished or not ours."""
    try:
        return dict(json.loads((folder / "stamp.json").read_text()))
    except (OSError, ValueError):
        return {}


def made_for(folder: Path) -> str:
    """Name the Python and the place an environment belongs to: programs in it hold both as absolute paths."""
    return f"{sys.base_prefix} {sys.version} {folder}"


def fingerprint(part: str) -> str:
    """Digest a lock, or that part of pyproject.toml which installing the tree depends on."""
    content = (ROOT / part).read_bytes()
    if part == TREE:
        import tomllib  # Not there in a Python too old for us, which must get as far as main.

        tables = tomllib.loads(content.decode())
        content = json.dumps([tables["project"], tables["build-system"]], sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Wait until no other dev.py installs into this tree."""
    handle = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def make(folder: Path) -> None:
    """Make an empty environment in place of what is there."""
    if importlib.util.find_spec("ensurepip") is None:
        stop("This Python has no venv module. On Debian and Ubuntu: apt-get install python3-venv")
    try:
        if folder.exists():
            shutil.rmtree(folder)
        venv.create(folder, with_pip=True, symlinks=True)
    except PermissionError as error:
        stop(
            f"{error.filename} cannot be written by you: remove {folder} as its owner, or work in a clone of your own."
        )


def install(folder: Path, part: str) -> None:
    """Install one part: exactly what the lock names, or the tree itself so that a change needs no new installation."""
    if part == TREE:
        # The build tool is in the lock, so nothing is fetched here.
        pip(folder, "install", "--no-deps", "--no-build-isolation", "--no-index", "--editable", str(ROOT))
    else:
        print(f"Installing {part} into {folder.name} ...", flush=True)
        pip(folder, "install", "--require-hashes", "--no-deps", "--only-binary=:all:", "-r", str(ROOT / part))


def pip(folder: Path, *arguments: str) -> None:
    """Run the pip of an environment, and show what it says only if it fails."""
    quiet = ("--quiet", "--no-input", "--disable-pip-version-check")
    command = [str(folder / "bin" / "python"), "-m", "pip", *quiet, *arguments]
    environment = os.environ | {"PIP_ROOT_USER_ACTION": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        stop(
            f"{done.stdout}{done.stderr}\npip could not install; nothing is half done: fix the cause and run it again."
        )


def pure_tests() -> list[str]:
    """List the test files that need no database, network or process."""
    files = sorted(path for path in (ROOT / "tests").rglob("test_*.py"))
    return [str(path.relative_to(ROOT)) for path in files if "pytest.mark.pure" in path.read_text(encoding="utf-8")]


def report(name: str, command: list[str]) -> bool:
    """Run one tool of the check; print its time, its warnings, and its output if it fails."""
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    verdict = "failed" if done.returncode else "ok"
    print(f"{name:10} {verdict} in {time.monotonic() - begin:.1f} s", flush=True)
    if shown := done.stdout + done.stderr if done.returncode else done.stderr:
        print(shown, flush=True)
    return done.returncode == 0


def pytest(*arguments: str) -> int:
    """Run pytest in the test environment, with its output on the terminal."""
    # Tests start hundreds of processes of ours: what the first one compiles is kept for the others, in any environment.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.call([prepare(VENV, TO_TEST) / "python", "-m", "pytest", *arguments], env=environment)


def total(reports: list[Path]) -> str:
    """Sum up what several runs of pytest have reported."""
    suites = [suite for report in reports for suite in ElementTree.parse(report).getroot()]  # noqa: S314  Our own files.
    counts = {word: sum(int(suite.attrib[word]) for suite in suites) for word in ("failures", "errors", "skipped")}
    counts = {"passed": sum(int(suite.attrib["tests"]) for suite in suites) - sum(counts.values())} | counts
    words = ", ".join(f"{count} {word.replace('failures', 'failed')}" for word, count in counts.items() if count)
    return f"=== {words or 'no tests ran'} in {sum(float(suite.attrib['time']) for suite in suites):.2f}s ==="


def outside_contracts(root: Path = ROOT) -> list[str]:
    """List the packages, and the modules beside them, that no contract of .importlinter holds."""
    contracts = configparser.ConfigParser()
    contracts.read(root / ".importlinter")
    named = {pair for section in contracts.sections() for pair in names_in(contracts[section])}
    # A contract covers the modules below the names in it, unless it only forbids them to others.
    exactly, with_all_below = {name for _, name in named}, {name for holds, name in named if holds}
    source = root / "src"
    files = [*source.glob("chamberlain/*.py"), *source.glob("chamberlain*/**/__init__.py")]
    modules = {".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__") for file in files}
    return sorted(
        module
        for module in modules - exactly - {"chamberlain"}
        if not any(module.startswith(f"{name}.") for name in with_all_below - {"chamberlain"})
    )


def names_in(contract: configparser.SectionProxy) -> Iterator[tuple[bool, str]]:
    """Yield the full module names of a contract, and whether it covers the modules below them."""
    for option, value in contract.items():
        # A layer is a module in each container.
        containers = contract["containers"].split() if option == "layers" else [""]
        for container in containers:
            prefix = f"{container}." if container else ""
            for word in re.findall(r"[\w.]+", value):
                yield option not in {"forbidden_modules", "allowed_importers"}, prefix + word.removesuffix(".")


def stop(reason: str) -> NoReturn:
    """End with a sentence instead of a traceback."""
    print(reason, file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    sys.exit(main())
