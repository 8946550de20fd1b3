# SPDX-License-Identifier: Apache-2.0
"""A new request: the form of a template, and its preview.

The preview is the result of a dry run.
"""

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from starlette.responses import Response

from chamberlain.console.chosen_people import ChosenPeople, choose_people, names_of, people_in, remove_person
from chamberlain.console.faults import fault_text
from chamberlain.console.fields import Field, Section
from chamberlain.console.forms import Pairs
from chamberlain.console.order_form import OrderForm, make_order_form
from chamberlain.console.refusals import refusal_text
from chamberlain.console.rendering import redirect, render
from chamberlain.console.visit import Visit
from chamberlain.core.errors import BodyInvalid, Conflict, Fault, NotFound, NotPossible, Refusal
from chamberlain.core.idempotency import IdempotencyKey, Submission
from chamberlain.core.ids import WRITTEN_ID, RequestId, TemplateId
from chamberlain.core.values import Json
from chamberlain.groups.dry_run import GroupDryRun
from chamberlain.groups.service import GroupService
from chamberlain.groups.wire import GROUP, to_group_order
from chamberlain.http.problems import kind_of
from chamberlain.http.request import digest_of
from chamberlain.mailboxes.dry_run import MailboxDryRun
from chamberlain.mailboxes.service import MailboxService
from chamberlain.mailboxes.wire import MAILBOX, to_mailbox_order
from chamberlain.people.service import PeopleService
from chamberlain.requests.service import RequestService
from chamberlain.template_admin.models import COLLAB, MAIL, TemplateArea
from chamberlain.template_admin.service import TemplateService

_AREAS: Final[Mapping[str, TemplateArea]] = {"mail": MAIL, "collab": COLLAB}
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{20,64}")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to a form: a dry run, a request, or faults."""

    dry_run: MailboxDryRun | GroupDryRun | None = None
    request_id: RequestId | None = None
    faults: Sequence[Fault] = ()
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class Filled:
    """A form with values, and the texts about them.

    `errors` are texts by pointer, `general` those without a field. `names` are those of people by id.
    """

    pairs: Pairs
    chosen: ChosenPeople
    errors: Mapping[str, str] = field(default_factory=dict)
    general: Sequence[str] = ()
    people: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def value(self, name: str) -> str:
        """Return the last value of a control."""
        return next((value for each, value in reversed(self.pairs) if each == name), "")

    def values(self, name: str) -> Sequence[str]:
        """Return all values of a control."""
        return [value for each, value in self.pairs if each == name]

    def opens(self, section: Section) -> bool:
        """Return whether a folded section has a value or an error."""
        return any(each.pointer in self.errors or self._is_filled(each) for each in section.fields)

    def _is_filled(self, field: Field) -> bool:
        return not field.is_settled and bool(self.value(field.name) or self.people.get(field.pointer))


async def show_form(visit: Visit) -> Response:
    """Show the form of a template, new or like an earlier request."""
    form = await _form(visit)
    pairs = form.fill(await _earlier_body(visit))
    return await _page(visit, form, ChosenPeople(pairs), Verdict(), key=_new_key())


async def send_form(visit: Visit) -> Response:
    """Preview a form, add or remove a person, or send the request."""
    if visit.call.wants_part:
        return await _preview(visit)
    form, key = await _form(visit), visit.value("key")
    chosen = await _choose(visit, form)
    is_sent = visit.value("do") == "send" and not visit.value("remove") and bool(_KEY.fullmatch(key))
    if not is_sent or not chosen.is_settled:
        return await _check(visit, form, chosen)
    verdict = await _send(visit, form.read(chosen.pairs), key)
    if verdict.request_id is not None:
        return redirect(f"/console/requests/{verdict.request_id}")
    status = 422 if verdict.refusal is None else kind_of(type(verdict.refusal)).status
    # A key that was used stays with its request. The next form needs another one.
    return await _page(visit, form, chosen, verdict, key=_new_key(), status=status)


async def resume_form(visit: Visit) -> Response:
    """Preview a form of an earlier session, and send nothing."""
    if visit.call.wants_part:
        return await _preview(visit)
    form = await _form(visit)
    return await _check(visit, form, await _choose(visit, form), status=403)


async def _choose(visit: Visit, form: OrderForm) -> ChosenPeople:
    """Return the values of the form after the typed names were resolved."""
    pairs = remove_person(form.known(visit.form), visit.value("remove"))
    return await choose_people(visit.service(PeopleService), visit.caller, form.fields, visit.form, pairs)


async def _check(visit: Visit, form: OrderForm, chosen: ChosenPeople, *, status: int = 200) -> Response:
    verdict, key = await _try_out(visit, form.read(chosen.pairs)), visit.value("key")
    return await _page(visit, form, chosen, verdict, key=key if _KEY.fullmatch(key) else _new_key(), status=status)


