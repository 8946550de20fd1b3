# SPDX-License-Identifier: Apache-2.0
"""Read the state at the end of a round through the API."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

from bench.histories.checker import ENDS
from bench.histories.clients import CONFIG, PEOPLE, READ_GROUPS, Clients
from bench.histories.records import AuditRow, Event, FinalRequest, FinalState, Level, Outcome

# JSON of an answer; the API's own tests prove its shape.
Document: TypeAlias = Any

# The largest pages that the API and the directory give.
PAGE, GROUPS = 200, 999


async def read_final(clients: Clients, since_request: str | None, since_row: int) -> tuple[FinalState, str | None]:
    """Read all that is newer than the last request and audit row before the round, and where the feed ends."""
    found = await list_requests(clients, since_request)
    groups = await _count_groups(clients)
    requests = [
        FinalRequest(
            each["requestId"],
            each["displayName"],
            each["state"],
            await _levels(clients, each["requestId"]) if each["approvalRequired"] else (),
            groups[each["requestId"]],
        )
        for each in found
    ]
    assigned = {}
    for subject in clients.subjects:
        value, _ = await clients.read_subject(subject)
        assigned[subject.name] = str(value)
    feed, cursor = await read_feed(clients)
    return FinalState(requests, assigned, feed, await list_audit(clients, since_row)), cursor


async def list_requests(clients: Clients, since: str | None) -> Sequence[Document]:
    """List the requests for groups, newest first, that are newer than one of them."""
    found: list[Document] = []
    query = f"?kind=group&limit={PAGE}"
    while True:
        page = await _get(clients, f"/requests/v1/{query}")
        for each in page["items"]:
            if each["requestId"] == since:
                return found
            found.append(each)
        if page["nextCursor"] is None:
            return found
        query = f"?kind=group&limit={PAGE}&cursor={page['nextCursor']}"


async def newest_request(clients: Clients) -> str | None:
    """The id of the newest request for a group, or None."""
    items = (await _get(clients, "/requests/v1/?kind=group&limit=1"))["items"]
    return items[0]["requestId"] if items else None


async def newest_row(clients: Clients) -> int:
    """The number of the newest audit row."""
    items = (await _get(clients, "/admin/v1/audit/?limit=1"))["items"]
    return max((int(each["sequence"]) for each in items), default=0)


async def list_audit(clients: Clients, since: int) -> Sequence[AuditRow]:
    """List the audit rows that are newer than one of them."""
    found: list[AuditRow] = []
    query = f"?limit={PAGE}"
    while True:
        page = await _get(clients, f"/admin/v1/audit/{query}")
        found += [_row(each) for each in page["items"] if each["sequence"] > since]
        if page["nextCursor"] is None or any(each["sequence"] <= since for each in page["items"]):
            return found
        query = f"?limit={PAGE}&cursor={page['nextCursor']}"


async def read_feed(clients: Clients) -> tuple[Sequence[Event], str | None]:
    """Read the feed to its end by one more reader, whose pages are no part of the history."""
    found: list[Event] = []
    cursor = clients.cursor
    while True:
        page = await clients.read_events("at the end", cursor, PAGE)
        assert page is not None, "The feed cannot be read at the end."
        clients.history.pages.remove(page)
        found += page.events
        cursor = page.following
        if not page.events:
            return found, cursor


def is_ended(state: str) -> bool:
    """Tell whether nothing more happens to a request in this state by itself."""
    return state in ENDS


async def _levels(clients: Clients, request_id: str) -> tuple[Level, ...]:
    request = await _get(clients, f"/requests/v1/{request_id}/")
    return tuple(
        Level(
            level["state"],
            tuple((_mail(each["by"]["displayName"]), each["outcome"]) for each in level["decisions"]),
            bool(level["approvers"]),
        )
        for level in request["approvals"]
    )


async def _count_groups(clients: Clients) -> Counter[str]:
    """Count the groups of the directory by the request that their mark names."""
    found: Counter[str] = Counter()
    path = (
        f"/graph/v1.0/groups?$top={GROUPS}&$select=id,chamberlain_group"
        f"&$filter=startswith(displayName,'{clients.name} ')"
    )
    while path:
        page = await _get(clients, path, READ_GROUPS)
        found.update(each["chamberlain_group"]["requestId"] for each in page["value"] if each.get("chamberlain_group"))
        path = page.get("@odata.nextLink", "").partition("/graph/")[2]
        path = path and f"/graph/{path}"
    return found


async def _get(clients: Clients, path: str, scope: str = CONFIG) -> Document:
    call, answer = await clients.call("GET", path, scope=scope)
    assert call.outcome is Outcome.OK, f"{path}: {answer and answer.text}"
    assert answer is not None
    return answer.json()


def _row(item: Document) -> AuditRow:
    is_assignment = item["action"] in {"group.assign", "site.assign"}
    return AuditRow(
        sequence=item["sequence"],
        action=item["action"],
        request_id=item["requestId"],
        person=_mail(item["actor"]["displayName"]) if item["actor"] else None,
        subject=item["subject"]["id"] if is_assignment else None,
    )


def _mail(display_name: str) -> str:
    """The address of a person of the example estate, whose name begins with it."""
    first = display_name.partition(" ")[0].lower()
    return next((each for each in PEOPLE if each.startswith(f"{first}@")), display_name)
