# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
from pathlib import Path

import pytest

import dev
from checks import prose
from tests.pseudo_terminals import COLUMNS, on_terminal
from tests.remaining_time import remaining_seconds

pytestmark = pytest.mark.pure

CONTRACTS = """
[importlinter:contract:layers]
type = layers
containers = chamberlain
layers =
    cli
    api | (worker)

[importlinter:contract:pure]
type = forbidden
source_modules = chamberlain.api.*
forbidden_modules = chamberlain.directory
"""


def test_it_works_without_a_word() -> None:
    answer = subprocess.run([sys.executable, dev.__file__], capture_output=True, text=True, check=True)

    assert all(f"  {word}" in answer.stdout for word in ("setup", "run", "test", "check", "bench", "prove", "lock"))


def test_it_rejects_an_unknown_word() -> None:
    answer = subprocess.run([sys.executable, dev.__file__, "tset"], capture_output=True, text=True, check=False)

    assert answer.returncode == 2


def test_it_rejects_an_unknown_proof() -> None:
    answer = subprocess.run([sys.executable, dev.__file__, "prove", "x"], capture_output=True, text=True, check=False)

    assert answer.returncode == 2


@pytest.mark.parametrize(
    ("stamp", "todo"),
    [
        pytest.param({}, ["a.lock", dev.TREE], id="unfinished"),
        pytest.param({"a.lock": "1", dev.TREE: "1"}, [], id="nothing changed"),
        pytest.param({"a.lock": "0", dev.TREE: "1"}, ["a.lock", dev.TREE], id="a lock changed"),
        pytest.param({"a.lock": "1", dev.TREE: "0"}, [dev.TREE], id="only the tree's own table changed"),
        pytest.param({dev.TREE: "1"}, ["a.lock"], id="a lock more than before"),
        pytest.param({"a.lock": "1", dev.TREE: "1", "b.lock": "0"}, [], id="a lock that is not asked for"),
        pytest.param({"a.lock": "1", dev.TREE: "1", "made for": "x"}, ["a.lock", dev.TREE], id="another Python"),
    ],
)
def test_it_handles_what_is_installed_already(tmp_path: Path, stamp: dict[str, str], todo: list[str]) -> None:
    environment(tmp_path, {"made for": dev.made_for(tmp_path)} | stamp if stamp else {})

    assert dev.todo(tmp_path, {"a.lock": "1", dev.TREE: "1"}) == todo


def test_it_handles_an_environment_whose_python_is_gone(tmp_path: Path) -> None:
    environment(tmp_path, {"made for": dev.made_for(tmp_path), "a.lock": "1"})
    (tmp_path / "bin" / "python").unlink()

    assert dev.todo(tmp_path, {"a.lock": "1"}) == ["a.lock"]


def test_a_receiver_that_a_reader_has_saved_is_not_linted(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path)]
    for name in ("receiver.py", "dev.py", "tests/clients/programs/a.py", "tests/b.py", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("It is told.\n", encoding="utf-8")
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "dev.py", "tests", "README.md"], check=True)

    sources = dev.tracked_sources(tmp_path)

    assert sources == ["README.md", "dev.py", "tests/b.py", "tests/clients/programs/a.py"]
    assert dev.typed_files(sources) == ["dev.py", "tests/b.py"]
    assert prose.files(tmp_path) == sorted(sources)


def test_a_build_replaces_only_the_files_of_an_earlier_one(tmp_path: Path) -> None:
    for name in ("chamberlain.whl", "SHA256SUMS"):
        (tmp_path / name).write_text("0123  chamberlain.whl\n")

    dev.clear_build(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_build_into_a_folder_of_the_user_deletes_nothing(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("x")

    with pytest.raises(SystemExit):
        dev.clear_build(tmp_path)

    assert (tmp_path / "thesis.txt").exists()


def test_it_finds_packages_and_modules_in_no_contract(tmp_path: Path) -> None:
    (tmp_path / ".importlinter").write_text(CONTRACTS)
    for name in ("", "cli", "api", "api/endpoints", "worker", "directory", "directory/forgotten"):
        module(tmp_path, Path(name, "__init__"))
    for name in ("stray", "api/app"):
        module(tmp_path, Path(name))

    assert dev.outside_contracts(tmp_path) == ["chamberlain.directory.forgotten", "chamberlain.stray"]


def environment(folder: Path, stamp: dict[str, str]) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    (folder / "stamp.json").write_text(json.dumps(stamp))


def module(root: Path, name: Path) -> None:
    file = root / "src" / "chamberlain" / name.with_suffix(".py")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        pytest.param("print('out')", [], id="passes"),
        pytest.param("import sys; print('out'); print('warning', file=sys.stderr)", ["warning"], id="warns"),
        pytest.param("print('out'); raise SystemExit(1)", ["out"], id="fails"),
    ],
)
def test_it_shows_the_output_of_a_tool(capsys: pytest.CaptureFixture[str], code: str, shown: list[str]) -> None:
    assert dev.report("tool", [sys.executable, "-c", code]) == ("SystemExit" not in code)
    assert capsys.readouterr().out.split("\n")[1:] == ([*shown, "", ""] if shown else [""])


