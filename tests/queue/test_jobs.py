# SPDX-License-Identifier: Apache-2.0
"""Which job does what, and how jobs are called outside."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from chamberlain.core.ids import JobId
from chamberlain.queue.models import NOBODY, OF_REQUESTS, PROVISIONING, HeldJob, JobKind, job_id_of, public_id_of
from chamberlain.requests.models import RequestKind, job_kind_of
from tests.auth.editor_values import TRACE
from tests.groups.group_values import REQUEST, TENANT

pytestmark = pytest.mark.pure


def test_it_works() -> None:
    assert public_id_of(JobId(1)) == UUID("00000000-0000-8000-8000-000000000001")
    assert public_id_of(JobId(0xABCDEF)) == UUID("00000000-0000-8000-8000-000000abcdef")


@pytest.mark.parametrize(
    ("public_id", "job_id"),
    [
        ("00000000-0000-8000-8000-000000000001", 1),
        ("00000000-0000-8000-bfff-ffffffffffff", 2**62 - 1),
        ("00000000-0000-8000-c000-000000000000", None),
        ("00000000-0000-8000-8000-000000000000", None),
        ("00000000-0000-8000-7fff-ffffffffffff", None),
        ("00000000-0000-9000-8000-000000000001", None),
        ("00000001-0000-8000-8000-000000000001", None),
    ],
)
def test_only_ids_of_the_form_are_those_of_jobs(public_id: str, job_id: int | None) -> None:
    assert job_id_of(UUID(public_id)) == job_id


@pytest.mark.parametrize(
    ("kind", "job"),
    [
        (RequestKind.GROUP, JobKind.GROUP_PROVISION),
        (RequestKind.TEAM, JobKind.GROUP_PROVISION),
        (RequestKind.SHARED, JobKind.MAILBOX_PROVISION),
        (RequestKind.EQUIPMENT, JobKind.MAILBOX_PROVISION),
        (RequestKind.ROOM, JobKind.MAILBOX_PROVISION),
        (RequestKind.ASSIGNMENT, JobKind.ASSIGNMENT_APPLY),
        (RequestKind.REPAIR, JobKind.FINDING_REPAIR),
    ],
)
def test_each_request_has_a_job_that_brings_it_about(kind: RequestKind, job: JobKind) -> None:
    assert job_kind_of(kind) is job
    assert job in PROVISIONING


def test_rows_of_older_versions_have_these_kinds() -> None:
    assert [str(each) for each in JobKind] == [
        "groupProvision",
        "mailboxProvision",
        "assignmentApply",
        "approvalAttend",
        "subjectDiscover",
        "subjectSweep",
        "policyEvaluate",
        "findingReopen",
        "findingRepair",
        "driftCheck",
        "driftWatch",
        "driftReport",
        "adoptionRun",
        "releaseRun",
        "retentionSweep",
        "figuresCount",
        "connectionCheck",
        "auditSeal",
        "auditSealBegin",
        "noticeSend",
        "webhookDeliver",
        "bookingSweep",
        "bookingAnswer",
        "bookingMail",
        "conversationSweep",
        "conversationRun",
    ]
    assert NOBODY.int == 0


@pytest.mark.parametrize("kind", [*JobKind, "ofNewerWorkers"])
def test_a_held_job_names_its_request_if_it_has_one(kind: str) -> None:
    job = HeldJob(JobId(7), TENANT, kind, REQUEST, "It broke.", 3, TRACE, datetime(2026, 11, 20, tzinfo=UTC))
    has_request = kind in {"groupProvision", "mailboxProvision", "assignmentApply", "approvalAttend", "findingRepair"}

    assert job.request_id == (REQUEST if has_request else None)
    assert (kind in OF_REQUESTS) is has_request
    assert job.public_id == UUID("00000000-0000-8000-8000-000000000007")
