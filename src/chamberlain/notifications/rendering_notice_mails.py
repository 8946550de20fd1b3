"""Mails: a letter on its way to one recipient."""

import re
from dataclasses import dataclass
from datetime import datetime

from chamberlain.core.ids import UserId
from chamberlain.core.text import one_line
from chamberlain.directory.models import Person
from chamberlain.notifications.models import Notice
from chamberlain.notifications.rendering import Letter, html_of, text_of
from chamberlain.notifications.words import Language, language_of

# The longest address that a mail server has to take (RFC 5321, 4.5.3.1).
LONGEST_ADDRESS = 254
# Where a person's language stands among the properties that a directory gives.
PREFERRED_LANGUAGE = "preferredLanguage"

_ADDRESS = re.compile(r"[^\s@<>()\[\]\\,;:\"\x00-\x1f\x7f]+@[^\s@<>()\\,;:\"\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail to one recipient. `id` is the same at every try, so that whoever gets it twice may show it once."""

    id: str
    to: UserId
    address: str
    name: str
    subject: str
    text: str
    html: str
    language: Language
    at: datetime


def address_of(person: Person) -> str | None:
    """Where a person gets mail; None when the directory has no address of theirs, or none that can be one."""
    mail = person.mail
    fits = mail is not None and len(mail) <= LONGEST_ADDRESS and _ADDRESS.fullmatch(mail) is not None
    return mail if fits else None


def language_for(person: Person) -> Language:
    """The language that a person is written to in."""
    return language_of(person.properties.get(PREFERRED_LANGUAGE))


def mail_of(notice: Notice, letter: Letter, person: Person, address: str) -> Mail:
    """The letter of a notice for one recipient."""
    return Mail(
        id=f"{notice.id}.{person.id}",
        to=person.id,
        address=address,
        name=one_line(person.display_name),
        subject=letter.subject,
        text=text_of(letter),
        html=html_of(letter),
        language=letter.language,
        at=notice.at,
    )
