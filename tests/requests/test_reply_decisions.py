# SPDX-License-Identifier: Apache-2.0
"""Replies by mail decide on requests, as the user whom the mail asked."""

import asyncio
from dataclasses import replace

import pytest

from chamberlain.auth.models import ActorType, Caller
from chamberlain.core.errors import Conflict, Forbidden, NotPossible
from chamberlain.core.idempotency import KeptAnswer
from chamberlain.core.ids import RequestId, TenantId, UserId
from chamberlain.requests.models import RequestRecord
from chamberlain.requests.replies import Asking
from chamberlain.requests.rules import Action
from tests.databases import Databases
from tests.estates import ADA, BEN, CLEO, DARA, ESTATE, OTHER_HOUSE, caller_of
from tests.requests.approval_fixture import ApprovalFixture, any_of, open_approval_fixture, user
from tests.requests.request_services import ACT, PREFIX, act, reply_tokens
from tests.substitutes.substitute_fixture import open_substitute_fixture

ADDRESSES = {DARA: "dara@estate.example", BEN: "ben@estate.example"}


def mail_server(tenant_id: TenantId = ESTATE) -> Caller:
    """The mail server of the operator, which hands replies over."""
    permissions = frozenset({f"{PREFIX}/requests/Replies.ReadWrite.All"})
    return replace(caller_of(ADA, tenant_id), type=ActorType.APPLICATION, permissions=permissions)


def mail(request_id: RequestId, who: UserId, answer: str, *, level: int = 1, sender: str | None = None) -> bytes:
    """The reply of a user to the approval mail of a level."""
    token = reply_tokens().sign(Asking(ESTATE, request_id, level, who))
    return f"From: <{sender or ADDRESSES[who]}>\r\n\r\n{answer}\r\n\r\n> {token}\r\n".encode()


def render(action: Action, after: RequestRecord) -> bytes:
    return f"{action} {after.state}".encode()


async def reply(approvals: ApprovalFixture, raw: bytes, caller: Caller | None = None) -> KeptAnswer:
    return await approvals.requests.reply(caller or mail_server(), raw, ACT, render)


async def test_it_works(databases: Databases) -> None:
    approvals = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approvals.ask()

    answer = await reply(approvals, mail(request_id, DARA, "approve"))

    assert answer.body == b"approve queued"
    (level,) = await approvals.levels(request_id)
    (decision,) = level.decisions
    assert (decision.by.type, decision.by.id, decision.by.display_name) == ("user", DARA, "Dara Lindqvist")
    assert (decision.comment, decision.on_behalf_of) == (None, None)
    assert await approvals.audit(request_id) == [
        ("request.approve", {"state": "queued", "level": 1, "channel": "mail"}),
    ]
    assert await approvals.jobs() == ["groupProvision"]


async def test_it_rejects_with_the_reason(databases: Databases) -> None:
    approvals = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approvals.ask()

    await reply(approvals, mail(request_id, DARA, "reject: There is such a group."))

    assert (await approvals.estate.record(request_id)).state == "rejected"
    assert await approvals.audit(request_id) == [
        (
            "request.reject",
            {"state": "rejected", "level": 1, "comment": "There is such a group.", "channel": "mail"},
        ),
    ]


async def test_a_substitute_replies(databases: Databases) -> None:
    it = await open_substitute_fixture(databases, any_of(user(DARA)))
    await it.name(DARA, BEN)
    request_id = await it.approvals.ask()
    await it.approvals.look()

    await reply(it.approvals, mail(request_id, BEN, "approve"))

    ((decision,),) = [level.decisions for level in await it.approvals.levels(request_id)]
    assert decision.on_behalf_of is not None
    assert (decision.by.id, decision.on_behalf_of.id) == (BEN, DARA)


async def test_a_second_reply_changes_nothing(databases: Databases) -> None:
    approvals = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approvals.ask()
    await reply(approvals, mail(request_id, DARA, "approve"))

    with pytest.raises(Conflict) as caught:
        await reply(approvals, mail(request_id, DARA, "reject: no"))

    assert caught.value.code == "stateDoesNotAllow"
    assert (await approvals.estate.record(request_id)).state == "queued"


