# SPDX-License-Identifier: Apache-2.0
"""The files and commands of the how-tos exist and work."""

import re
from pathlib import Path

import pytest

from chamberlain.database.migrate import ROLES
from chamberlain.observability import metrics
from chamberlain.queue.models import MOST_COUNTED
from chamberlain.requests.retries import ENDS, spoken
from chamberlain.templates.rules import local_part
from tests.databases import Databases
from tests.docs.commands import printed
from tests.docs.pages import ROOT, named, rows, section, shell_blocks
from tests.estates import ESTATE
from tests.services import Service

HOW_TO = ROOT / "docs" / "how-to"
QUEUE = HOW_TO / "queue-and-health.md"


# Only the user who runs the embedded database may connect to it.
HOLD_A_JOB = """
.venv/bin/python - <<'END'
import asyncio, asyncpg

async def hold():
    connection = await asyncpg.connect("{address}")
    print(await connection.fetchval(
        "INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, held_reason)"
        " VALUES ('{tenant}', 'groupProvision', '{tenant}', '', 'A bug.') RETURNING job_id"
    ))

asyncio.run(hold())
END
"""


@pytest.mark.heavy
def test_it_works_to_list_and_release_a_held_job_at_the_command_line(service: Service) -> None:
    show, release = shell_blocks(QUEUE)
    (added,) = printed(service, HOLD_A_JOB.format(address=service.embedded_addresses.worker, tenant=ESTATE)).split()
    (written,) = re.findall(r"\S+$", release)

    listed = printed(service, show)
    released = printed(service, release.replace(written, f"00000000-0000-8000-8000-{int(added):012x}"), show)

    assert "A bug." in listed
    assert "A bug." not in released


def sql_blocks(page: Path) -> list[str]:
    return re.findall(r"^```sql\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


async def test_it_works_to_find_and_release_a_held_job(databases: Databases) -> None:
    find, release = sql_blocks(QUEUE)
    async with databases.worker.across_tenants() as tx:
        held = await tx.fetch_row(
            "INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, held_reason) "
            "VALUES ($1, 'groupProvision', $1, '', 'A bug.') RETURNING job_id",
            ESTATE,
        )
        assert held is not None

        found = await tx.fetch(find)
        await tx.execute(release.replace("job_id = 2", f"job_id = {held['job_id']}"))
        left = await tx.fetch(find)

    assert [(row["job_id"], row["held_reason"]) for row in found] == [(held["job_id"], "A bug.")]
    assert left == []


def test_it_says_how_far_gauges_are_counted() -> None:
    for text in (section(QUEUE, "## Figures"), metrics.exposition().decode()):
        assert f"{MOST_COUNTED:,}" in text


def test_it_names_every_figure_and_no_other() -> None:
    text = metrics.exposition().decode()
    # The process's own memory and processor metrics have other names; `_created` is an addition to each.
    shown = {name for name in re.findall(r"^# TYPE (\w+)", text, re.MULTILINE) if name.startswith("chamberlain_")}

    assert set(named(section(QUEUE, "## Figures"))) == {name for name in shown if not name.endswith("_created")}


def test_it_names_the_end_of_every_wait() -> None:
    table = rows(section(HOW_TO / "requests-that-wait-or-fail.md", "## It waits"))
    documented = {step: row[1] for row in table for step in re.findall(r"`(\w+)`", row[0])}

    assert documented == {str(step): spoken(end) for step, end in ENDS.items()}


def test_it_makes_the_roles_that_the_migrations_ask_for() -> None:
    (block,) = sql_blocks(HOW_TO / "outside-postgresql.md")
    without_passwords = re.sub(r" PASSWORD '\w+'", "", block)

    assert without_passwords.splitlines() == [line for line in ROLES.splitlines() if not line.startswith("--")]


def test_no_two_pages_make_a_mailbox_of_one_name() -> None:
    """A reader of one page after the other would get a conflict, and so would these tests."""
    made = [
        (local_part(name.strip('"')), page.name)
        for page in (ROOT / "README.md", *(ROOT / "docs" / "tutorial").glob("*.md"), *HOW_TO.glob("*.md"))
        for name in set(re.findall(r"mailbox create .*--name (\"[^\"]+\"|\S+)", page.read_text(encoding="utf-8")))
        | set(re.findall(r'^  "name": ("[^"]+")', page.read_text(encoding="utf-8"), re.MULTILINE))
    ]
    names = [name for name, _ in made]

    assert len(made) > 8
    assert [each for each in made if names.count(each[0]) > 1] == []
