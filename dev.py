#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
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
import threading
import time
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self, TextIO
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
CLIENTS_VENV = ROOT / ".venv-clients"
DOCS_VENV = ROOT / ".venv-docs"
ORDINARY_WAY_VENV = ROOT / ".venv-ordinary"
SUITE_VENV = ROOT / ".venv-suite"
SYNAPSE_VENV = ROOT / ".venv-synapse"
TYPESCRIPT = ROOT / "tests" / "clients" / "typescript"

# The parts of an environment, in the order of installation: locks, and the tree itself.
TREE = "pyproject.toml"
TO_RUN = ("requirements.lock", TREE)
TO_TEST = ("requirements.lock", "requirements-test.lock", TREE)
TRACES = ("requirements-traces.lock",)
CLIENTS = ("requirements-clients.lock",)
DOCS = ("requirements-docs.lock",)
ORDINARY_WAY = ("requirements-ordinary.lock",)
# The service with the extra "opensuite", and its tests. Synapse (AGPL) is a program of an environment of its own.
SUITE = ("requirements.lock", "requirements-test.lock", "requirements-suite.lock", TREE)
SYNAPSE = ("requirements-synapse.lock",)

# The parts of `test --all` with their minutes on two quiet cores, and the options of pytest. A file stays together,
# because its tests may share a running service. Files keep their order: sorted by the number of tests, the long ones
# would come last and leave one core idle.
LOADFILE = ("--dist", "loadfile", "--no-loadscope-reorder")
TESTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "check": (1, ()),
    # The check has run the pure ones.
    "ordinary": (7, ("-n", "3", *LOADFILE, "-m", "not heavy and not pure and not suite")),
    "heavy": (36, ("-n", "2", *LOADFILE, "-m", "heavy and not alone and not suite")),
    # These measure how soon the service answers, or how much they get done in a given time.
    "alone": (11, ("-m", "heavy and alone and not suite")),
    # Each process starts a suite, whose tests wait more than they compute.
    "suite": (9, ("-n", "3", *LOADFILE, "-m", "suite")),
}

# Of 13,000 tests, hundreds with processes of their own, few fail by load alone. More failures have another cause.
MOST_UNSTABLE = 10

