"""The body of a call that takes existing mailboxes or groups under management."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from chamberlain.adoptions.models import AdoptionFilter, AdoptionRule
from chamberlain.core.constraints_shape import Shape
from chamberlain.core.errors import BodyInvalid, Fault
from chamberlain.core.ids import TemplateId
from chamberlain.core.validation import Reader
from chamberlain.core.validation_fields import Domain, Id, ManyIds, name, shaped
from chamberlain.templates.models import TemplateKind

Digest = Annotated[str, shaped("sha256:[0-9a-f]{64}", "must be the digest that a preview has answered", 71)]


class AdoptedKind(StrEnum):
    """What is taken: the kind of the template."""

    SHARED = "shared"
    EQUIPMENT = "equipment"
    ROOM = "room"
    GROUP = "group"
    TEAM = "team"


class AdoptionFilterBody(Shape, frozen=True, kw_only=True):
    """Which of them: those that meet all that is sent. `q` is how the name, the display name or the address begins."""

    q: Annotated[str, name(256)] | None = None
    domain: Domain | None = None
    ids: ManyIds | None = None


class AdoptionBody(Shape, frozen=True, kw_only=True):
    """Whom to take under which template. `digest` is that of the preview; only a dry run goes without."""

    kind: AdoptedKind
    template_id: Id
    filter: AdoptionFilterBody | None = None
    digest: Digest | None = None


ADOPTION = Reader(AdoptionBody)


def to_adoption_rule(body: AdoptionBody) -> AdoptionRule:
    """The rules' value of it."""
    sent = body.filter or AdoptionFilterBody()
    chosen = AdoptionFilter(sent.q, sent.domain, None if sent.ids is None else frozenset(sent.ids))
    return AdoptionRule(TemplateKind(body.kind), TemplateId(UUID(body.template_id)), chosen)


def digest_in(body: AdoptionBody) -> str:
    """The digest of what was shown. Raises BodyInvalid where there is none."""
    if body.digest is None:
        detail = "digest is missing. Ask with ?dryRun=true first, look at what would be taken, and send its digest."
        raise BodyInvalid((Fault("/digest", "missingProperty", detail),))
    return body.digest