async def _form(visit: Visit) -> OrderForm:
    area, template_id = _template(visit)
    return make_order_form(await visit.service(TemplateService).read_offered(visit.caller, template_id, area=area))


def _template(visit: Visit) -> tuple[TemplateArea, TemplateId]:
    """Return area and id in the address."""
    area, written = _AREAS.get(visit.request.path_params["area"]), visit.request.path_params["template_id"]
    if area is None or not WRITTEN_ID.fullmatch(written):
        raise NotFound("There is no such template for requests.")
    return area, TemplateId(UUID(written))


async def _earlier_body(visit: Visit) -> Mapping[str, Json] | None:
    written = visit.request.query_params.get("again")
    if written is None:
        return None
    if not WRITTEN_ID.fullmatch(written):
        raise NotFound("There is no such request.")
    view = await visit.service(RequestService).read(visit.caller, RequestId(UUID(written)))
    body: dict[str, Json] = json.loads(view.record.body)
    return body


async def _try_out(visit: Visit, body: Mapping[str, Json]) -> Verdict:
    """Do a dry run."""
    raw = json.dumps(body).encode()
    dry_run: MailboxDryRun | GroupDryRun
    try:
        if _is_mailbox(visit):
            dry_run = await visit.service(MailboxService).dry_run(visit.caller, to_mailbox_order(MAILBOX.read(raw)))
        else:
            dry_run = await visit.service(GroupService).dry_run(visit.caller, to_group_order(GROUP.read(raw)))
    except Refusal as refusal:
        return _refused(refusal)
    return Verdict(dry_run=dry_run, faults=dry_run.conflicts)


async def _send(visit: Visit, body: Mapping[str, Json], key: str) -> Verdict:
    """Queue the request.

    The key of the form makes one request of a form that is sent several times.
    """
    raw = json.dumps(body).encode()
    digest = digest_of("POST", visit.request.scope["path"], {}, raw)
    submission = Submission(raw, IdempotencyKey(f"console-{key}", digest), visit.trace_id, visit.client_address)
    try:
        if _is_mailbox(visit):
            order = to_mailbox_order(MAILBOX.read(raw))
            accepted = (await visit.service(MailboxService).request(visit.caller, order, submission)).accepted
        else:
            accepted = await visit.service(GroupService).request(
                visit.caller, to_group_order(GROUP.read(raw)), submission
            )
    except Refusal as refusal:
        return _refused(refusal)
    return Verdict(request_id=accepted.request_id)


def _refused(refusal: Refusal) -> Verdict:
    match refusal:
        case BodyInvalid() | NotPossible() | Conflict() if refusal.faults:
            return Verdict(faults=refusal.faults, refusal=refusal)
        case _:
            return Verdict(refusal=refusal)


def _is_mailbox(visit: Visit) -> bool:
    return str(visit.request.path_params["area"]) == "mail"


def _new_key() -> str:
    return secrets.token_urlsafe(24)


def _texts(
    visit: Visit, form: OrderForm, chosen: ChosenPeople, verdict: Verdict
) -> tuple[Mapping[str, str], Sequence[str]]:
    """Return the texts of faults by pointer, and those without a field."""
    placed, general = form.place(verdict.faults)
    errors = {pointer: fault_text(visit.language, fault) for pointer, fault in placed.items()}
    errors |= {pointer: visit.translate(message) for pointer, message in chosen.messages.items()}
    refusals = (None if verdict.faults else verdict.refusal, chosen.refusal)
    texts = [fault_text(visit.language, each) for each in general]
    return errors, [*texts, *(refusal_text(visit.language, each) for each in refusals if each is not None)]


async def _page(
    visit: Visit, form: OrderForm, chosen: ChosenPeople, verdict: Verdict, *, key: str, status: int = 200
) -> Response:
    errors, general = _texts(visit, form, chosen, verdict)
    people = people_in(form.fields, chosen.pairs)
    names = await names_of(visit.service(PeopleService), visit.caller, people)
    filled = Filled(chosen.pairs, chosen, errors, general, people, names)
    return visit.render(
        "new_request.html",
        status,
        form=form,
        filled=filled,
        dry_run=verdict.dry_run,
        errors=errors,
        general=general,
        key=key,
    )


async def _preview(visit: Visit) -> Response:
    """Answer the module with the preview alone."""
    area, template_id = _template(visit)
    form = make_order_form(
        await visit.service(TemplateService).read_offered_recently(visit.caller, template_id, area=area)
    )
    verdict = await _try_out(visit, form.read(form.known(visit.form)))
    errors, general = _texts(visit, form, ChosenPeople(()), verdict)
    return render(
        visit.language,
        "preview.html",
        form=form,
        dry_run=verdict.dry_run,
        errors=errors,
        general=general,
    )
