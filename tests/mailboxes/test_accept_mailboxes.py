# SPDX-License-Identifier: Apache-2.0
"""Mailboxes are written with their requests, and get all of their names or none."""

from dataclasses import replace
from uuid import uuid4

import pytest

from chamberlain.core.ids import MailboxId
from chamberlain.directory.mailboxes import MailboxOrder, TemplateSource
from chamberlain.embedded.directory.people import HELD_ADDRESSES
from chamberlain.mailboxes.wire import write_mailbox_order
from chamberlain.queue.models import JobKind
from chamberlain.requests.batcher import Acceptor
from chamberlain.requests.models import (
    AddressTaken,
    Again,
    Draft,
    LimitFull,
    MailboxDraft,
    NameTaken,
    RequestKind,
    Written,
)
from tests.databases import Databases
from tests.drafts import draft
from tests.estates import ADA, ESTATE, SHARED_MAILBOX, apply, changed_estate, counts, open_estate, rows
from tests.requests.test_batcher import accept_all


def mailbox_draft(name: str, *, address: str | None = None, alias: str | None = None) -> Draft:
    """A right draft for a shared mailbox."""
    one = draft(address or name)
    mailbox = MailboxDraft(
        id=MailboxId(uuid4()),
        order=MailboxOrder(name, name),
        content=write_mailbox_order(MailboxOrder(name, name)),
        name_key=name,
        alias=None if alias is None else f"{alias}@estate.example",
        template_source=TemplateSource.REQUEST,
        readers=frozenset({ADA}),
    )
    return replace(
        one, kind=RequestKind.SHARED, template_id=SHARED_MAILBOX, job=JobKind.MAILBOX_PROVISION, mailbox=mailbox
    )


@pytest.fixture
async def prepared(databases: Databases) -> Databases:
    """The tenants and templates of the example estate."""
    await apply(databases, changed_estate())
    return databases


async def test_it_works_and_a_mailbox_is_written_with_its_request_and_holds_its_names(prepared: Databases) -> None:
    one = mailbox_draft("info", alias="desk")

    verdict = await Acceptor(prepared.application).accept(one)

    assert isinstance(verdict, Written)
    assert one.mailbox is not None
    assert await rows(
        prepared, "SELECT mailbox_id, kind, name, address, alias, created_at, readers FROM chamberlain.mailbox"
    ) == [(one.mailbox.id, "shared", "info", "info@estate.example", "desk@estate.example", verdict.at, [ADA])]
    assert await rows(prepared, "SELECT kind, value FROM chamberlain.reservation ORDER BY kind, value") == [
        ("address", "desk@estate.example"),
        ("address", "info@estate.example"),
        ("name", "info"),
    ]
    assert await rows(prepared, "SELECT user_id, request_id FROM chamberlain.mailbox_reader") == [(ADA, one.request_id)]


async def test_a_mailbox_gets_all_of_its_names_or_gives_them_back(prepared: Databases) -> None:
    acceptor = Acceptor(prepared.application)
    await acceptor.accept(draft("apollo"))
    await acceptor.accept(mailbox_draft("info", alias="desk"))
    before = await counts(prepared)
    wanted = [
        mailbox_draft("first", address="apollo", alias="free1"),
        mailbox_draft("second", address="free2", alias="apollo"),
        mailbox_draft("info", address="free3", alias="free4"),
        mailbox_draft("third", address="desk"),
        draft("desk"),
    ]

    verdicts = await accept_all([acceptor], wanted)

    assert verdicts == [AddressTaken(), AddressTaken(), NameTaken(), AddressTaken(), AddressTaken()]
    assert await counts(prepared) == before
    assert await accept_all([acceptor], [mailbox_draft("first"), mailbox_draft("second", alias="free2")]) == [
        Written(),
        Written(),
    ]


async def test_one_whose_address_is_taken_leaves_its_name_to_the_next(prepared: Databases) -> None:
    acceptor = Acceptor(prepared.application)
    await acceptor.accept(draft("apollo"))

    verdicts = await accept_all([acceptor], [mailbox_draft("info", address="apollo"), mailbox_draft("info")])

    # When the first gets its error, the name is taken too.
    assert verdicts == [NameTaken(), Written()]


async def test_who_loses_to_one_that_is_refused_itself_is_told_to_come_again(prepared: Databases) -> None:
    acceptor = Acceptor(prepared.application)
    await acceptor.accept(draft("apollo"))

    verdicts = await accept_all([acceptor], [mailbox_draft("info", alias="apollo"), mailbox_draft("info")])

    assert verdicts == [AddressTaken(), Again()]
    assert await acceptor.accept(mailbox_draft("info")) == Written()


async def test_an_alias_that_the_directory_has_given_away_is_taken(databases: Databases) -> None:
    await open_estate(databases)
    acceptor = Acceptor(databases.application, held_addresses=HELD_ADDRESSES)
    wanted = [mailbox_draft("ada"), mailbox_draft("info", alias="ben"), mailbox_draft("desk", alias="front")]

    verdicts = await accept_all([acceptor], [replace(each, ask_addresses=True) for each in wanted])

    assert verdicts == [AddressTaken(), AddressTaken(), Written()]


async def test_an_address_that_is_the_name_of_a_mailbox_is_not_taken(prepared: Databases) -> None:
    """A request that is refused for another reason gets that reason."""
    acceptor = Acceptor(prepared.application)
    await acceptor.accept(mailbox_draft("front@estate.example", address="desk"))
    await rows(prepared, "UPDATE chamberlain.tenant SET open_requests = 1 WHERE tenant_id = $1 RETURNING 1", ESTATE)

    verdicts = await accept_all([acceptor], [draft("front"), mailbox_draft("info", alias="front"), draft("desk")])

    assert verdicts == [LimitFull("openRequests"), LimitFull("openRequests"), AddressTaken()]
