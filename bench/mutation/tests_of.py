# SPDX-License-Identifier: Apache-2.0
"""The tests that may kill a mutant, nearest and quickest first."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.mutation.mutants import Mutant
from bench.mutation.python_mutants import executable_lines

# Folders of tests that are no tests of a module, or that take long.
_OTHERS = frozenset({"bench", "cli", "client", "clients", "deploy", "docs", "embedded", "faults", "frame", "service"})
# Seconds of tests for each mutant, by the record. Quick tests run first, so this cuts off few and slow ones.
NEAR_SECONDS = 6.0
FAR_SECONDS = 6.0

# SQL has no record of lines. These are the tests of each file, nearest first.
TESTS_OF_SQL: Mapping[str, Sequence[str]] = {
    "accepted_events.sql": ("tests/events/test_events_store.py", "tests/events/test_event_list.py"),
    "approvals.sql": (
        "tests/requests/test_request_approvers.py",
        "tests/requests/test_requests_to_decide.py",
        "tests/requests/test_approval_attend.py",
        "tests/requests/test_request_decide.py",
    ),
    "assignments.sql": (
        "tests/guests/assignments/test_assignments_store.py",
        "tests/guests/assignments/test_assignment_change.py",
        "tests/guests/assignments/test_assignment_apply.py",
        "tests/guests/policies/test_policy_races.py",
    ),
    "authorization.sql": ("tests/auth/test_authorization.py",),
    "budgets.sql": ("tests/directory/test_budgets.py",),
    "clocks.sql": (
        "tests/database/test_clock_faults.py",
        "tests/database/test_clock_guard.py",
        "tests/app/test_retention_sweep.py",
    ),
    "console.sql": ("tests/console/test_sessions.py",),
    "counters.sql": (
        "tests/templates/test_counters.py",
        "tests/groups/test_group_request.py",
        "tests/mailboxes/test_mailbox_request.py",
        "tests/database/test_row_security.py",
    ),
    "delivery_weeks.sql": ("tests/webhooks/test_deliveries_store.py", "tests/webhooks/test_delivery_weeks.py"),
    "events.sql": ("tests/events/test_events_store.py", "tests/events/test_event_list.py"),
    "findings.sql": ("tests/guests/findings/test_finding_events.py", "tests/guests/findings/test_findings_store.py"),
    "issuers.sql": (
        "tests/tenants/test_issuers.py",
        "tests/tenants/test_tenant_suspend.py",
        "tests/database/test_row_security.py",
    ),
    "mailbox_lists.sql": ("tests/mailboxes/test_mailbox_lists.py", "tests/mailboxes/test_mailbox_read.py"),
    "notices.sql": ("tests/notifications/test_notices_store.py", "tests/notifications/test_notice_send.py"),
    "request_lists.sql": ("tests/requests/test_request_lists.py", "tests/requests/test_request_list.py"),
    "request_looks.sql": ("tests/requests/test_request_looks.py", "tests/requests/test_request_watch.py"),
    "requests.sql": (
        "tests/http/test_idempotency.py",
        "tests/mailboxes/test_accept_mailboxes.py",
        "tests/requests/test_limits_store.py",
        "tests/requests/test_limits_service.py",
        "tests/requests/test_batcher.py",
        "tests/groups/test_group_request.py",
        "tests/mailboxes/test_mailbox_request.py",
    ),
    "seals.sql": (
        "tests/audit/test_seals_store.py",
        "tests/audit/test_audit_seal.py",
        "tests/audit/test_audit_verify.py",
    ),
}


@dataclass(frozen=True, slots=True)
class Record:
    """Lines and seconds of each test that passed on the original."""

    lines: Mapping[str, Mapping[str, frozenset[int]]]
    seconds: Mapping[str, float]

    def tests_of(self, mutant: Mutant, users: Sequence[str], at_import: frozenset[int]) -> Sequence[str]:
        """List the tests that run the changed line. For one that runs on import: those of the module and its users."""
        if mutant.line in at_import:
            files = (mutant.file, *users)
            found = [test for test, lines in self.lines.items() if any(file in lines for file in files)]
        else:
            found = [test for test, lines in self.lines.items() if mutant.line in lines.get(mutant.file, ())]
        stem = f"test_{Path(mutant.file).stem}"
        return sorted(found, key=lambda test: (f"/{stem}.py::" not in test, self.seconds[test], test))

    def within(self, tests: Iterable[str], seconds: float) -> Sequence[str]:
        """Take the first tests until their time is used up."""
        taken: list[str] = []
        for test in tests:
            seconds -= self.seconds[test]
            if seconds < 0 and taken:
                break
            taken.append(test)
        return taken


def users_of(root: Path, files: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """List for each module of the tree the modules that import from it."""
    users: dict[str, list[str]] = {file: [] for file in files}
    for user in files:
        for name in re.findall(r"^from ([\w.]+) import", (root / user).read_text(), re.MULTILINE):
            file = f"src/{name.replace('.', '/')}.py"
            if file in users:
                users[file].append(user)
    return users


def near_tests(root: Path) -> Sequence[str]:
    """List the test files without a database. They take milliseconds and run first."""
    return [file for file in _test_files(root) if _is_pure(root / file)]


def far_tests(root: Path) -> Sequence[str]:
    """List the test files that reach a module through a database or HTTP. Survivors of the first ones meet these."""
    files = [file for file in _test_files(root) if Path(file).parts[1] not in _OTHERS]
    return [file for file in files if not _is_pure(root / file)]


def near_importers(root: Path, file: str) -> Sequence[str]:
    """List the test files without a database that import this module."""
    name = ".".join(Path(file).with_suffix("").parts[1:])
    return [test for test in near_tests(root) if f"from {name} import" in (root / test).read_text()]


def _test_files(root: Path) -> Sequence[str]:
    return sorted(path.relative_to(root).as_posix() for path in (root / "tests").rglob("test_*.py"))


def _is_pure(test: Path) -> bool:
    return "pytest.mark.pure" in test.read_text(encoding="utf-8")


def lines_at_import(root: Path, file: str) -> frozenset[int]:
    """List the lines that no test runs by itself."""
    return frozenset(executable_lines((root / file).read_bytes()))