def test_it_works_out_the_total_of_several_runs(tmp_path: Path) -> None:
    for name, tests in (("one", "assert 1\n\ndef test_b(): assert 0"), ("two", "assert 1")):
        (tmp_path / f"test_{name}.py").write_text(f"def test_a(): {tests}\n")
        arguments = ("-q", "-c", "/dev/null", f"--junit-xml={name}.xml", f"test_{name}.py")
        subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=tmp_path, capture_output=True, check=False)

    answer = dev.total(sorted(tmp_path.glob("*.xml")))

    assert answer.startswith("=== 2 passed, 1 failed in ")


FAILING_ONCE = """
from pathlib import Path
def fail(number, times):
    runs = Path(f"runs-{number}")
    runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
    assert len(runs.read_text()) > times
"""


@pytest.mark.parametrize(
    ("times", "total", "unstable"),
    [
        pytest.param([0, 0], "2 passed", [], id="none fails"),
        pytest.param([0, 1], "2 passed", ["test_1"], id="one fails once"),
        pytest.param([1, 2], "1 passed, 1 failed", ["test_0"], id="one fails twice"),
        pytest.param([1] * 11, "11 failed", [], id="many fail once"),
    ],
)
def test_a_few_failed_tests_run_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: list[int], total: str, unstable: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tests = [f"def test_{number}(): fail({number}, {count})\n" for number, count in enumerate(times)]
    Path("test_some.py").write_text(FAILING_ONCE + "".join(tests))

    code = dev.prove_part("alone", tmp_path, ("-q", "-m", "", "-c", "/dev/null", f"--rootdir={tmp_path}"), [])

    assert code == int("failed" in total)
    assert dev.total([tmp_path / "alone.xml"]).startswith(f"=== {total} in ")
    again = tmp_path / "alone.again"
    assert [name.split("::")[1] for name in (dev.passed_tests(again) if again.exists() else ())] == unstable


PIP_OUTPUT = """Collecting first==1.0 (from -r requirements.lock)
  Downloading first-1.0-py3-none-any.whl (1 kB)
Requirement already satisfied: second==2.0
Installing collected packages: first
"""


def test_a_step_of_the_installation_is_a_plain_line_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with dev.Step("[1/2] Installing") as step:
        said = dev.follow(PIP_OUTPUT.splitlines(keepends=True), step)

    assert capsys.readouterr().out == "[1/2] Installing ...\n"
    assert said == PIP_OUTPUT
    assert step.detail == "unpacking"


def test_a_step_of_the_installation_is_updated_on_a_terminal() -> None:
    code = f"""
import dev
from checks import prose
with dev.Step("[1/2] Installing {"x" * COLUMNS}"[:60]) as step:
    dev.follow({PIP_OUTPUT.splitlines()[:3]!r}, step)
    input()
"""
    with on_terminal([sys.executable, "-c", code]) as terminal:
        terminal.wait_for("second (2)")
        terminal.type("\n")
        code_of_exit = terminal.end()

    assert code_of_exit == 0
    drawn = terminal.shown.split("\r")
    assert all(len(line.removesuffix("\x1b[K")) < COLUMNS for line in drawn)
    assert drawn[-2].endswith(" s\x1b[K")


@pytest.mark.parametrize(
    ("parts", "is_selection", "minutes"),
    [
        pytest.param(["check", "ordinary"], False, "8 minutes", id="ordinary"),
        pytest.param(list(dev.TESTS), False, "64 minutes", id="all"),
        pytest.param(["check", "ordinary"], True, "1 minute", id="a selection"),
    ],
)
def test_it_announces_the_duration_of_the_tests(
    capsys: pytest.CaptureFixture[str], parts: list[str], minutes: str, *, is_selection: bool
) -> None:
    dev.announce(parts, is_selection=is_selection)

    assert f"about {minutes}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("share", "elapsed", "expected", "remaining"),
    [
        pytest.param(0, 0, 400, 400, id="the table before the first test"),
        pytest.param(0, 0, None, None, id="nothing is known"),
        pytest.param(0.5, 100, None, 100, id="the pace alone"),
        pytest.param(0.5, 300, 400, 250, id="half of both"),
        pytest.param(1, 300, 400, 0, id="the end"),
    ],
)
def test_it_estimates_the_remaining_time(
    share: float, elapsed: float, expected: float | None, remaining: float | None
) -> None:
    assert remaining_seconds(share, elapsed, expected) == remaining


def test_it_shows_the_remaining_time_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "test_many.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(40))\ndef test_a(n): pass\n"
    )
    options = ("-q", "-c", "/dev/null", "-p", "tests.remaining_time", "--expected-minutes=7", str(tmp_path))

    with on_terminal([sys.executable, "-m", "pytest", *options]) as terminal:
        code = terminal.end()

    assert code == 0
    assert "0% of 40 tests, about 7 min left" in terminal.shown
    assert "95% of 40 tests, about" in terminal.shown
