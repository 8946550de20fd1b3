# SPDX-License-Identifier: Apache-2.0
"""Delta queries of groups and users (group-delta.md 07613014, delta-query-overview.md 01a90577)."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from tests.microsoft365.fake.answers import Answer, Call, GraphError, bad_request
from tests.microsoft365.fake.faults import DELTA_FAULTS, Fault
from tests.microsoft365.fake.pages import project, selected, type_properties
from tests.microsoft365.fake.tenant import DELETED, GROUPS, USERS, Tenant, members, owners
from tests.microsoft365.fake.writes import Json, Table, Write

Parts = Mapping[str, str]

# "For directory objects, the limit is seven days."
_VALID: Final = timedelta(days=7)
# How many of the last writes a replay repeats. Ours.
_REPLAYED: Final = 10
_RELATIONS: Final[Mapping[str, tuple[str, ...]]] = {"groups": ("members", "owners"), "users": ("manager",)}


@dataclass(frozen=True, slots=True)
class _State:
    """The content of a token: the selection, the tracked writes, and the page. `since` is -1 for a first round."""

    kind: str
    select: tuple[str, ...]
    since: int
    until: int
    page: int
    issued: str

    def encode(self) -> str:
        return base64.urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode()


def list_group_changes(tenant: Tenant, call: Call, _parts: Parts) -> Answer:
    """Answer a page of changed groups (group-delta.md)."""
    return _answer(tenant, call, "groups")


def list_user_changes(tenant: Tenant, call: Call, _parts: Parts) -> Answer:
    """Answer a page of changed users (user-delta.md)."""
    return _answer(tenant, call, "users")


def _answer(tenant: Tenant, call: Call, kind: str) -> Answer:
    for name in ("$top", "$orderby", "$expand", "$search"):
        if name in call.query:
            # "$expand is not supported. $top is not supported. $orderby is not supported."
            raise bad_request(f"Query option '{name}' is not supported by a delta query.", "Request_UnsupportedQuery")
    fault = tenant.faults.draw(call.method, call.path, among=DELTA_FAULTS)
    state = _read_state(tenant, call, kind, is_gone=fault is Fault.DELTA_GONE)
    ids = _changed(tenant, state, is_replayed=fault is Fault.DELTA_REPLAY)
    size = tenant.largest_delta_page
    page = ids[state.page * size : (state.page + 1) * size]
    if fault is Fault.DELTA_DUPLICATE and page:
        # "A single entity will be contained multiple times in the response" (note).
        page = [*page, tenant.random.choice(page)]
    values = [entity for each in page if (entity := _entity(tenant, state, each)) is not None]
    body: dict[str, Json] = {"@odata.context": f"{call.base}/$metadata#{kind}"}
    if (state.page + 1) * size < len(ids):
        body["@odata.nextLink"] = call.link(call.path, f"$skiptoken={replace(state, page=state.page + 1).encode()}")
    else:
        later = replace(state, since=state.until, until=-1, page=0, issued=tenant.now().isoformat())
        body["@odata.deltaLink"] = call.link(call.path, f"$deltatoken={later.encode()}")
    return Answer(200, {**body, "value": values})


def _read_state(tenant: Tenant, call: Call, kind: str, *, is_gone: bool) -> _State:
    until = tenant.log.written_until(tenant.lags.delta)
    token = call.query.get("$skiptoken") or call.query.get("$deltatoken")
    if token is None:
        _check_selection(call, kind)
        return _State(kind, selected(call), -1, until, 0, tenant.now().isoformat())
    if token == "latest":
        return _State(kind, selected(call), until, until, 0, tenant.now().isoformat())
    try:
        read = json.loads(base64.urlsafe_b64decode(token))
        state = _State(**{**read, "select": tuple(read["select"])})
    except (ValueError, KeyError, TypeError) as error:
        raise bad_request("Badly formed token.", "Directory_InvalidDeltaToken") from error
    if "$skiptoken" in call.query and "$select" in call.query:
        # "Delta queries with both $select and $skipToken will not be supported."
        raise bad_request("$select is not supported with $skiptoken.", "Request_UnsupportedQuery")
    is_expired = tenant.now() - datetime.fromisoformat(state.issued) > _VALID
    if state.kind != kind or is_expired or is_gone:
        _refuse(call, is_gone=is_gone)
    return replace(state, until=max(until, state.since)) if state.until < 0 else state


def _refuse(call: Call, *, is_gone: bool) -> None:
    if is_gone:
        # The page: 410, and a Location header with the address of a first request, and an empty token.
        raise GraphError(410, "Gone", "Resync required.", headers={"Location": call.link(call.path, "$deltatoken=")})
    # "A 40X-series error with error codes such as syncStateNotFound."
    raise GraphError(400, "syncStateNotFound", "The sync state generation is not found.")


def _check_selection(call: Call, kind: str) -> None:
    entity = kind.removesuffix("s")
    known = type_properties(entity) | {*_RELATIONS[kind]}
    for name in selected(call):
        if name not in known and "_" not in name:
            raise bad_request(
                f"Could not find a property named '{name}' on type 'microsoft.graph.{entity}'.", "BadRequest"
            )
    if text := call.query.get("$filter"):
        # "The only supported $filter expression is for tracking changes on a specific object."
        if not re.fullmatch(r"id eq '[^']*'( or id eq '[^']*'){0,49}", text):
            raise bad_request("Unsupported filter.", "Request_UnsupportedQuery")
        raise NotImplementedError("The adapter does not filter delta queries.")


def _changed(tenant: Tenant, state: _State, *, is_replayed: bool) -> list[str]:
    """List the changed objects, in the order of their last writes."""
    since = max(-1, state.since - _REPLAYED) if is_replayed else state.since
    writes = tenant.log.writes[max(0, since) : state.until]
    found: dict[str, None] = {}
    for write in writes:
        object_id = _tracked(tenant, state, write)
        if object_id is not None:
            found.pop(object_id, None)
            found[object_id] = None
    return list(found)


def _tracked(tenant: Tenant, state: _State, write: Write) -> str | None:
    """Return the object that a write changes, if the selection tracks the change."""
    tables: Mapping[str, Table] = {"groups": GROUPS, "users": USERS}
    if write.table == tables[state.kind]:
        return write.key if _is_tracked(tenant, state, write) else None
    if state.kind == "groups" and write.table[0] in {"members", "owners"} and write.table[0] in state.select:
        return write.table[1]
    return None


def _is_tracked(tenant: Tenant, state: _State, write: Write) -> bool:
    former = write.before
    if former is None or write.value is None or state.since < 0:
        return True
    changed = {name for name in {*former, *write.value} if former.get(name) != write.value.get(name)}
    if not tenant.tracks_extensions:
        # "Properties stored outside of the main data store" are not tracked. For extensions it is not published (V4).
        changed = {name for name in changed if "_" not in name}
    # "If a change occurs to a property that is not selected, the resource does not appear."
    return bool(changed & {*state.select}) if state.select else bool(changed)


def _entity(tenant: Tenant, state: _State, object_id: str) -> dict[str, Json] | None:
    """Return an object with its selected properties, or its removal."""
    view = tenant.log.view(tenant.lags.delta)
    table: Table = GROUPS if state.kind == "groups" else USERS
    found = view.get(table, object_id)
    if found is None:
        if state.since < 0:
            # The page: a first round does not return resources that were deleted before it.
            return None
        # `changed`: restorable from deletedItems.
        reason = "changed" if view.get(DELETED, object_id) is not None else "deleted"
        return {"id": object_id, "@removed": {"reason": reason}}
    kind = state.kind.removesuffix("s")
    names = [name for name in state.select if name not in _RELATIONS[state.kind]]
    if not tenant.tracks_extensions:
        names = [name for name in names if "_" not in name]
    chosen = project(found, kind, names) if names or not state.select else {}
    # "If the property has never been set before it will not be included in the response at all."
    entity = {"id": object_id, **{name: value for name, value in chosen.items() if name in found}}
    if state.kind == "groups":
        for relation in ("members", "owners"):
            if relation in state.select:
                entity |= _relation(tenant, state, relation, object_id)
    return entity


def _relation(tenant: Tenant, state: _State, relation: str, group_id: str) -> dict[str, Json]:
    """Return the added and removed members: all in a first round, else the changed ones."""
    table = members(group_id) if relation == "members" else owners(group_id)
    view = tenant.log.view(tenant.lags.delta)
    if state.since < 0:
        keys = view.keys(table)
    else:
        writes = tenant.log.writes[state.since : state.until]
        keys = list(dict.fromkeys(each.key for each in writes if each.table == table))
    found: list[Json] = []
    for key in keys:
        kind = "group" if view.get(GROUPS, key) is not None else "user"
        removed = {} if view.get(table, key) is not None else {"@removed": {"reason": "deleted"}}
        found.append({"@odata.type": f"#microsoft.graph.{kind}", "id": key, **removed})
    return {f"{relation}@delta": found} if found or state.since < 0 else {}
