# SPDX-License-Identifier: Apache-2.0
"""Groups and sites that clients assign to, and enough templates and policies that no value is assigned twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import httpx2

from tests.services import ADA_MAIL, API, TLS, Service

# So many templates and policies give 400 values, more than one round assigns.
KINDS = 20
# Far enough that no policy acts during a proof.
NEVER_DAYS = 3650


@dataclass(frozen=True, slots=True)
class Subject:
    """A group or site of the example estate, by its id."""

    name: str
    path: str


SUBJECTS = (
    Subject(
        "94000000-0000-4000-8000-000000000001", "/admin/collab/v1/manage/groups/94000000-0000-4000-8000-000000000001/"
    ),
    Subject(
        "51730000-0000-4000-8000-000000000001", "/admin/collab/v1/manage/spo/51730000-0000-4000-8000-000000000001/"
    ),
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """The template with two levels of approval, and all values that can be assigned."""

    approved_template: str
    values: Sequence[tuple[str, str]]


def prepare(service: Service, levels: Sequence[Sequence[str]]) -> Prepared:
    """Create templates and policies by the API. `levels` names the users of each level by id."""
    templates, policies = "/admin/collab/v1/templates/", "/admin/collab/v1/policies/"
    guests = [
        _created(
            service,
            templates,
            {
                "kind": "guest",
                "name": f"Guests {n}",
                "guests": {"allowed": True},
                "sharingCapability": "existingGuests",
            },
        )
        for n in range(KINDS)
    ]
    expiry = {"afterDays": NEVER_DAYS, "reminderDays": [], "action": "notify"}
    rules = [_created(service, policies, {"name": f"Policy {n}", "expiry": expiry}) for n in range(KINDS)]
    approval = {
        "levels": [{"mode": "any", "approvers": [{"type": "user", "id": each} for each in level]} for level in levels]
    }
    approved = _created(service, templates, {"kind": "group", "name": "Twice approved", "approval": approval})
    return Prepared(approved, list(product(guests, rules)))


def value_in(document: Mapping[str, Any]) -> str:
    """The value of a group or site in a body or an event: its template and its policy."""
    return f"{document.get('templateId') or '-'}.{document.get('policyId') or '-'}"


def _created(service: Service, path: str, body: Mapping[str, object]) -> str:
    headers = service.headers(ADA_MAIL, f"{API}/admin/Config.ReadWrite.All")
    answer = httpx2.post(f"{service.url}{path}", json=body, headers=headers, timeout=30, verify=TLS)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])
