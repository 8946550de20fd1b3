# SPDX-License-Identifier: Apache-2.0
"""Whatever comes in, what goes out is one of the answers that the document promises."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chamberlain.app.routes import ENDPOINTS
from chamberlain.directory.mailboxes import MailboxOrder
from chamberlain.http.endpoint_tables import ServedEndpoint
from chamberlain.http.openapi import codes_of
from chamberlain.http.pipeline import Resources
from chamberlain.http.problems import STATUSES, Problem
from tests.guests.assignments.fake_assignments import ALL_STAFF, HANDBOOK
from tests.guests.policies.fake_policies import POLICY_ID
from tests.http.http_fixture import CALLERS as KNOWN
from tests.http.http_fixture import MAILBOX_ID, REQUEST, TEMPLATE, HttpFixture, mailbox_record, record
from tests.template_admin.fake_templates import ROOM, TEAM

PATHS = [
    "/collab/v1/groups/",
    "/collab/v1/groups",
    f"/requests/v1/{REQUEST}/",
    "/requests/v1/x/",
    "/mail/v1/mailboxes/",
    "/mail/v1/mailboxes",
    f"/mail/v1/mailboxes/{MAILBOX_ID}/",
    "/mail/v1/mailboxes/x/",
    "/mail/v1/templates/",
    "/admin/mail/v1/templates/",
    f"/admin/mail/v1/templates/{ROOM}/",
    "/collab/v1/templates/",
    "/admin/collab/v1/templates/",
    f"/admin/collab/v1/templates/{TEAM}/",
    "/admin/collab/v1/policies/",
    f"/admin/collab/v1/policies/{POLICY_ID}/",
    "/admin/v1/tenant/",
    "/admin/collab/v1/manage/groups/",
    f"/admin/collab/v1/manage/groups/{ALL_STAFF}/",
    f"/admin/collab/v1/manage/spo/{HANDBOOK}/",
    "/admin/v1/findings/",
    "/health/ready",
    "/docs",
]
GOOD_HEADERS = {
    b"host": b"127.0.0.1:8365",
    b"authorization": b"Bearer ada",
    b"content-type": b"application/json",
}
GOOD_BODY = b'{"displayName": "Hooked", "templateId": "%s"}' % TEMPLATE.encode()
GOOD_MAILBOX = b'{"name": "Atlas", "displayName": "Room Atlas", "officeLocation": "HQ"}'
CALLERS = [b"Bearer powerless", b"Bearer administrator", b"Bearer mail", b"Bearer mail manager"]
MAIL = GOOD_HEADERS | {b"authorization": b"Bearer mail"}
HEADER = st.binary(max_size=20) | st.sampled_from([*GOOD_HEADERS.values(), *CALLERS, b"999999999", b"gzip"])
NAMES = [b"host", b"authorization", b"content-type", b"idempotency-key", b"if-match", b"traceparent"]
OTHER_NAMES = [b"client-request-id", b"content-length", b"content-encoding"]
HEADERS = st.dictionaries(st.sampled_from([*NAMES, *OTHER_NAMES]), HEADER, max_size=4)


@dataclass
class Sent:
    """The response of the application."""

    status: int = 0
    headers: dict[bytes, bytes] | None = None
    body: bytes = b""


def call(http_fixture: HttpFixture, scope: dict[str, object], chunks: Iterable[bytes]) -> Sent:
    sent = Sent()
    messages = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
    messages.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> dict[str, object]:
        return messages.pop(0)

    async def send(message: dict[str, object]) -> None:
        match message:
            case {"type": "http.response.start", "status": int(status), "headers": list(headers)}:
                sent.status, sent.headers = status, dict(headers)
            case {"type": "http.response.body", "body": bytes(body)}:
                sent.body += body
            case _:
                raise AssertionError(message)

    asyncio.run(http_fixture.app()(scope, receive, send))  # type: ignore[arg-type]  # Messages are dicts here.
    return sent


# How long one takes is not the question; the machine may be busy.
@settings(deadline=None)
@given(
    method=st.sampled_from(["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"]),
    path=st.sampled_from(PATHS) | st.text(max_size=20).map(lambda text: f"/{text}"),
    query=st.sampled_from([b"", b"dryRun=true", b"q=a&type=room", b"%ff&=&;"]) | st.binary(max_size=10),
    headers=HEADERS.map(lambda some: GOOD_HEADERS | some),
    chunks=st.lists(st.binary(max_size=30) | st.sampled_from([GOOD_BODY, GOOD_MAILBOX]), max_size=2),
)
@example(method="POST", path="/mail/v1/mailboxes/", query=b"", headers=MAIL, chunks=[GOOD_MAILBOX])
@example(method="POST", path="/mail/v1/mailboxes/", query=b"dryRun=true", headers=MAIL, chunks=[GOOD_MAILBOX])
@example(method="GET", path="/mail/v1/mailboxes/", query=b"q=a&type=room&limit=1", headers=MAIL, chunks=[])
@example(method="GET", path=f"/mail/v1/mailboxes/{MAILBOX_ID}/", query=b"", headers=MAIL, chunks=[])
def test_every_answer_is_one_that_was_promised(
    *, method: str, path: str, query: bytes, headers: dict[bytes, bytes], chunks: list[bytes]
) -> None:
    mailbox = mailbox_record(KNOWN["Bearer mail"], MailboxOrder("Atlas", "Room Atlas"))
    http_fixture = HttpFixture(records={REQUEST: record()}, mailboxes={MAILBOX_ID: mailbox})
    scope: dict[str, object] = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query,
        "headers": list(headers.items()),
    }

    sent = call(http_fixture, scope, chunks)

    assert sent.headers is not None
    assert sent.headers[b"request-id"]
    resource, _ = Resources([ServedEndpoint(each, None) for each in ENDPOINTS]).find(path)
    endpoints = (
        () if resource is None else [one for one in ENDPOINTS if (one.path, one.method) == (resource.path, method)]
    )
    for endpoint in endpoints:
        assert sent.status in {
            *(STATUSES[code] for code in codes_of(endpoint)),
            *(one.status for one in endpoint.answers),
        }
        assert sent.status != 500
    if sent.headers.get(b"content-type") == b"application/problem+json" and method != "HEAD":
        problem = msgspec.json.decode(sent.body, type=Problem)
        assert problem.status == sent.status == STATUSES[problem.code]
        assert UUID(problem.trace_id) == UUID(sent.headers[b"request-id"].decode())