# Parts of the machine that heavy tests name by the marker `needs`: is it there, and how does one get it?
PARTS: dict[str, tuple[Callable[[], object], str]] = {
    "chromium": (lambda: shutil.which("chromium"), "apt-get install chromium"),
    "firefox": (lambda: shutil.which("firefox-esr"), "apt-get install firefox-esr"),
    "promtool": (lambda: shutil.which("promtool"), "apt-get install prometheus"),
    "wrk": (lambda: shutil.which("wrk"), "apt-get install wrk"),
    "postgresql-15": (Path("/usr/lib/postgresql/15/bin/postgres").exists, "apt-get install postgresql-15"),
    "npm": (lambda: shutil.which("npm"), "apt-get install nodejs npm"),
    "pgbouncer": (Path("/usr/sbin/pgbouncer").exists, "apt-get install pgbouncer"),
    "patroni": (lambda: shutil.which("patroni") and shutil.which("etcd"), "apt-get install patroni etcd-server"),
    "faketime": (
        lambda: any(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")),
        "apt-get install libfaketime",
    ),
    "pipx": (lambda: shutil.which("pipx"), "apt-get install pipx"),
    "containers": (
        lambda: all(map(shutil.which, ("buildah", "podman", "runc", "mmdebstrap"))),
        "apt-get install buildah podman runc mmdebstrap",
    ),
    "root": (lambda: os.geteuid() == 0, "run it as root, so that tests can start the service as another user"),
    "loop": (
        # Root in a container may have no loop devices.
        lambda: shutil.which("mkfs.ext4") and subprocess.call(["losetup", "--find"], stdout=subprocess.DEVNULL) == 0,
        "apt-get install e2fsprogs, as root on a machine with loop devices",
    ),
    "suite": (
        lambda: suite_problem() is None,
        "install the packages of deploy/suite/README.md, as root",
    ),
    "namespaces": (
        lambda: subprocess.call(["unshare", "--net", "--mount", "true"], stderr=subprocess.DEVNULL) == 0,
        "run it as root on a machine where root may create namespaces",
    ),
}

# The question that makes each lock, asked of uv; test packages must agree with those of the service.
LOCKS = {
    "requirements.lock": (TREE, "--group", "build"),
    "requirements-traces.lock": (TREE, "--extra", "traces", "--constraints", "requirements.lock"),
    "requirements-test.lock": ("--group", "test", "--constraints", "requirements.lock"),
    "requirements-clients.lock": ("--group", "clients"),
    "requirements-docs.lock": ("--group", "docs"),
    "requirements-ordinary.lock": ("--group", "ordinary"),
    "requirements-suite.lock": (
        *(TREE, "--extra", "opensuite", "--group", "suite"),
        *("--constraints", "requirements.lock", "--constraints", "requirements-test.lock"),
    ),
    "requirements-synapse.lock": ("--group", "synapse"),
}


def main() -> int:
    """Find the word in the table below and do it."""
    word, arguments = (sys.argv[1] if len(sys.argv) > 1 else "help"), sys.argv[2:]
    if sys.version_info < (3, 11):  # noqa: UP036  An older Python can run this file, and gets a clear message.
        stop(f"Chamberlain needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    if word not in WORDS:
        print("python3 dev.py WORD\n\n" + "\n".join(f"  {name:8} {done.__doc__}" for name, done in WORDS.items()))
        return 0 if word in {"help", "-h", "--help"} else 2
    os.chdir(ROOT)
    try:
        return WORDS[word](arguments)
    except PermissionError as error:
        stop(f"{error.strerror}: {error.filename}. Let its owner do it or remove .venv, or use a clone of your own.")
    except KeyboardInterrupt:
        print("\nStopped. Run it again to continue.", file=sys.stderr)
        return 130  # The exit code of a shell for a program ended by Ctrl-C.


def setup(arguments: list[str]) -> int:
    """Install what the service needs into .venv (run and test do it by themselves); --traces adds what sends traces."""
    prepare(VENV, (TO_RUN[0], *TRACES, TREE) if "--traces" in arguments else TO_RUN)
    print(f"Ready: {VENV / 'bin' / 'chamberlain'}")
    return 0


def run(arguments: list[str]) -> int:
    """Set up and start the service; what follows goes to `chamberlain serve`. --suite gives it an open suite."""
    if "--suite" in arguments:
        arguments.remove("--suite")
        if problem := suite_problem():
            stop(problem)
        synapse = str(prepare(SYNAPSE_VENV, SYNAPSE) / "python")
        suite_command = [str(prepare(SUITE_VENV, SUITE) / "python"), "-m", "deploy.suite", "run"]
        command = [*suite_command, "--synapse", synapse, *arguments]
    else:
        command = [str(prepare(VENV, TO_RUN) / "chamberlain"), "serve", *arguments]
    sys.stdout.flush()
    os.execv(command[0], command)  # noqa: S606  The service takes our place: signals and exit code are its own.


def suite(arguments: list[str]) -> int:
    """Run an open suite on free ports: start, stop, show; prove runs its tests with the remaining arguments."""
    word, *rest = arguments or ["--help"]
    if word == "prove":
        return test_part("suite", (), rest)
    if word == "start" and (problem := suite_problem(builds=False)):
        stop(problem)
    python = prepare(VENV, TO_RUN) / "python"
    # Synapse is installed for the first start only.
    synapse = prepare(SYNAPSE_VENV, SYNAPSE) if word == "start" else SYNAPSE_VENV / "bin"
    return subprocess.call([str(python), "-m", "deploy.suite", word, *rest, "--synapse", str(synapse / "python")])


def suite_problem(*, builds: bool = True) -> str | None:
    """Return why an open suite cannot run on this machine, or python-ldap cannot be built, or None."""
    # Not above: the build of the image has no deploy folder.
    from deploy.suite import packages

    return packages.server_problem() or (packages.build_problem() if builds else None)


def test(arguments: list[str]) -> int:
    """Check, then run the tests; --all adds the heavy ones; what follows goes to pytest."""
    if "--all" in arguments:
        return test_everything([argument for argument in arguments if argument != "--all"])
    prepare(VENV, TO_TEST)
    announce(["check", "ordinary"], is_selection=bool(arguments))
    return check([]) | test_part("ordinary", (), arguments)


def test_everything(arguments: list[str]) -> int:
    """Run all tests, say what the machine lacks for some of them, and end with the sum in pytest's own form."""
    prepare(CLIENTS_VENV, CLIENTS)
    prepare(DOCS_VENV, DOCS)
    prepare(ORDINARY_WAY_VENV, ORDINARY_WAY)
    missing = {part: cure for part, (is_there, cure) in PARTS.items() if not is_there()}
    if "npm" not in missing:
        prepare_typescript()
    if "suite" not in missing:
        prepare(SYNAPSE_VENV, SYNAPSE)
        prepare(SUITE_VENV, SUITE)
    prepare(VENV, TO_TEST)
    announce(list(TESTS), is_selection=bool(arguments))
    with tempfile.TemporaryDirectory() as reports:
        failed = check([])
        for name in ("ordinary", "heavy", "alone", "suite"):
            failed |= prove_part(name, Path(reports), (f"--missing={','.join(missing)}",), arguments)
        for part, cure in missing.items():
            print(f"Not run for want of {part}, counted as skipped. To have it: {cure}")
        if unstable := sorted(name for report in Path(reports).glob("*.again") for name in passed_tests(report)):
            print(f"Unstable: failed among others and passed alone. Fix {', '.join(unstable)}")
        print(total(sorted(Path(reports).glob("*.xml"))))
    # A person may go on without a part; a machine that proves everything may not.
    return int(bool(failed) or (bool(missing) and os.environ.get("CI") == "true"))


def announce(parts: list[str], *, is_selection: bool) -> None:
    """Print how long the tests take, before they start."""
    if is_selection:
        print("The check takes about 1 minute. The duration of the chosen tests is unknown.", flush=True)
        return
    minutes = {name: TESTS[name][0] for name in parts}
    listed = ", ".join(f"{name} {count}" for name, count in minutes.items())
    print(f"This takes about {sum(minutes.values())} minutes on two quiet cores: {listed}.", flush=True)


def test_part(name: str, options: tuple[str, ...], arguments: list[str]) -> int:
    """Run one part of the tests; a terminal also shows the remaining time."""
    estimate: tuple[str, ...] = ()
    if is_terminal(sys.stdout):
        # The table has the duration of all tests, not of those that arguments choose.
        estimate = ("-p", "tests.remaining_time", *(() if arguments else (f"--expected-minutes={TESTS[name][0]}",)))
    # A selection may name pure tests alone.
    selected = ("-m", "not heavy and not suite") if arguments and name == "ordinary" else ()
    return pytest(*TESTS[name][1], *selected, *options, *estimate, *arguments, environment=environment_for(name))


def prove_part(name: str, reports: Path, options: tuple[str, ...], arguments: list[str]) -> int:
    """Run one part of the tests. A few that fail run once more, alone, where load cannot fail them.

    The reports are NAME.xml, and NAME.again of the second run.
    """
    report, again = reports / f"{name}.xml", reports / f"{name}.again"
    code = test_part(name, (*options, "--cache-clear", f"--junit-xml={report}"), arguments)
    # Another code is an error of pytest itself.
    if code != 1 or not 0 < failures(report) <= MOST_UNSTABLE:
        return code
    print("Running the failed tests once more, one at a time.", flush=True)
    environment = environment_for(name)
    return pytest("--last-failed", f"--junit-xml={again}", *options, *arguments, environment=environment)


def environment_for(name: str) -> tuple[Path, tuple[str, ...]]:
    """Return the environment that a part of the tests runs in, with its parts."""
    if name == "suite" and PARTS["suite"][0]():
        return SUITE_VENV, SUITE
    # Tests without their part are skipped, which needs no library of theirs.
    return VENV, TO_TEST


def check(_: list[str]) -> int:
    """Format, lint, types, imports, English, the SDK, commits, licences, tests of the rules; under a minute."""
    programs = prepare(VENV, TO_TEST)
    python = str(programs / "python")
    sources = tracked_sources()
    # The longest first, so that two cores end at the same time.
    tools = {
        "types": [python, "-m", "mypy", *typed_files(sources)],
        "rules": [python, "-m", "pytest", "-q", "-m", "pure and not heavy", *pure_tests()],
        "prose": [python, "-m", "checks.prose"],
        "client": [python, "-m", "checks.client", "--check"],
        "imports": [str(programs / "lint-imports")],
        "lint": [str(programs / "ruff"), "check", "--force-exclude", *sources],
        "format": [str(programs / "ruff"), "format", "--check", "--force-exclude", *sources],
        "commits": [python, "-m", "checks.commits"],
        "licences": [python, "-m", "checks.licences"],
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
    # Those of an open suite need its libraries and Synapse.
    is_of_suite = name.startswith("suite")
    if is_of_suite:
        prepare(SYNAPSE_VENV, SYNAPSE)
    python = prepare(*((SUITE_VENV, SUITE) if is_of_suite else (VENV, TO_TEST))) / "python"
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
            # The SDK is part of this tree.
            label = ("--custom-compile-command=python3 dev.py lock", "--no-emit-package=chamberlain-client")
            command = [f"{folder}/bin/uv", "pip", "compile", *options, *label, *arguments, *question, "-o", name]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return 0


def build(arguments: list[str]) -> int:
    """Build the wheels and the bill of materials into dist/, or the folder named; the same bytes each time."""
    python, target = prepare(VENV, TO_RUN) / "python", Path(*arguments or ["dist"]).absolute()
    time_of_commit = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    done = subprocess.run(time_of_commit, capture_output=True, text=True, check=False)
    if done.returncode:
        stop("A build needs a clone: it has the time of the last commit.")
    # flit gives this time to all files in a wheel.
    os.environ["SOURCE_DATE_EPOCH"] = done.stdout.strip()
    clear_build(target)
    # The build tool is in the lock, so nothing is fetched here.
    pip(VENV, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(target), ".", "./src")
    version = next(target.glob("chamberlain-*.whl")).name.split("-")[1]
    bill = target / f"chamberlain-{version}.cdx.json"
    subprocess.run([python, "-m", "release.sbom", bill, version, done.stdout.strip()], check=True)
    shutil.copy("requirements.lock", target)
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in sorted(target.iterdir())]
    (target / "SHA256SUMS").write_text("\n".join(sums) + "\n")
    print("\n".join(sums))
    return 0


def clear_build(target: Path) -> None:
    """Remove the files of an earlier build; end if the folder has others, such as a home folder by mistake."""
    sums = target / "SHA256SUMS"
    if sums.exists():
        for line in sums.read_text().splitlines():
            (target / Path(line.split()[-1]).name).unlink(missing_ok=True)
        sums.unlink()
    if target.exists() and any(target.iterdir()):
        stop(f"{target} has files that are not of a finished build. Remove them, or name another folder.")


def client(_: list[str]) -> int:
    """Generate the SDK's models from the OpenAPI document, and its synchronous client."""
    return subprocess.call([prepare(VENV, TO_TEST) / "python", "-m", "checks.client"])


def docs(arguments: list[str]) -> int:
    """Build the documentation as a site with search into site/, or into the folder that follows."""
    python = prepare(DOCS_VENV, DOCS) / "python"
    site = Path(arguments[0] if arguments else "site").resolve()
    # A warning is an error: Sphinx warns about broken links, and about pages that the index does not list. It reads all
    # pages, because it does not warn about links of pages that it read before.
    options = ("--builder", "html", "--fail-on-warning", "--fresh-env", "--write-all", "--quiet", "--conf-dir", "docs")
    if code := subprocess.call([str(python), "-m", "sphinx", *options, ".", str(site)]):
        return code
    print(f"Built: {site / 'index.html'}")
    return 0


def pictures(arguments: list[str]) -> int:
    """Draw the pictures of the documentation into docs/pictures. Needs Chromium."""
    return subprocess.call([prepare(VENV, TO_TEST) / "python", "-m", "checks.pictures", *arguments])


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
    "build": build,
    "client": client,
    "docs": docs,
    "pictures": pictures,
    "prose": prose,
    "suite": suite,
}


def prepare(folder: Path, parts: tuple[str, ...]) -> Path:
    """Bring an environment up to date with its parts, and give its folder of programs."""
    wanted = {part: fingerprint(part) for part in parts}
    if not todo(folder, wanted):
        return folder / "bin"
    with alone():
        missing = todo(folder, wanted)
        begin, is_new = time.monotonic(), missing == list(wanted)
        steps = [f"Installing {described(part)}" for part in missing]
        if is_new:
            steps.insert(0, f"Creating {folder.name}")
        numbered = iter([f"[{number}/{len(steps)}] {step}" for number, step in enumerate(steps, start=1)])
        if is_new:
            with Step(next(numbered)):
                make(folder)
        # Without its stamp an environment counts as unfinished: an interrupted installation starts again.
        stamp = {part: known for part, known in read_stamp(folder).items() if part not in missing}
        (folder / "stamp.json").unlink(missing_ok=True)
        for part in missing:
            with Step(next(numbered)) as step:
                install(folder, part, step)
        (folder / "stamp.json").write_text(json.dumps(stamp | wanted | {"made for": made_for(folder)}))
        if missing:
            print(f"Installed into {folder.name} in {time.monotonic() - begin:.0f} s.", flush=True)
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


def described(part: str) -> str:
    """Name a part for people."""
    return "this project" if part == TREE else f"{packages_in(part)} packages of {part}"


def packages_in(part: str) -> int:
    """Count the packages of a lock. Some may be for other systems."""
    return len(re.findall(r"^[\w.-]+==", (ROOT / part).read_text(encoding="utf-8"), re.MULTILINE))


class Step:
    """One step of an installation. It is one line, which a terminal updates with the time and a detail."""

    def __init__(self, title: str, stream: TextIO | None = None) -> None:
        self.title, self.detail, self._begin = title, "", time.monotonic()
        self._stream = stream or sys.stdout
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._update, daemon=True) if is_terminal(self._stream) else None

    def __enter__(self) -> Self:
        """Print the line."""
        if self._ticker:
            self._ticker.start()
        else:
            print(f"{self.title} ...", file=self._stream, flush=True)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the title and the time on a terminal."""
        self._ended.set()
        if self._ticker:
            self._ticker.join()
            self._draw("", end="\n")

    def _update(self) -> None:
        self._draw(self.detail)
        while not self._ended.wait(0.2):
            self._draw(self.detail)

    def _draw(self, detail: str, end: str = "") -> None:
        text = f"{self.title}, {time.monotonic() - self._begin:.0f} s" + (f": {detail}" if detail else "")
        # A line that wraps would stay. ESC [ K erases what a longer text left.
        text = text[: shutil.get_terminal_size().columns - 1]
        print(f"\r{text}\x1b[K", end=end, file=self._stream, flush=True)


def is_terminal(stream: TextIO) -> bool:
    """Return whether a line on the stream can be updated."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def install(folder: Path, part: str, step: Step) -> None:
    """Install one part: exactly what the lock names, or the tree itself so that a change needs no new installation."""
    if part == TREE:
        # The build tool is in the lock, so nothing is fetched here.
        tree = ("--no-deps", "--no-build-isolation", "--no-index", "--editable", str(ROOT))
        pip(folder, "install", *tree, step=step)
    else:
        # python-ldap is a source package. The build tool that it needs is in the lock before.
        built = ("--no-binary=python-ldap", "--no-build-isolation") if part == "requirements-suite.lock" else ()
        exactly = ("--require-hashes", "--no-deps", "--only-binary=:all:", *built, "-r", str(ROOT / part))
        pip(folder, "install", *exactly, step=step)