async def test_a_mail_that_arrives_twice_is_answered_twice_by_its_key(databases: Databases) -> None:
    approvals = await open_approval_fixture(databases, any_of(user(DARA)))
    raw = mail(await approvals.ask(), DARA, "approve")
    key = act(key="<1@estate.example>")

    answers = [await approvals.requests.reply(mail_server(), raw, key, render) for _ in range(2)]

    assert [(each.body, each.replayed) for each in answers] == [(b"approve queued", False), (b"approve queued", True)]


@pytest.mark.heavy
async def test_replies_of_two_approvers_at_the_same_moment(databases: Databases) -> None:
    approvals = await open_approval_fixture(databases, any_of(user(DARA), user(BEN)))

    for number in range(20):
        request_id = await approvals.ask(name=f"Race {number}")
        came = await asyncio.gather(
            reply(approvals, mail(request_id, DARA, "approve")),
            reply(approvals, mail(request_id, BEN, "reject: no")),
            return_exceptions=True,
        )

        assert sorted(type(each).__name__ for each in came) == ["Conflict", "KeptAnswer"]
        assert len((await approvals.levels(request_id))[0].decisions) == 1


async def test_the_mail_of_a_closed_level_decides_nothing(databases: Databases) -> None:
    approvals = await open_approval_fixture(databases, any_of(user(DARA)), any_of(user(DARA)))
    request_id = await approvals.ask()
    await approvals.approve(request_id, DARA)
    await approvals.look()

    with pytest.raises(Conflict) as caught:
        await reply(approvals, mail(request_id, DARA, "approve", level=1))

    assert caught.value.code == "stateDoesNotAllow"
    await reply(approvals, mail(request_id, DARA, "approve", level=2))
    assert (await approvals.estate.record(request_id)).state == "queued"


async def test_the_mail_of_another_user_decides_nothing(databases: Databases) -> None:
    approvals = await open_approval_fixture(databases, any_of(user(DARA), user(BEN)))
    request_id = await approvals.ask()

    with pytest.raises(NotPossible) as caught:
        await reply(approvals, mail(request_id, DARA, "approve", sender="ben@estate.example"))

    assert [fault.code for fault in caught.value.faults] == ["replySenderDiffers"]
    assert (await approvals.levels(request_id))[0].decisions == ()


async def test_a_token_makes_no_approver(databases: Databases) -> None:
    approvals = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approvals.ask()

    with pytest.raises(Forbidden) as caught:
        await reply(approvals, mail(request_id, BEN, "approve"))

    assert caught.value.code == "notApprover"


async def test_an_approver_who_has_left_decides_nothing(databases: Databases) -> None:
    approvals = await open_approval_fixture(databases, any_of(user(DARA), user(BEN)))
    request_id = await approvals.ask()
    await approvals.leave(DARA)

    with pytest.raises(Forbidden) as caught:
        await reply(approvals, mail(request_id, DARA, "approve"))

    assert caught.value.code == "notApprover"


async def test_another_tenant_cannot_use_the_token(databases: Databases) -> None:
    approvals = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approvals.ask()

    with pytest.raises(NotPossible) as caught:
        await reply(approvals, mail(request_id, DARA, "approve"), mail_server(OTHER_HOUSE))

    assert [fault.code for fault in caught.value.faults] == ["replyTokenInvalid"]


@pytest.mark.parametrize("caller", [caller_of(DARA), caller_of(CLEO), replace(mail_server(), permissions=frozenset())])
async def test_it_refuses_all_but_the_mail_server(databases: Databases, caller: Caller) -> None:
    approvals = await open_approval_fixture(databases, any_of(user(DARA)))
    request_id = await approvals.ask()

    with pytest.raises(Forbidden) as caught:
        await reply(approvals, mail(request_id, DARA, "approve"), caller)

    assert caught.value.code == "insufficientScope"
