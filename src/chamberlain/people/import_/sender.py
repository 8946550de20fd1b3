# SPDX-License-Identifier: Apache-2.0
"""Create and change the people of rows by SCIM."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec import Struct, json

from chamberlain.cli.import_.dispatch import Busy, Later
from chamberlain.cli.import_.results import Outcome, RowResult
from chamberlain.cli.import_.sender import KeyedRow, Previewed, busy, refusal_of
from chamberlain.core.ids import WRITTEN_ID
from chamberlain.people.import_.rows import ENTERPRISE, USER, PersonRow
from chamberlain_client import errors
from chamberlain_client.asynchronous.transport import AsyncTransport
from chamberlain_client.calls import Call
from chamberlain_client.operations import Server
from chamberlain_client.responses import decode

_PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
_USERS = "/scim/v2/Users"
# Seconds until a row asks again for a manager who is in the file.
_PAUSE = 0.2

Document: TypeAlias = Mapping[str, object]


class _Found(Struct, rename={"resources": "Resources"}):
    resources: list[dict[str, object]]


class _Impossible(Exception):
    """A row cannot be sent: its code and the reason."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


@dataclass(frozen=True, slots=True)
class _Plan:
    """The changes for a row.

    `existing` is None for a new person, and `changes` are the attributes that differ. The manager is an id.
    """

    existing: Document | None
    changes: Document