def pip(folder: Path, *arguments: str, step: Step | None = None) -> None:
    """Run the pip of an environment, and show its output only if it fails."""
    options = ("--no-input", "--disable-pip-version-check", "--progress-bar=off")
    command = [str(folder / "bin" / "python"), "-m", "pip", arguments[0], *options, *arguments[1:]]
    environment = os.environ | {"PIP_ROOT_USER_ACTION": "ignore"}
    with subprocess.Popen(
        command, text=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        said = follow(process.stdout or (), step)
    if process.returncode:
        stop(f"\n{said}\npip could not install; nothing is half done: fix the cause and run it again.")


def follow(lines: Iterable[str], step: Step | None) -> str:
    """Show the package that pip installs as the detail of a step, and return all of its output."""
    said, packages = [], 0
    for line in lines:
        said.append(line)
        if step and (found := re.match(r"(Collecting|Requirement already satisfied:) ([\w.-]+)", line)):
            packages += 1
            step.detail = f"{found[2]} ({packages})"
        elif step and line.startswith("Installing collected packages"):
            step.detail = "unpacking"
    return "".join(said)


def prepare_typescript() -> None:
    """Install the npm packages of tests by their lock, unless they are there."""
    lock, stamp = TYPESCRIPT / "package-lock.json", TYPESCRIPT / "node_modules" / "stamp"
    with alone():
        if stamp.exists() and stamp.read_text() == fingerprint(str(lock)):
            return
        print(f"Installing {lock.relative_to(ROOT)} ...", flush=True)
        # npm removes node_modules first, so that an interrupted installation has no stamp.
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        done = subprocess.run(command, cwd=TYPESCRIPT, capture_output=True, text=True, check=False)
        if done.returncode:
            stop(f"{done.stdout}{done.stderr}\nnpm could not install; fix the cause and run it again.")
        stamp.write_text(fingerprint(str(lock)))


def tracked_sources(root: Path = ROOT) -> list[str]:
    """List the Python files and pages that git knows. Empty without git: each tool then reads all that it finds."""
    from checks.tracked import tracked_files  # Beside us, and needed for this word alone.

    return [str(file.relative_to(root)) for file in tracked_files(root) or () if file.suffix in {".md", ".py"}]


def typed_files(files: list[str]) -> list[str]:
    """Choose the files that mypy would find by its settings, which do not apply to files that are named to it."""
    import tomllib  # Not there in a Python too old for us, which must get as far as main.

    settings = tomllib.loads((ROOT / TREE).read_text())["tool"]["mypy"]
    folders = tuple(settings["files"])
    typed = (file for file in files if file.endswith(".py") and file.split("/")[0] in folders)
    return [file for file in typed if not any(re.search(excluded, file) for excluded in settings["exclude"])]


def pure_tests() -> list[str]:
    """List the test files with tests that need no database or network."""
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


def pytest(*arguments: str, environment: tuple[Path, tuple[str, ...]] = (VENV, TO_TEST)) -> int:
    """Run pytest in a test environment, with its output on the terminal."""
    # Tests start hundreds of processes of ours: what the first one compiles is kept for the others, in any environment.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.call([prepare(*environment) / "python", "-m", "pytest", *arguments], env=variables)


def total(reports: list[Path]) -> str:
    """Sum up what several runs of pytest have reported. A test that ran once more counts as it ended then."""
    attributes = [suite.attrib for report in reports for suite in suites_of(report)]
    tests, skipped = (sum(int(each[word]) for each in attributes) for word in ("tests", "skipped"))
    failed = sum(failures(again if (again := report.with_suffix(".again")).exists() else report) for report in reports)
    counts = {"passed": tests - skipped - failed, "failed": failed, "skipped": skipped}
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f"=== {words or 'no tests ran'} in {sum(float(each['time']) for each in attributes):.2f}s ==="


def failures(report: Path) -> int:
    """Count the tests that failed, or could not be set up."""
    return sum(int(suite.attrib[word]) for suite in suites_of(report) for word in ("failures", "errors"))


def passed_tests(report: Path) -> list[str]:
    """List the tests that passed, by file and name."""
    cases = [case for suite in suites_of(report) for case in suite.iter("testcase")]
    return [f"{case.get('classname')}::{case.get('name')}" for case in cases if not len(case)]


def suites_of(report: Path) -> Iterable[ElementTree.Element]:
    """Read the suites of a report of pytest."""
    return ElementTree.parse(report).getroot()  # noqa: S314  Our own files.


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
