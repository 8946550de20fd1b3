# SPDX-License-Identifier: Apache-2.0
import subprocess
from pathlib import Path

import pytest

from checks import commits

pytestmark = pytest.mark.pure

UNKNOWN = "0" * 40


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def repository(folder: Path, *messages: str) -> str:
    """Make a repository with these commits, and return the first one."""
    git(folder, "init", "-q")
    for message in messages:
        git(folder, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message)
    return git(folder, "rev-list", "--max-parents=0", "HEAD")


@pytest.mark.parametrize(
    "message",
    [
        "Cache group templates per revision",
        "Cache group templates per revision\n\nA template is read by every request.",
        "Re-read the keys file",
        "Pass the tenant to `told_at`",
        "Embed the identity platform",
        "Bring the pool up before the listener",
        "Process a batch at once",
        f"Add {'a' * 68}",
    ],
)
def test_it_works_for_messages(message: str) -> None:
    assert commits.faults(message) == []


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        pytest.param(f"Add {'a' * 69}", "length", id="73 characters"),
        pytest.param("Add a cache.", "full stop", id="full stop"),
        pytest.param("Add a cache\nIt is fast.", "blank line", id="no blank line"),
        pytest.param("add a cache", "imperative", id="lower case"),
        pytest.param("Cache", "imperative", id="one word"),
        pytest.param("Fix: the cache", "imperative", id="prefix"),
        pytest.param("SDK without a cache", "imperative", id="abbreviation"),
        pytest.param("Adding a cache", "imperative", id="gerund"),
        pytest.param("Added a cache", "imperative", id="past tense"),
        pytest.param("Adds a cache", "imperative", id="third person"),
        pytest.param("The cache is added", "imperative", id="article"),
        pytest.param("It has a cache", "imperative", id="pronoun"),
        pytest.param("Under load the cache is full", "imperative", id="preposition"),
        pytest.param("Whether a cache is full", "imperative", id="conjunction"),
        pytest.param("Add what was told", "told", id="word in the subject"),
        pytest.param("Add a cache\n\nIt is fast. Who reads it waits.", "opening", id="opening in the body"),
    ],
)
def test_it_rejects_messages(message: str, fault: str) -> None:
    assert [found.partition(":")[0] for found in commits.faults(message)] == [fault]


def test_it_works_for_commits_since_the_base(tmp_path: Path) -> None:
    base = repository(tmp_path, "What was old.", "Add a cache", "Fill it\n\nIt is empty.")

    assert commits.main([base], tmp_path) == 0


def test_it_rejects_any_commit_since_the_base(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = repository(tmp_path, "What was old.", "Adds a cache", "Fill it")

    assert commits.main([base], tmp_path) == 1
    assert git(tmp_path, "rev-parse", "--short", "HEAD~1") in capsys.readouterr().out


def test_it_passes_over_merges(tmp_path: Path) -> None:
    base = repository(tmp_path, "What was old.", "Add a cache")
    git(tmp_path, "checkout", "-q", "-b", "other", base)
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "Fill it")
    git(tmp_path, "merge", "-q", "--no-ff", "-m", "merge.", "-")

    assert commits.main([base], tmp_path) == 0


def test_it_reports_that_history_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository(tmp_path, "What was old.")

    assert commits.main([UNKNOWN], tmp_path) == 0
    assert UNKNOWN[:7] in capsys.readouterr().err


def test_it_reports_that_an_archive_has_no_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert commits.main([], tmp_path) == 0
    assert commits.BASE[:7] in capsys.readouterr().err


def test_it_works_without_git(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    base = repository(tmp_path, "What was old.", "Adds a cache")
    monkeypatch.setenv("PATH", "")

    assert commits.main([base], tmp_path) == 0
    assert base[:7] in capsys.readouterr().err
