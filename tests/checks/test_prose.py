# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from checks import prose

pytestmark = pytest.mark.pure

LONG = "One two three four five six seven eight nine ten eleven twelve thirteen"


def rules(root: Path, path: str, source: str) -> list[tuple[int, str]]:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(source, encoding="utf-8")
    return [(finding.line, finding.rule) for finding in prose.findings(path, root)]


def repository(root: Path, quotas: str = "", **pages: int) -> None:
    """Write pages with a number of findings each, and the quotas."""
    (root / "checks").mkdir()
    (root / prose.QUOTA).write_text(quotas, encoding="utf-8")
    (root / "docs").mkdir()
    for name, findings in pages.items():
        (root / "docs" / f"{name}.md").write_text("It is told.\n" * findings, encoding="utf-8")


def quotas(root: Path) -> dict[str, int]:
    return prose.read_quotas(root)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Claim due jobs, fair by tenant.", [], id="plain"),
        pytest.param("What is sent.", ["opening"], id="what"),
        pytest.param("Who asks is authorised.", ["opening"], id="who"),
        pytest.param("Whose turn it is.", ["opening"], id="whose"),
        pytest.param("Whoever asks.", ["person"], id="whoever"),
        pytest.param("what it is", ["opening"], id="label in lower case"),
        pytest.param("It ends. What is left is kept.", ["opening"], id="second sentence"),
        pytest.param("It ends. what is left", [], id="lower case after an abbreviation"),
        pytest.param("Left: What is kept.", ["opening"], id="after a colon"),
        pytest.param("**Who asks** is known.", ["opening"], id="emphasis"),
        pytest.param('("What is this" is a title.)', ["opening"], id="quotes"),
        pytest.param("See what is sent.", [], id="inside a sentence"),
        pytest.param("Whatever happens, retry.", [], id="longer word"),
        pytest.param("What is sent?", [], id="question"),
        pytest.param("What is sent? Who knows. It is.", ["opening"], id="question and statement"),
        pytest.param("What is sent\nby the client?", [], id="question of two lines"),
        pytest.param("What is sent.\n\nDone?", ["opening"], id="question in the next paragraph"),
        pytest.param("# Who may do it\n\nText?", ["opening"], id="heading"),
        pytest.param("- one\n- what it is", ["opening"], id="list item"),
        pytest.param("1. Who asks", ["opening"], id="numbered item"),
        pytest.param("| field | what it is |", ["opening"], id="table cell"),
        pytest.param("Ask somebody, Nobody or whomever.", ["person"] * 3, id="persons"),
        pytest.param("Start anew.", ["anew"], id="anew"),
        pytest.param("It was told.", ["told"], id="told"),
        pytest.param("It tells the worker.", [], id="tells"),
        pytest.param("They come along, it comes\nalong, came along, coming along.", ["along"] * 4, id="along"),
        pytest.param("Along the way.", [], id="only along"),
        pytest.param("It stands, they stand, it stood, is standing.", ["stand"] * 4, id="stand"),
        pytest.param("A stand-in for long-standing, outstanding work.", [], id="compounds"),
        pytest.param("Understand and recommend it.", [], id="parts of words"),
        pytest.param("Mend, mends, mended, mending.", ["mend"] * 4, id="mend"),
        pytest.param("Rename `what told` and ``nobody ` anew``.", [], id="code spans"),
        pytest.param("`What is` a span, and told\n\nis` not in one.", ["told"], id="span ends with its paragraph"),
        pytest.param("A ` tick.\n\nIt was told by ` it.", ["told"], id="ticks of two paragraphs"),
        pytest.param("```\nWhat is told\n```\n\nIt is told.", ["told"], id="fenced code"),
        pytest.param("~~~text\nnobody\n~~~\n", [], id="fenced code with tildes"),
        pytest.param("[page](what-is-told.md) and https://example.org/nobody", [], id="link target"),
        pytest.param("[told](page.md)", ["told"], id="link text"),
    ],
)
def test_it_works_for_texts(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert [rule for _, rule in rules(tmp_path, "docs/page.md", text)] == expected


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        pytest.param("bench/a.py", '"""One.\n\nWhat is two.\n"""\n', [(3, "opening")], id="docstring"),
        pytest.param("src/a.py", f'def a():\n    """{LONG}."""\n', [(2, "first-line")], id="long first line"),
        pytest.param("src/a.py", f'"""One {LONG[3:-9]}.\n\n{LONG}."""\n', [], id="first line of 12 words"),
        pytest.param("src/a.py", f'"""`{LONG}` is a span."""\n', [], id="span as one word"),
        pytest.param("tests/a.py", f'"""{LONG}."""\n', [], id="long first line outside src"),
        pytest.param("src/a.py", "# See nobody\n# go. Who\n# asks.\n", [(1, "person"), (2, "opening")], id="comment"),
        pytest.param("src/a.py", "# One\na = 1\n# what it is\n", [(3, "opening")], id="comments around code"),
        pytest.param("src/a.py", "# Call this\n# what it is.\n", [], id="sentence over two lines"),
        pytest.param("src/a.py", "a = 1  # One\nb = 2  # what it is\n", [(2, "opening")], id="comments behind code"),
        pytest.param("src/a.py", "import a  # noqa: F401, E501  Who asks.\n", [(1, "opening")], id="reason of a noqa"),
        pytest.param("src/a.py", "a = b  # type: ignore[x]  # Who asks.\n", [(1, "opening")], id="reason of an ignore"),
        pytest.param("src/a.py", "#!/usr/bin/told told\n", [], id="interpreter"),
        pytest.param("src/a.py", 'a = "no # comment told"\n', [(1, "told")], id="number sign in a literal"),
        pytest.param("src/a.py", 'a = f(\n    help="What people see.")\n', [(2, "opening")], id="help text"),
        pytest.param("src/a.py", 'a = "Somebody"\n', [(1, "person")], id="capitalized word"),
        pytest.param("src/a.py", 'a = {"told": "what"}\n', [], id="key"),
        pytest.param("src/a.py", 'a = f"{b} told {c}"\n', [(1, "told")], id="f-string"),
        pytest.param("src/a.py", "a = f\"{b} is {d['It told']}\"\n", [(1, "told")], id="literal in a placeholder"),
        pytest.param("src/a.py", 'a = b + ", who asks"\nc = b + " who asks"\n', [], id="rest of a sentence"),
        pytest.param("src/a.py", 'a = "It is " "told."\n', [(1, "told")], id="joined literals"),
        pytest.param("src/a.py", 'a = """\nSELECT told FROM b\n-- Not told.\n"""\n', [(3, "told")], id="SQL literal"),
        pytest.param("tests/a.py", 'a = "What is told."\n', [], id="literal of a test"),
        pytest.param("tests/a.py", "# It is told.\n", [(1, "told")], id="comment of a test"),
        pytest.param("src/a.sql", "-- It is\n-- told.\nSELECT told, '-- told';\n", [(2, "told")], id="SQL"),
        pytest.param("src/a.sql", "SELECT '/*', told; /* anew\ntold */\n", [(1, "anew"), (2, "told")], id="SQL block"),
        pytest.param("bench/a.lua", "-- What it says.\n", [(1, "opening")], id="Lua"),
        pytest.param("pyproject.toml", 'a = "told"\n\nb = 1 # told\n', [(3, "told")], id="TOML"),
        pytest.param("deploy/start", "#!/bin/sh told\n# What runs.\necho ${#told}\n", [(2, "opening")], id="shell"),
        pytest.param("src/a.html", "<p>One.</p>\n<p>Who <b>asks</b>.</p>\n", [(2, "opening")], id="page"),
        pytest.param("src/a.html", "<p>It ends. <b>What</b> is left.</p>\n", [(1, "opening")], id="start of a tag"),
        pytest.param("src/a.html", "<p>See <b>what</b> is sent.</p>\n", [], id="inline tag"),
        pytest.param("src/a.html", '<p id="told">{{ told }}</p>\n<style>told</style>', [], id="attributes and values"),
        pytest.param("src/a.html", '<input\n aria-label="Nobody">\n', [(2, "person")], id="label"),
        pytest.param("src/a.html", '{% set a = {"told": "It is told."} %}\n', [(1, "told")], id="text in a statement"),
        pytest.param("src/a.html", "{% if told %}{# Who asks. #}{% endif %}\n", [(1, "opening")], id="note in a page"),
    ],
)
def test_it_reads_each_kind_of_file(tmp_path: Path, path: str, source: str, expected: list[tuple[int, str]]) -> None:
    assert rules(tmp_path, path, source) == expected


