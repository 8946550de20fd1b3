"""What a dry run answers."""

from uuid import UUID

from msgspec import Struct

from chamberlain.core.errors import Fault
from chamberlain.directory.models import NamedPerson
from chamberlain.directory.steps import Step
from chamberlain.http.router import Parameter
from chamberlain.requests.dry_run import LevelRehearsal
from chamberlain.requests.models_approvals import ApprovalMode

DRY_RUN = Parameter(
    "dryRun",
    {"type": "boolean"},
    "With `true` nothing is written: the answer says what would come of it. An `Idempotency-Key` is ignored then.",
)


class RehearsedTemplate(Struct, rename="camel", frozen=True):
    """The template that would be used."""

    id: UUID
    name: str


class RehearsedPerson(Struct, rename="camel", frozen=True):
    """Somebody by name; the name is empty while the directory does not answer."""

    id: UUID
    display_name: str


class RehearsedLevel(Struct, rename="camel", frozen=True):
    """A level of approval, with those who could decide if it were open now."""

    level: int
    mode: ApprovalMode
    approvers: tuple[RehearsedPerson, ...]


class RehearsedStep(Struct, rename="camel", frozen=True):
    """One step that would be taken."""

    name: Step
    title: str


class RehearsalConflict(Struct, rename="camel", frozen=True):
    """What would be refused with 409 at present."""

    code: str
    pointer: str
    detail: str


def _person(person: NamedPerson) -> RehearsedPerson:
    return RehearsedPerson(person.id, person.display_name)


def _level(level: LevelRehearsal) -> RehearsedLevel:
    return RehearsedLevel(level.level, level.mode, tuple(map(_person, level.approvers)))


def _conflict(fault: Fault) -> RehearsalConflict:
    return RehearsalConflict(fault.code, fault.pointer, fault.detail)