@dataclass(slots=True)
class PersonSender:
    """Sends rows of people.

    `expected` are the names of the people of the file that are not finished, for managers. Raises errors that concern
    all rows, such as a missing permission.
    """

    transport: AsyncTransport
    note: Callable[[str, RowResult], None]
    expected: set[str]
    _managers: dict[str, str] = field(default_factory=dict)

    async def send(self, keyed: KeyedRow[PersonRow]) -> RowResult | Later | Busy:
        """Create or change the person of a row, and note it.

        A repeated call does no harm.
        """
        row = keyed.row
        result: RowResult | Later | Busy
        try:
            result = await self._send(row)
        except errors.ChamberlainError as error:
            result = _refused(row, error)
        except _Impossible as error:
            result = RowResult(row.line, row.name, Outcome.REFUSED, code=error.code, detail=str(error))
        if isinstance(result, RowResult):
            self.expected -= row.keys
            if result.outcome.is_well:
                self.note(keyed.key, result)
        return result

    async def _send(self, row: PersonRow) -> RowResult | Later:
        plan = await self._plan(row)
        id_ = None if plan.existing is None else str(plan.existing["id"])
        was_created = id_ is None
        if id_ is None:
            created = await self._call("POST", _USERS, {"schemas": _schemas(row.body), **row.body})
            id_ = str(created["id"])
        elif plan.changes:
            await self._patch(id_, plan.changes)
        # Others may name this person as manager from now on.
        self._managers |= dict.fromkeys(row.keys, id_)
        is_changed = bool(plan.changes)
        if row.manager is not None:
            manager = await self._manager(row.manager)
            if manager is None:
                return Later(_PAUSE)
            if _manager_of(plan.existing) != manager:
                await self._patch(id_, {f"{ENTERPRISE}:manager": {"value": manager}})
                is_changed = True
        is_present = not was_created and not is_changed
        detail = "It is there already." if is_present else None if was_created else "It was changed."
        outcome = Outcome.PRESENT if is_present else Outcome.ACTIVE
        return RowResult(row.line, row.name, outcome, object_id=id_, detail=detail)

    async def preview(self, row: PersonRow) -> Previewed | Later | Busy:
        """Compare a row with the directory."""
        action, changes, refused = "", list[str](), ""
        try:
            plan = await self._plan(row)
            changed = sorted(plan.changes)
            if row.manager is not None and row.manager.casefold() not in self.expected:
                manager = await self._manager(row.manager)
                changed += ["manager"] if _manager_of(plan.existing) != manager else []
            action = "create" if plan.existing is None else "change" if changed else "none"
            changes = [] if plan.existing is None else [name.rpartition(":")[2] for name in changed]
        except errors.ChamberlainError as error:
            answer = _refused(row, error)
            if not isinstance(answer, RowResult):
                return answer
            refused = str(answer.detail)
        except _Impossible as error:
            refused = str(error)
        record = {
            "line": row.line,
            "name": row.name,
            "action": action,
            "changes": changes,
            "approvalRequired": False,
            "refused": refused,
        }
        return Previewed(row.line, record)

    async def look(self, result: RowResult) -> RowResult | Later | Busy:
        """Return the result: people are there when the call ends."""
        return result

    async def _plan(self, row: PersonRow) -> _Plan:
        existing = await self._find(row)
        if existing is None:
            return _Plan(None, row.body)
        changes = {name: value for name, value in row.body.items() if not _has(existing, name, value)}
        return _Plan(existing, changes)

    async def _find(self, row: PersonRow) -> Document | None:
        """Find the person of a row by id or name."""
        if row.id is not None:
            try:
                return await self._call("GET", f"{_USERS}/{row.id}")
            except errors.NotFound:
                raise _Impossible("notFound", f"There is no user with the id {row.id}.") from None
        external_id = row.body.get("externalId")
        by_external_id = [] if external_id is None else await self._search("externalId", str(external_id))
        if len(by_external_id) > 1:
            raise _Impossible("externalIdNotUnique", f"Several users have the external id {external_id}.")
        by_name = by_external_id or await self._search("userName", row.name)
        if not by_name:
            return None
        [found] = by_name
        if not by_external_id and external_id is not None and found.get("externalId") not in (None, external_id):
            detail = f"The user {row.name} has another external id, {found['externalId']}."
            raise _Impossible("externalIdDiffers", detail)
        return found

    async def _manager(self, named: str) -> str | None:
        """Return the id of a manager; None while their row is unfinished."""
        known = self._managers.get(named.casefold())
        if known is not None:
            return known
        if WRITTEN_ID.fullmatch(named):
            return named.lower()
        found = await self._search("userName", named) or await self._search("externalId", named)
        if len(found) == 1:
            return self._managers.setdefault(named.casefold(), str(found[0]["id"]))
        if named.casefold() in self.expected:
            return None
        raise _Impossible("managerUnknown", f"manager: {'Several users are' if found else 'No user is'} {named}.")

    async def _search(self, attribute: str, value: str) -> list[dict[str, object]]:
        filter_ = f"{attribute} eq {json.encode(value).decode()}"
        query = (("filter", filter_), ("excludedAttributes", "groups"))
        call = Call(method="GET", server=Server.BASE, path=_USERS, query=query)
        return decode(await self.transport.send(call), _Found).resources

    async def _patch(self, id_: str, changes: Document) -> None:
        operations = [{"op": "replace", "path": name, "value": value} for name, value in changes.items()]
        await self._call("PATCH", f"{_USERS}/{id_}", {"schemas": [_PATCH], "Operations": operations})

    async def _call(self, method: str, path: str, body: Document | None = None) -> dict[str, object]:
        headers = (("content-type", "application/scim+json"),) if body is not None else ()
        content = None if body is None else json.encode(body)
        call = Call(method=method, server=Server.BASE, path=path, headers=headers, content=content)
        return decode(await self.transport.send(call), dict[str, object])


def _schemas(body: Document) -> list[str]:
    return [USER, ENTERPRISE] if ENTERPRISE in body else [USER]


def _has(existing: Document, name: str, value: object) -> bool:
    """Check that a resource has a value already, beside others."""
    found = existing.get(name)
    if isinstance(value, dict) and isinstance(found, dict):
        return all(found.get(part) == one for part, one in value.items())
    if name == "userName":
        return str(found).casefold() == str(value).casefold()
    return found == value


def _manager_of(existing: Document | None) -> str | None:
    enterprise = None if existing is None else existing.get(ENTERPRISE)
    manager = enterprise.get("manager") if isinstance(enterprise, dict) else None
    return str(manager["value"]) if isinstance(manager, dict) else None


def _refused(row: PersonRow, error: errors.ChamberlainError) -> RowResult | Later | Busy:
    if isinstance(error, errors.Conflict):
        return RowResult(row.line, row.name, Outcome.CONFLICT, code=error.code, detail=error.detail)
    return busy(error) or refusal_of(row, error, lambda pointer: pointer)
