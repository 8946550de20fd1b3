# SPDX-License-Identifier: Apache-2.0
"""Mailboxes of a tenant whose directory lacks abilities: refused before anything is written."""

from datetime import timedelta

import pytest

from chamberlain.core.errors import NotPossible
from chamberlain.directory.capabilities import Capabilities, Limits
from chamberlain.directory.properties import DriftProperty
from chamberlain.requests.models import RequestState
from tests.estates import ROOM_MAILBOX, Estate, apply
from tests.mailboxes.test_mailbox_dry_run import changed, preview

UNHELD = Capabilities(
    timedelta(0),
    unheld=frozenset({DriftProperty.MAILBOX_AUDIO_DEVICE, DriftProperty.MAILBOX_CAPACITY}),
    limits=Limits(display_name=20, mailbox_name=10, refused_characters="ü"),
)
SENT = {"templateId": str(ROOM_MAILBOX), "name": "Zürich", "displayName": "The room", "audioDeviceName": "Speaker"}


async def test_it_refuses_before_anything_is_written(estate: Estate) -> None:
    estate.restrict(UNHELD)
    before = await estate.counts()

    with pytest.raises(NotPossible) as refused:
        await estate.ask_mailbox(SENT)
    with pytest.raises(NotPossible) as previewed:
        await preview(estate, SENT)

    faults = [(each.pointer, each.code) for each in refused.value.faults]
    assert faults == [("/name", "nameNotPossible"), ("/audioDeviceName", "propertyNotHeld")]
    assert previewed.value.faults == refused.value.faults
    assert await estate.counts() == before


async def test_a_default_of_an_older_template_names_the_template(estate: Estate) -> None:
    await apply(estate.databases, changed("room", {"defaults": {"capacity": 4}}))
    estate.restrict(UNHELD)

    with pytest.raises(NotPossible) as refused:
        await estate.ask_mailbox({"templateId": str(ROOM_MAILBOX), "name": "Hall", "displayName": "Hall"})

    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code, fault.values["property"]) == ("/templateId", "propertyNotHeld", "capacity")


async def test_without_the_property_the_rest_is_provisioned(estate: Estate) -> None:
    estate.restrict(UNHELD)

    accepted = await estate.ask_mailbox({**SENT, "name": "Zug", "audioDeviceName": None, "city": "Zug"})
    await estate.work()

    assert (await estate.record(accepted.record.request_id)).state is RequestState.SUCCEEDED
