# SPDX-License-Identifier: Apache-2.0
"""Templates, requests and decisions of the demo."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache

from chamberlain.app.demo.people import Person, guest_id, head_of, people
from chamberlain.core.values import Json

ADA, BEN, CLEO, DARA = (f"{name}@estate.example" for name in ("ada", "ben", "cleo", "dara"))

SHARED, EQUIPMENT, ROOM = (f"7e000000-0000-4000-8000-{number:012d}" for number in (1, 2, 3))
PROJECT_GROUP = "7e000000-0000-4000-8000-000000000011"
PROJECT_TEAM = "7e000000-0000-4000-8000-000000000012"
CONFIDENTIAL_TEAM = "7e000000-0000-4000-8000-000000000013"
NO_GUESTS = "7e000000-0000-4000-8000-000000000021"
PARTNERS = "7e000000-0000-4000-8000-000000000022"
NINETY_DAYS = "90110000-0000-4000-8000-000000000001"
YEARLY_REVIEW = "90110000-0000-4000-8000-000000000002"

CUSTOMER_TEAM, EVENT_TEAM = "Customer team", "Event team"
# Templates that the demo adds. Names below .invalid never resolve (RFC 6761), so each delivery of a webhook fails.
TEMPLATES: Sequence[Mapping[str, Json]] = (
    {
        "kind": "team",
        "name": CUSTOMER_TEAM,
        "description": "A team with guests of a customer; a webhook announces it",
        "channels": ["General", "Offers"],
        "guestTemplateId": PARTNERS,
        "guestPolicyId": NINETY_DAYS,
        "webhook": {"url": "https://portal.estate.invalid/hooks/teams"},
    },
    {
        "kind": "team",
        "name": EVENT_TEAM,
        "description": "A team for an event; the manager of the requester approves it",
        "channels": ["General", "Programme", "Catering"],
        "approval": {"levels": [{"mode": "any", "approvers": [{"type": "manager"}]}], "deadlineDays": 14},
    },
)

_PROJECTS = [
    "Website relaunch",
    "Warehouse move",
    "Price list",
    "Fleet renewal",
    "Onboarding",
    "Solar roof",
    "Data cleanup",
    "Trade fair",
    "Packaging",
    "Loyalty programme",
    "Spare parts",
    "Training plan",
    "Canteen",
    "Cycling to work",
    "Archive",
    "Audit preparation",
]
_TEAMS = [
    "Mobile app",
    "Order system",
    "Quality circle",
    "Annual report",
    "Brand book",
    "Cold chain",
    "Night shift",
    "Returns",
    "Search",
    "Payroll change",
]
_CUSTOMERS = [
    "Harbour Logistics",
    "Alpine Foods",
    "Meridian Clinics",
    "Fjord Textiles",
    "Tagus Ferries",
    "Polder Seeds",
]
_EVENTS = ["Summer party", "Developer day", "Open house", "Sales kick-off", "Health week", "Anniversary"]
# Names, and the reasons that the approver reads.
_CONFIDENTIAL = {
    "Acquisition": "Talks with the owners of a smaller competitor",
    "Salary review": "Preparation of the yearly salary review",
    "Restructuring": "Two departments become one next spring",
    "Board papers": "Drafts and minutes of the board",
    "Patent dispute": "Exchange with the patent attorneys",
    "New site": "Choice of the second warehouse; the landlords must not know of each other",
    "Tender": "Our offer for the ferry terminal, due next month",
    "Insurance": "Renewal of the liability insurance, with figures of all claims",
    "Takeover bid": "Answers to the bid of an investor",
}
_ROOMS = [
    "Amstel",
    "Danube",
    "Douro",
    "Elbe",
    "Garonne",
    "Inn",
    "Loire",
    "Maas",
    "Mur",
    "Neretva",
    "Oder",
    "Po",
    "Rhine",
    "Sava",
    "Seine",
    "Tagus",
    "Tiber",
    "Vltava",
    "Volga",
    "Waal",
]
_SHARED = [
    "Careers",
    "Invoices",
    "Press",
    "Service desk",
    "Travel",
    "Facilities",
    "Privacy",
    "Events",
    "Goods in",
    "Reception",
]
_EQUIPMENT = ["Projector 1", "Projector 2", "Camera kit", "Delivery van", "Electric car", "Cargo bike", "Laser cutter"]


class Decision(Enum):
    """The decision that the demo makes for a request."""

    APPROVED = "approve"
    REJECTED = "reject"
    CANCELLED = "cancel"


COMMENTS: Mapping[Decision, str] = {
    Decision.APPROVED: "Approved for the whole year.",
    Decision.REJECTED: "There is a team for this already. Ask its owners for access.",
    Decision.CANCELLED: "The project starts next year.",
}


@dataclass(frozen=True, slots=True)
class Order:
    """A request of the demo: the requester, the body, and the decision.

    `template` is the name of a template that the demo adds.
    """

    requester: str
    kind: str
    body: Mapping[str, Json]
    template: str | None = None
    decision: Decision | None = None
    decided_by: str = DARA

    @property
    def name(self) -> str:
        """Return the name of the object.

        A second run recognizes the request by it.
        """
        prefix = "CONF-" if self.body.get("templateId") == CONFIDENTIAL_TEAM else ""
        return f"{prefix}{self.body['displayName']}"

    @property
    def is_mailbox(self) -> bool:
        """Return whether the request is for a mailbox."""
        return self.kind in {"shared", "room", "equipment"}


@cache
def orders() -> Sequence[Order]:
    """List all requests, in the order of sending."""
    return (
        *_groups(),
        *_teams(),
        *_with_approval(),
        *_rooms(),
        *_shared_mailboxes(),
        *_equipment(),
        *_of_sample_users(),
    )


def managers() -> Mapping[str, str]:
    """Return the address of the manager by that of each person."""
    by_id = {each.id: each for each in people()}
    return {each.address: by_id[each.manager].address for each in by_id.values() if each.manager}


# Guests of groups, by the name of the group: the numbers of the guests. Every third guest is of partner.example.
GUESTS_OF_GROUPS: Mapping[str, Sequence[int]] = {
    **{f"{name}": (number * 2, number * 2 + 1, number * 2 + 3) for number, name in enumerate(_CUSTOMERS)},
    "Trade fair": (0, 4, 8),
    "Packaging": (1, 3),
    "Website relaunch": (2, 5, 6),
}
# Guest rules that the administrator assigns, by the name of the group: template and policy.
ASSIGNMENTS: Mapping[str, tuple[str, str | None]] = {
    "Trade fair": (PARTNERS, NINETY_DAYS),
    "Packaging": (NO_GUESTS, None),
    "Website relaunch": (PARTNERS, YEARLY_REVIEW),
    "CONF-Restructuring": (NO_GUESTS, None),
}
# Names that others give to groups and rooms in the directory, by the name of the request.
RENAMED: Mapping[str, str] = {
    "Warehouse move": "Warehouse relocation",
    "Solar roof": "Solar roof (old)",
    "Mobile app": "App team",
    "Douro": "Douro, ground floor",
    "Press": "Press office",
}


def guests_of(name: str) -> Sequence[str]:
    """Return the ids of the guests of a group, by its name."""
    return [str(guest_id(number)) for number in GUESTS_OF_GROUPS[name]]


def _groups() -> Sequence[Order]:
    # A department has a group with all of its people, for which its head asks.
    departments = list(dict.fromkeys(each.department for each in people()))
    by_department = [
        _group(head_of(name), PROJECT_GROUP, f"{name} department", [e for e in people() if e.department == name])
        for name in departments
    ]
    projects = [_group(_one(number), PROJECT_GROUP, name, _some(number)) for number, name in enumerate(_PROJECTS)]
    return [
        *by_department,
        *projects,
        Order(BEN, "group", {"displayName": "Key accounts", "templateId": PROJECT_GROUP}),
    ]


def _teams() -> Sequence[Order]:
    teams = [_team(_one(number), PROJECT_TEAM, name, _some(number + 20)) for number, name in enumerate(_TEAMS)]
    customers = [
        Order(_one(number).address, "team", _body(name, _some(number)), template=CUSTOMER_TEAM)
        for number, name in enumerate(_CUSTOMERS)
    ]
    return [*teams, *customers, Order(BEN, "team", {"displayName": "Sales west", "templateId": PROJECT_TEAM})]


def _with_approval() -> Sequence[Order]:
    """The first of each kind are decided; the others wait."""
    decided = (Decision.APPROVED, Decision.REJECTED, Decision.APPROVED, Decision.CANCELLED)
    confidential = [
        Order(
            BEN if number in {1, 5} else _one(number).address,
            "team",
            _body(name, _some(number)) | {"templateId": CONFIDENTIAL_TEAM, "description": reason},
            decision=decided[number] if number < len(decided) else None,
        )
        for number, (name, reason) in enumerate(_CONFIDENTIAL.items())
    ]
    events = [
        Order(
            _one(number).address,
            "team",
            _body(name, _some(number)),
            template=EVENT_TEAM,
            decision=Decision.APPROVED if number == 0 else None,
            decided_by=managers()[_one(number).address],
        )
        for number, name in enumerate(_EVENTS)
    ]
    return [*confidential, *events]


def _rooms() -> Sequence[Order]:
    return [
        Order(
            _one(number).address,
            "room",
            {
                "name": f"{name.lower()}-room",
                "displayName": name,
                "templateId": ROOM,
                "capacity": 4 + 2 * (number % 9),
                "officeLocation": f"Main building, floor {number % 4}",
                "roomMailboxMetadata": {"hasWhiteboard": number % 2 == 0},
            },
        )
        for number, name in enumerate(_ROOMS)
    ]


def _shared_mailboxes() -> Sequence[Order]:
    return [
        Order(
            _one(number).address,
            "shared",
            _mailbox(name)
            | {"templateId": SHARED, "permissions": {str(each.id): "FullAccess" for each in _some(number)}},
        )
        for number, name in enumerate(_SHARED)
    ]


def _equipment() -> Sequence[Order]:
    return [
        Order(_one(number).address, "equipment", _mailbox(name) | {"templateId": EQUIPMENT})
        for number, name in enumerate(_EQUIPMENT)
    ]


def _of_sample_users() -> Sequence[Order]:
    """List the requests of people who can sign in.

    Cleo has no license for teams.
    """
    bid: dict[str, Json] = {
        "description": "Our bid for the harbour authority",
        "metadata": {"el-text-1": "Harbour authority"},
    }
    limmat: Mapping[str, Json] = {
        "name": "limmat-room",
        "displayName": "Limmat",
        "templateId": ROOM,
        "capacity": 8,
        "officeLocation": "Main building, floor 2",
        "roomMailboxMetadata": {"hasWhiteboard": True, "hasVideoConferencing": True},
    }
    return [
        Order(CLEO, "room", limmat),
        Order(CLEO, "shared", _mailbox("Sales enquiries") | {"templateId": SHARED}),
        Order(CLEO, "group", _body("Sales north", _some(9)) | {"templateId": PROJECT_GROUP}),
        Order(BEN, "team", _body("Kestrel bid", _some(10)) | {"templateId": CONFIDENTIAL_TEAM} | bid),
    ]


def _group(requester: Person, template: str, name: str, members: Sequence[Person]) -> Order:
    return Order(requester.address, "group", _body(name, members) | {"templateId": template})


def _team(requester: Person, template: str, name: str, members: Sequence[Person]) -> Order:
    return Order(requester.address, "team", _body(name, members) | {"templateId": template})


def _body(name: str, members: Sequence[Person]) -> dict[str, Json]:
    return {"displayName": name, "members": [str(each.id) for each in members]}


def _one(number: int) -> Person:
    """Choose one of twelve requesters, none of them without a manager."""
    return people()[7 + 16 * (number % 12)]


def _some(number: int) -> Sequence[Person]:
    everyone = people()
    return [everyone[(number * 17 + place * 13) % len(everyone)] for place in range(3 + number % 5)]


def _mailbox(name: str) -> dict[str, Json]:
    return {"name": name.lower().replace(" ", "-"), "displayName": name}
