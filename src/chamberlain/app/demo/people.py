# SPDX-License-Identifier: Apache-2.0
"""200 people in departments with managers, and guests.

They are the same at each run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from uuid import UUID

from chamberlain.core.romanization import romanize

TENANT = UUID("e57a7e00-0000-4000-8000-000000000001")
# Ids of people begin with these digits, so that they are easy to tell from those of the sample.
PERSON_IDS, GUEST_IDS = "de300000", "de900000"

_GIVEN = [
    "Amara",
    "Jonas",
    "Priya",
    "Mateo",
    "Ingrid",
    "Kwame",
    "Yuki",
    "Leila",
    "Tomasz",
    "Chloé",
    "Hassan",
    "Freya",
    "Diego",
    "Mei",
    "Oskar",
    "Zainab",
    "Luca",
    "Nadia",
    "Ravi",
    "Sofia",
    "Emeka",
    "Hanna",
    "Thiago",
    "Aisha",
    "Viktor",
    "Camille",
    "Arjun",
    "Elif",
    "Noah",
    "Lucía",
    "Kofi",
    "Astrid",
    "Minh",
    "Rania",
    "Pavel",
    "Isla",
    "Omar",
    "Greta",
    "Rafael",
    "Sana",
    "Henrik",
    "Imani",
    "Felix",
    "Dalia",
    "Kenji",
    "Marta",
    "Youssef",
    "Birgit",
    "Samuel",
    "Anouk",
    "Tariq",
    "Elena",
    "Joon",
    "Maeve",
    "Stefan",
    "Thandi",
    "Bruno",
    "Katya",
    "Idris",
    "Paula",
]
_SURNAMES = [
    "Adebayo",
    "Bergström",
    "Castillo",
    "Dubois",
    "Eriksen",
    "Fernández",
    "Gupta",
    "Haddad",
    "Ivanova",
    "Jensen",
    "Kowalski",
    "Lehmann",
    "Moreau",
    "Nguyen",
    "Osei",
    "Petrov",
    "Quintero",
    "Rossi",
    "Schmidt",
    "Tanaka",
    "Ueda",
    "Vargas",
    "Weber",
    "Yamamoto",
    "Zhang",
    "Almeida",
    "Becker",
    "Chukwu",
    "Demir",
    "Egger",
    "Farah",
    "Greco",
    "Hoffmann",
    "Iyer",
    "Johansson",
    "Kim",
    "Larsen",
    "Mbeki",
    "Novak",
    "Oliveira",
    "Park",
    "Rahman",
    "Silva",
    "Torres",
    "Varga",
    "Wójcik",
    "Yilmaz",
    "Aziz",
    "Bianchi",
    "Cohen",
    "Diallo",
    "Fischer",
    "Hansen",
    "Jovanović",
    "Kaya",
    "Lindholm",
    "Mensah",
    "Nowak",
    "Okonkwo",
    "Patel",
    "Reyes",
    "Sato",
    "Traoré",
    "Virtanen",
    "Wagner",
    "Abiola",
    "Brandt",
]
# Department, its size, and the job titles of its head, its leads and the others.
_DEPARTMENTS: Sequence[tuple[str, int, tuple[str, str, str]]] = (
    ("Management", 4, ("Chief Executive", "Chief Operating Officer", "Executive Assistant")),
    ("Sales", 40, ("Head of Sales", "Sales Lead", "Account Manager")),
    ("Engineering", 48, ("Head of Engineering", "Engineering Lead", "Engineer")),
    ("Finance", 15, ("Head of Finance", "Controlling Lead", "Accountant")),
    ("Marketing", 20, ("Head of Marketing", "Campaign Lead", "Marketing Specialist")),
    ("Operations", 30, ("Head of Operations", "Shift Lead", "Operations Specialist")),
    ("Support", 20, ("Head of Support", "Support Lead", "Support Agent")),
    ("Human Resources", 9, ("Head of Human Resources", "Recruiting Lead", "Recruiter")),
    ("Legal", 7, ("General Counsel", "Privacy Lead", "Lawyer")),
    ("Research", 7, ("Head of Research", "Research Lead", "Researcher")),
)
_CITIES = ("Lisbon", "Rotterdam", "Graz")
_TEAM = 8
_GUEST_DOMAINS = ("partner.example", "supplier.example", "freelance.example")
GUESTS = 15


@dataclass(frozen=True, slots=True)
class Person:
    """A person of the demo."""

    id: UUID
    given_name: str
    surname: str
    address: str
    department: str
    job_title: str
    city: str
    manager: UUID | None

    @property
    def display_name(self) -> str:
        """The full name."""
        return f"{self.given_name} {self.surname}"


@cache
def people() -> Sequence[Person]:
    """List the people, with the chief executive first."""
    found: list[Person] = []
    for department, size, titles in _DEPARTMENTS:
        first = len(found)
        for place in range(size):
            found.append(_person(len(found), department, titles, place=place, first=first))
    return tuple(found)


def head_of(department: str) -> Person:
    """Return the head of a department."""
    return next(each for each in people() if each.department == department)


def guest_id(number: int) -> UUID:
    """Return the id of a guest, who are counted from 0."""
    return _id(GUEST_IDS, number)


def directory_section(now: datetime) -> Mapping[str, object]:
    """Return the section `directory` of a configuration file."""
    return {"users": [*map(_user, people()), *(_guest(number, now) for number in range(GUESTS))]}


def _person(number: int, department: str, titles: tuple[str, str, str], *, place: int, first: int) -> Person:
    # Both steps are coprime to the lengths of the lists, so no pair of names occurs twice.
    given, surname = _GIVEN[number % len(_GIVEN)], _SURNAMES[(number * 7 + number // len(_GIVEN)) % len(_SURNAMES)]
    is_lead = place % _TEAM == 1
    manager = None
    if place == 0 and number:
        manager = _id(PERSON_IDS, 0)
    elif place:
        manager = _id(PERSON_IDS, first if is_lead else first + place - (place - 1) % _TEAM)
    return Person(
        id=_id(PERSON_IDS, number),
        given_name=given,
        surname=surname,
        address=f"{romanize(given)}.{romanize(surname)}@estate.example".lower(),
        department=department,
        job_title=titles[0 if place == 0 else 1 if is_lead else 2],
        city=_CITIES[number % len(_CITIES)],
        manager=manager,
    )


def _id(first: str, number: int) -> UUID:
    return UUID(f"{first}-0000-4000-8000-{number:012d}")


def _user(person: Person) -> Mapping[str, object]:
    return {
        "id": str(person.id),
        "tenant": str(TENANT),
        "displayName": person.display_name,
        "givenName": person.given_name,
        "surname": person.surname,
        "userPrincipalName": person.address,
        "mail": person.address,
        "department": person.department,
        "jobTitle": person.job_title,
        "city": person.city,
        "manager": None if person.manager is None else str(person.manager),
        "licenses": [{"skuPartNumber": "ESTATE_BUSINESS", "servicePlans": [{"servicePlanName": "TEAMS1"}]}],
    }


def _guest(number: int, now: datetime) -> Mapping[str, object]:
    given, surname = _GIVEN[-1 - number], _SURNAMES[number * 4]
    domain = _GUEST_DOMAINS[number % len(_GUEST_DOMAINS)]
    name = f"{romanize(given)}.{romanize(surname)}".lower()
    return {
        "id": str(guest_id(number)),
        "tenant": str(TENANT),
        "displayName": f"{given} {surname}",
        "givenName": given,
        "surname": surname,
        "userPrincipalName": f"{name}_{domain}#EXT#@estate.example",
        "mail": f"{name}@{domain}",
        "userType": "Guest",
        "lastSeenAt": (now - timedelta(days=9 * number)).isoformat(),
    }