def test_it_reads_every_folder_and_the_root(tmp_path: Path) -> None:
    paths = [".ci/run", "README.md", *(f"{folder}/deep/a.py" for folder in prose.FOLDERS if folder != ".ci")]
    for path in [*paths, ".venv/a.py", "LICENSE", "src/a.css"]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()

    assert prose.files(tmp_path) == sorted(paths)


def test_it_passes_a_file_within_its_quota(tmp_path: Path) -> None:
    repository(tmp_path, "docs/a.md 2\n", a=2, b=0)

    assert prose.main([], tmp_path) == 0


def test_it_rejects_a_file_above_its_quota(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository(tmp_path, "docs/a.md 1\n", a=2)

    assert prose.main([], tmp_path) == 1
    assert [line.split(": ")[:2] for line in capsys.readouterr().out.splitlines()[:2]] == [
        ["docs/a.md:1", "told"],
        ["docs/a.md:2", "told"],
    ]


def test_it_rejects_a_finding_in_a_new_file(tmp_path: Path) -> None:
    repository(tmp_path, "docs/a.md 1\n", a=1, b=1)

    assert prose.main([], tmp_path) == 1


@pytest.mark.parametrize("findings", [pytest.param(1, id="fewer findings"), pytest.param(0, id="none left")])
def test_it_rejects_a_quota_that_is_too_high(tmp_path: Path, findings: int) -> None:
    repository(tmp_path, "docs/a.md 2\n", a=findings)

    assert prose.main([], tmp_path) == 1


def test_it_rejects_the_quota_of_a_deleted_file(tmp_path: Path) -> None:
    repository(tmp_path, "docs/gone.md 2\n")

    assert prose.main([], tmp_path) == 1


def test_freeze_lowers_quotas(tmp_path: Path) -> None:
    repository(tmp_path, "docs/a.md 3\ndocs/clean.md 2\ndocs/gone.md 2\n", a=1, clean=0)

    assert prose.main(["--freeze"], tmp_path) == 0
    assert quotas(tmp_path) == {"docs/a.md": 1}
    assert prose.main([], tmp_path) == 0


def test_freeze_never_raises_a_quota(tmp_path: Path) -> None:
    repository(tmp_path, "docs/a.md 1\n", a=2, new=1)

    assert prose.main(["--freeze"], tmp_path) == 1
    assert quotas(tmp_path) == {"docs/a.md": 1}


@pytest.mark.parametrize(
    ("before", "pages", "moves", "after"),
    [
        pytest.param({"old": 2}, {"new": 2}, ["old:new"], {"new": 2}, id="move"),
        pytest.param({"old": 2}, {"new": 1}, ["old:new"], {"new": 1}, id="move with a fix"),
        pytest.param({"a": 2, "b": 1}, {"b": 3}, ["a:b"], {"b": 3}, id="merge"),
        pytest.param({"a": 3}, {"a": 1, "b": 2}, ["a:b"], {"a": 1, "b": 2}, id="split"),
        pytest.param({"a": 1, "b": 2}, {"a": 2, "b": 1}, ["a:b", "b:a"], {"a": 2, "b": 1}, id="exchange"),
        pytest.param({"a": 1, "b": 2}, {"b": 1, "c": 2}, ["a:b", "b:c"], {"b": 1, "c": 2}, id="chain"),
    ],
)
def test_moved_shares_the_quotas(
    tmp_path: Path, before: dict[str, int], pages: dict[str, int], moves: list[str], after: dict[str, int]
) -> None:
    repository(tmp_path, "".join(f"docs/{name}.md {quota}\n" for name, quota in before.items()), **pages)
    arguments = [argument for pair in moves for argument in ("--moved", *(f"docs/{n}.md" for n in pair.split(":")))]

    assert prose.main(arguments, tmp_path) == 0
    assert quotas(tmp_path) == {f"docs/{name}.md": quota for name, quota in after.items()}


def test_moved_never_raises_the_sum(tmp_path: Path) -> None:
    repository(tmp_path, "docs/old.md 1\n", new=2)

    assert prose.main(["--moved", "docs/old.md", "docs/new.md"], tmp_path) == 1
    assert quotas(tmp_path) == {"docs/old.md": 1}


def test_a_written_quota_is_sorted(tmp_path: Path) -> None:
    repository(tmp_path)

    prose.write_quotas({"docs/b.md": 1, "docs/a.md": 2}, tmp_path)

    lines = (tmp_path / prose.QUOTA).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["docs/a.md 2", "docs/b.md 1"]
    assert quotas(tmp_path) == {"docs/a.md": 2, "docs/b.md": 1}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param("docs/a.md", 1, id="file"),
        pytest.param("docs", 1, id="folder"),
        pytest.param(".", 1, id="all"),
        pytest.param("docs/clean.md", 0, id="clean file"),
    ],
)
def test_it_lists_findings_within_the_quota(tmp_path: Path, path: str, code: int) -> None:
    repository(tmp_path, "docs/a.md 1\n", a=1, clean=0)

    assert prose.main([path], tmp_path) == code


def test_it_rejects_a_path_that_does_not_exist(tmp_path: Path) -> None:
    repository(tmp_path)

    with pytest.raises(SystemExit) as stopped:
        prose.main(["docs/gone.md"], tmp_path)

    assert stopped.value.code == 2
