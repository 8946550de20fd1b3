import json
import subprocess
import sys
from pathlib import Path

import pytest

import dev

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
