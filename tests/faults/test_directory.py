# SPDX-License-Identifier: Apache-2.0
"""A directory that is slow, fails or answers nonsense: every request is accepted, and makes one group in the end.

A trigger on its groups does to the embedded directory what networks and other people's bugs do to the large ones.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from tests.faults.load import Load
from tests.postgres import connected
from tests.services import ADA_MAIL, API, GROUP_TEMPLATE, TLS, Service, restarted_service, wait_until

CONFIG = f"{API}/admin/Config.ReadWrite.All"
SPOIL = """
CREATE FUNCTION directory.spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {what}; RETURN NEW; END $$;
CREATE TRIGGER spoil BEFORE INSERT ON directory.groups FOR EACH ROW EXECUTE FUNCTION directory.spoil();
"""
MEND = "DROP FUNCTION directory.spoil() CASCADE"
MANY = 60
# Whatever spoils a batch is looked for one by one.
SOME = 10


@pytest.mark.heavy
@pytest.mark.parametrize(
    "what",
    [
        pytest.param("PERFORM pg_sleep(0.2)", id="slow"),
        pytest.param("RAISE EXCEPTION 'Not now.' USING ERRCODE = 'cannot_connect_now'", id="failing"),
    ],
)
def test_it_works_in_the_end(what: str) -> None:
    with restarted_service() as service:
        load = Load([service])
        with spoilt(service, what):
            load.run(MANY)
            one = load.accepted[0]
            wait_until(lambda: service.request(one)["state"] in {"running", "waiting", "succeeded"}, within=20)
            assert service.answers("/health/ready") == 200

        assert (len(load.accepted), load.refused, load.unanswered) == (MANY, [], 0)
        wait_until(lambda: service.provisioned() == Counter(load.accepted), within=60, otherwise=service.said)
        for each in load.accepted:
            service.wait_for_end(each, within=30)


def test_what_nobody_foresaw_is_held_and_goes_on_when_it_is_released() -> None:
    with restarted_service() as service:
        load = Load([service])
        with spoilt(service, "RAISE EXCEPTION 'Nobody has thought of this.'"):
            load.run(SOME)
            wait_until(lambda: len(held(service)) == SOME, within=90, otherwise=service.said)
        assert (len(load.accepted), load.refused, load.unanswered) == (SOME, [], 0)
        assert service.provisioned() == Counter()
        # Later requests are not affected.
        load.run(SOME)

        for job in held(service):
            answer = httpx2.post(
                f"{service.url}/admin/v1/jobs/{job}/release/", headers=service.headers(ADA_MAIL, CONFIG), verify=TLS
            )
            assert answer.status_code == 200
        wait_until(lambda: service.provisioned() == Counter(load.accepted), within=90, otherwise=service.said)


@pytest.mark.heavy
def test_what_it_says_and_does_not_show_is_not_believed() -> None:
    with restarted_service() as service:
        with spoilt(service, "IF true THEN RETURN NULL; END IF"):
            request_id = service.post_group({"displayName": "Ghost", "templateId": GROUP_TEMPLATE}).json()["requestId"]
            wait_until(lambda: service.request(request_id)["state"] == "waiting", within=60, otherwise=service.said)

        request = service.wait_for_end(request_id, within=60)
        assert isinstance(request["result"], dict)
        assert len(service.find_group(request_id)) == 1


def held(service: Service) -> list[str]:
    """The ids of the jobs that wait for a person."""
    answer = service.get("/admin/v1/jobs/?limit=200", ADA_MAIL, CONFIG)
    assert answer.status_code == 200, answer.text
    return [str(job["id"]) for job in answer.json()["items"]]


@contextmanager
def spoilt(service: Service, what: str) -> Iterator[None]:
    """Have this done at each new group for as long as the block runs."""
    execute(service, SPOIL.format(what=what))
    try:
        yield
    finally:
        execute(service, MEND)


def execute(service: Service, statements: str) -> None:
    """Run them as the owner of the tables."""

    async def run() -> None:
        async with connected(service.embedded_addresses.owner) as connection:
            await connection.execute(statements)

    asyncio.run(run())
