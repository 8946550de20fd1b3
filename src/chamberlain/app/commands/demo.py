# SPDX-License-Identifier: Apache-2.0
"""Fill the sample tenant through the API, and bring it back."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from uuid import UUID

from chamberlain.app.data_folder import DataFolder, open_data_folder
from chamberlain.app.databases import opened_beside
from chamberlain.app.demo import records
from chamberlain.app.demo.orders import (
    ADA,
    ASSIGNMENTS,
    BEN,
    COMMENTS,
    CUSTOMER_TEAM,
    DARA,
    GUESTS_OF_GROUPS,
    RENAMED,
    TEMPLATES,
    guests_of,
    orders,
)
from chamberlain.app.demo.people import people
from chamberlain.app.errors import in_database
from chamberlain.app.maintenance import reload_example_tenant
from chamberlain.cli.calls import Service, local_services, told_refusals
from chamberlain.cli.errors import failed
from chamberlain.cli.login import local_token
from chamberlain.cli.options import agreed
from chamberlain.cli.output import Record, say
from chamberlain.settings import Settings
from chamberlain_client import operations

_COLLAB, _MAIL, _CONFIG = "collab/App.ReadWrite.All", "mail/App.ReadWrite.All", "admin/Config.ReadWrite.All"
# A busy machine takes longer than the few seconds of a quiet one.
_WITHIN = 120.0
_BETWEEN_LOOKS = 0.1
Found = TypeVar("Found")
_UNFINISHED = {"queued", "running", "waiting"}
# Requests for objects that exist. They have the names of these objects.
_LATER_KINDS = {"assignment", "repair"}
_WAITS_FOR_APPROVAL = "pendingApproval"


def fill(settings: Settings) -> None:
    """Fill the sample tenant.

    A second run completes an interrupted one, or changes nothing.
    """
    _require_embedded(settings)
    _require_running(settings)
    folder = open_data_folder(settings.data_dir)
    is_filled = in_database(settings, records.require_sample, opened=opened_beside)
    if is_filled and folder.demo.exists():
        say("The demo data is there already. Nothing was changed.")
    else:
        if not is_filled:
            in_database(settings, records.require_free_names, opened=opened_beside)
        _fill(settings, folder)
    _show_sign_ins(settings, folder)


def reset(settings: Settings, *, yes: bool) -> None:
    """Bring the sample tenant back to its first state."""
    _require_embedded(settings)
    folder = DataFolder(settings.data_dir)
    if in_database(settings, records.is_missing):
        in_database(settings, partial(reload_example_tenant, folder=folder))
    elif in_database(settings, records.require_sample):
        others = in_database(settings, records.find_others)
        if others.requests or others.rules:
            say("The sample tenant has content that is not of the demo:")
            say(f"  requests: {others.requests}")
            say(f"  new or changed templates and policies: {others.rules}")
            agreed("Remove it too?", yes=yes)
        in_database(settings, partial(records.reset, folder=folder))
    else:
        say("There is no demo data. Nothing was changed.")
        return
    folder.demo.unlink(missing_ok=True)
    say("The demo data is removed. The sample tenant is in its first state.")


def _fill(settings: Settings, folder: DataFolder) -> None:
    begin = time.monotonic()
    say(f"Adding {len(people())} people and their guests to the directory ...")
    in_database(settings, records.add_people, opened=opened_beside)
    with told_refusals(), local_services(settings.base_url) as connect:
        client = _Client(settings, connect)
        say(f"Sending {len(orders())} requests ...")
        templates = client.add_templates()
        made = client.send_orders(templates)
        client.decide(made)
        made = client.wait_until_provisioned()
        say("Changing groups in the directory, and checking for drift ...")
        in_database(settings, partial(records.change_directory, changes=_changes(made)), opened=opened_beside)
        client.assign(made)
        client.check_drift()
    in_database(settings, records.add_past_figures, opened=opened_beside)
    folder.demo.write_text("", encoding="utf-8")
    say(f"Filled in {time.monotonic() - begin:.1f} s.")


@dataclass(slots=True)
class _Client:
    """Calls the API as the people of the demo."""

    settings: Settings
    connect: Callable[[str], Service]
    services: dict[str, Service] = field(default_factory=dict)

    def service(self, user: str) -> Service:
        """Return the API as a user sees it."""
        if user not in self.services:
            scopes = [
                f"{self.settings.scope_prefix}/{each}" for each in (_COLLAB, _MAIL, *([_CONFIG] if user == ADA else []))
            ]
            self.services[user] = self.connect(local_token(self.settings, {"user": user}, scopes))
        return self.services[user]

    @property
    def ada(self) -> Service:
        """Return the API as the administrator sees it."""
        return self.service(ADA)

    def add_templates(self) -> Mapping[str, str]:
        """Add the missing templates, and return the ids by name."""
        found = {each["name"]: str(each["id"]) for each in self.ada.items(operations.LIST_COLLAB_TEMPLATES, {}, None)}
        for body in TEMPLATES:
            if body["name"] not in found:
                made = self.ada.post(
                    operations.CREATE_COLLAB_TEMPLATE, body=body, key=_key("template", str(body["name"]))
                )
                found[str(body["name"])] = str(made["id"])
        return {str(name): each for name, each in found.items()}

    def send_orders(self, templates: Mapping[str, str]) -> Mapping[str, Record]:
        """Send the requests that are not there yet."""
        found = self.requests()
        for order in orders():
            if order.name not in found:
                operation = operations.CREATE_MAILBOX if order.is_mailbox else operations.CREATE_GROUP
                body = dict(order.body) | ({"templateId": templates[order.template]} if order.template else {})
                self.service(order.requester).post(operation, body=body, key=_key("order", order.name))
        return self.requests()

    def decide(self, made: Mapping[str, Record]) -> None:
        """Approve, reject or cancel the chosen requests that still wait."""
        by_decision = {
            "approve": operations.APPROVE_REQUEST,
            "reject": operations.REJECT_REQUEST,
            "cancel": operations.CANCEL_REQUEST,
        }
        for order in orders():
            record = made[order.name]
            if order.decision is None or record["state"] != _WAITS_FOR_APPROVAL:
                continue
            by = order.requester if order.decision.value == "cancel" else order.decided_by
            body = {"comment": COMMENTS[order.decision]}
            operation = by_decision[order.decision.value]
            self.service(by).post(operation, str(record["requestId"]), body=body, key=_key("decision", order.name))

    def wait_until_provisioned(self) -> Mapping[str, Record]:
        """Wait until no request is provisioned any more."""
        return _wait(self.requests, lambda found: not any(each["state"] in _UNFINISHED for each in found.values()))

    def assign(self, made: Mapping[str, Record]) -> None:
        """Assign guest rules to groups, and wait for their effects.

        The template of the customer teams assigns rules, too.
        """
        for name, (template, policy) in ASSIGNMENTS.items():
            body = {"templateId": template} | ({"policyId": policy} if policy else {})
            for group in _ids(made, name):
                self.ada.change(operations.ASSIGN_TO_GROUP, str(group), body=body)
        assigned = {*ASSIGNMENTS, *(each.name for each in orders() if each.template == CUSTOMER_TEAM)}
        _wait(self.assignments, lambda found: assigned <= found.keys())

    def check_drift(self) -> None:
        """Check for drift, and wait for its findings and those of guests."""
        self.ada.post(operations.CHECK_DRIFT, body={})
        _wait(self.findings, lambda found: found["drift"] >= len(RENAMED) and found["guestAgainstRule"] > 0)

    def findings(self) -> Counter[str]:
        """Count the findings by kind."""
        return Counter(str(each["kind"]) for each in self.ada.items(operations.LIST_FINDINGS, {}, None))

    def requests(self) -> Mapping[str, Record]:
        """Return the requests of the demo by name."""
        names = {each.name for each in orders()}
        listed = self.ada.items(operations.LIST_REQUESTS, {}, None)
        found = (each for each in listed if each["kind"] not in _LATER_KINDS)
        return {str(each["displayName"]): each for each in found if each["displayName"] in names}

    def assignments(self) -> Mapping[str, Record]:
        """Return the assignments that succeeded, by the name of the group."""
        listed = self.ada.items(operations.LIST_REQUESTS, {"kind": "assignment", "state": "succeeded"}, None)
        return {str(each["displayName"]): each for each in listed}


def _changes(made: Mapping[str, Record]) -> records.Elsewhere:
    guests = [
        (group, UUID(guest)) for name in GUESTS_OF_GROUPS for group in _ids(made, name) for guest in guests_of(name)
    ]
    is_mailbox = {each.name: each.is_mailbox for each in orders()}
    return records.Elsewhere(
        guests=guests,
        groups={group: new for name, new in RENAMED.items() if not is_mailbox[name] for group in _ids(made, name)},
        mailboxes={_address(made, name): new for name, new in RENAMED.items() if is_mailbox[name]},
    )


def _address(made: Mapping[str, Record], name: str) -> str:
    result = made[name]["result"]
    return str(result["mail"]) if isinstance(result, dict) else ""


def _ids(made: Mapping[str, Record], name: str) -> Sequence[UUID]:
    """Return the id of the created object, if the request succeeded."""
    result = made[name]["result"]
    return [UUID(str(result["id"]))] if isinstance(result, dict) else []


def _key(kind: str, name: str) -> str:
    """Return an idempotency key, so that an interrupted run sends nothing twice."""
    return f"demo-{kind}-{name.lower().replace(' ', '-')}"


def _wait(look: Callable[[], Found], met: Callable[[Found], bool]) -> Found:
    end = time.monotonic() + _WITHIN
    while not met(found := look()):
        if time.monotonic() > end:
            raise failed(f"The demo did not end within {_WITHIN:.0f} s. Run `chamberlain demo` again to complete it.")
        time.sleep(_BETWEEN_LOOKS)
    return found


def _require_embedded(settings: Settings) -> None:
    if settings.database_url is not None or settings.database_worker_url is not None:
        raise failed("The demo fills only the sample data of the embedded database. This installation has another one.")


def _require_running(settings: Settings) -> None:
    """Fail with the reason if no service of the data folder answers."""
    local_token(settings, {"user": ADA}, [f"{settings.scope_prefix}/{_COLLAB}"])


def _show_sign_ins(settings: Settings, folder: DataFolder) -> None:
    rows: Sequence[tuple[str, str]] = (("requester", BEN), ("approver", DARA), ("administrator", ADA))
    for role, address in rows:
        print(f"{role:14} {address}")
    print(f"Passwords: {folder.example_users}")
    print(f"Console: {settings.console_url}/console/")
    print(f"API and documentation: {settings.base_url}/docs")
