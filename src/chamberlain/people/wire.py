# SPDX-License-Identifier: Apache-2.0
"""JSON of people of the directory."""

from uuid import UUID

from msgspec import Struct

from chamberlain.directory.models import Person


class FoundPerson(Struct, rename="camel", frozen=True):
    """A user of the tenant, to choose from.

    `mail` and `department` are null if the directory has none.
    """

    id: UUID
    display_name: str
    mail: str | None
    department: str | None
    is_guest: bool


def encode_person(person: Person) -> FoundPerson:
    """Encode a person with the properties that tell people apart."""
    return FoundPerson(
        person.id, person.display_name, person.mail, person.properties.get("department") or None, person.is_guest
    )
