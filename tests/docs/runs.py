# SPDX-License-Identifier: Apache-2.0
"""How the tests run the commands of each page: the register that `test_shell_blocks.py` compares with the pages."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OwnTest:
    """A page with a test of its own, which runs so many blocks. It asserts more than that they succeed."""

    test: str
    blocks: int


@dataclass(frozen=True, slots=True)
class InOrder:
    """A page whose blocks run in order, in one shell, against the sample data. Each command has to succeed.

    `alone`: the page has a service of its own.
    """

    alone: bool = False


# Every page with a block `sh` is here. A page whose only blocks are `sh not-run: reason` is not.
RUNS: Mapping[str, OwnTest | InOrder] = {
    "README.md": OwnTest("tests/docs/test_tour.py", 3),
    "docs/how-to/adoption.md": OwnTest("tests/docs/test_adoption_page.py", 8),
    "docs/how-to/approve-requests.md": OwnTest("tests/docs/test_approval_page.py", 12),
    "docs/how-to/audit.md": OwnTest("tests/docs/test_audit_pages.py", 9),
    "docs/how-to/backup.md": OwnTest("tests/docs/test_backup_page.py", 5),
    "docs/how-to/collab-templates.md": OwnTest("tests/docs/test_collab_pages.py", 11),
    "docs/how-to/command-line.md": InOrder(),
    "docs/how-to/configuration-files.md": OwnTest("tests/docs/test_operator_pages.py", 5),
    "docs/how-to/configuration-from-ci.md": OwnTest("tests/docs/test_operator_pages.py", 6),
    "docs/how-to/dashboard.md": InOrder(),
    "docs/how-to/demo.md": InOrder(alone=True),
    "docs/how-to/doctor.md": InOrder(),
    "docs/how-to/drift.md": OwnTest("tests/docs/test_drift_page.py", 9),
    "docs/how-to/equipment.md": OwnTest("tests/docs/test_mailbox_pages.py", 4),
    "docs/how-to/find-requests-and-people.md": InOrder(),
    "docs/how-to/follow-events.md": OwnTest("tests/docs/test_follow_events_page.py", 2),
    "docs/how-to/generated-clients.md": InOrder(),
    "docs/how-to/guest-rules.md": OwnTest("tests/docs/test_guest_rules_page.py", 14),
    "docs/how-to/high-availability.md": InOrder(),
    "docs/how-to/import-assignments.md": InOrder(),
    "docs/how-to/import-groups.md": InOrder(),
    "docs/how-to/import-mailboxes.md": InOrder(),
    "docs/how-to/import-people.md": InOrder(),
    "docs/how-to/keys.md": OwnTest("tests/docs/test_keys_page.py", 3),
    "docs/how-to/leave.md": InOrder(alone=True),
    "docs/how-to/mailbox-templates.md": OwnTest("tests/docs/test_mailbox_pages.py", 12),
    "docs/how-to/open-suite.md": OwnTest("tests/suite/test_open_suite_page.py", 25),
    "docs/how-to/outside-postgresql.md": OwnTest("tests/docs/test_external_postgresql_pages.py", 7),
    "docs/how-to/pooler.md": InOrder(),
    "docs/how-to/queue-and-health.md": OwnTest("tests/docs/test_how_to.py", 2),
    "docs/how-to/reduce-permissions.md": InOrder(),
    "docs/how-to/requests-that-wait-or-fail.md": OwnTest("tests/docs/test_watch_page.py", 5),
    "docs/how-to/room.md": OwnTest("tests/docs/test_mailbox_pages.py", 4),
    "docs/how-to/sdk.md": InOrder(),
    "docs/how-to/shared-mailbox.md": OwnTest("tests/docs/test_mailbox_pages.py", 9),
    "docs/how-to/sign-in-libraries.md": OwnTest("tests/docs/test_installed_libraries.py", 2),
    "docs/how-to/sign-in.md": InOrder(),
    "docs/how-to/slow-templates.md": InOrder(),
    "docs/how-to/tenants.md": OwnTest("tests/docs/test_operator_pages.py", 6),
    "docs/how-to/traces.md": InOrder(),
    "docs/how-to/try-drift-and-adoption.md": InOrder(alone=True),
    "docs/how-to/upgrade.md": OwnTest("tests/docs/test_external_postgresql_pages.py", 2),
    "docs/how-to/watch-a-request.md": OwnTest("tests/docs/test_watch_page.py", 7),
    "docs/how-to/webhooks.md": OwnTest("tests/docs/test_webhooks_page.py", 13),
    "docs/reference/commands.md": InOrder(),
    "docs/reference/scim.md": InOrder(),
    "docs/tutorial/first-group.md": OwnTest("tests/docs/test_commands_of_pages.py", 11),
    "docs/tutorial/first-room.md": OwnTest("tests/docs/test_first_room.py", 12),
    "examples/README.md": InOrder(),
    "examples/ci/README.md": InOrder(),
    "examples/configuration/README.md": InOrder(alone=True),
    "examples/import/README.md": InOrder(),
    "examples/python/README.md": InOrder(),
    "examples/shell/README.md": InOrder(),
    "examples/webhook/README.md": OwnTest("tests/examples/test_webhook_example.py", 4),
}
