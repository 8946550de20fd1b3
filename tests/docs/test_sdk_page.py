# SPDX-License-Identifier: Apache-2.0
"""The page about the SDK does what it says, word for word."""

import base64
import re
from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook

from chamberlain_client import errors
from tests.docs.pages import ROOT, rows, section
from tests.services import ADA_MAIL, API, COLLAB, GRAPH, Service

PAGE = ROOT / "docs" / "how-to" / "sdk.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def tokens(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment variables that the first commands of the page set."""
    monkeypatch.setenv("TOKEN", service.token(ADA_MAIL, COLLAB))
    monkeypatch.setenv("GRAPH_TOKEN", service.token(ADA_MAIL, f"{GRAPH}/Group.Read.All"))
    monkeypatch.setenv("ADMIN_TOKEN", service.token(ADA_MAIL, f"{API}/admin/Config.ReadWrite.All"))


def run(service: Service, number: int) -> dict[str, object]:
    """Run one of the programs; gives the names that it has made."""
    names: dict[str, object] = {"__name__": "__main__"}
    text = PROGRAMS[number].replace("127.0.0.1:8365", f"127.0.0.1:{service.port}")
    exec(compile(text, str(PAGE), "exec"), names)  # noqa: S102  The page's own text is what is tested.
    return names


def test_it_works(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    run(service, 0)

    previewed, ended, found = capsys.readouterr().out.splitlines()
    assert previewed.startswith("vineyard ['Create the group'")
    assert ended.startswith("succeeded Result(")
    assert found.endswith(" vineyard@estate.example")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        pytest.param(1, "the request is succeeded\n", id="with await"),
        pytest.param(2, "Cellar\n", id="lists"),
        pytest.param(3, "name='No guests') None\nNone\n", id="absent, null and set"),
        pytest.param(4, "60 days\n", id="changed and put back"),
        pytest.param(5, "/owners/0 userUnknown", id="what goes wrong"),
        pytest.param(6, "group.created Vineyard\n", id="events"),
    ],
)
def test_each_program_works(service: Service, capsys: pytest.CaptureFixture[str], number: int, said: str) -> None:
    # In the order of the page: lists and events show what the first ones have made.
    run(service, number)

    assert said in capsys.readouterr().out


def test_its_receiver_works(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    receive = run(service, 7)["receive"]
    secret = "whsec_" + base64.b64encode(b"x" * 32).decode()
    body = (
        '{"type": "group.dreamt", "timestamp": "2026-11-20T09:30:01Z", "requestId": null, "tenantId": "%s", "data": {}}'
    )
    body %= "e57a7e00-0000-4000-8000-000000000001"
    now = datetime.now(UTC)
    signed = {"webhook-id": "e1", "webhook-timestamp": str(int(now.timestamp()))}
    signed["webhook-signature"] = Webhook(secret).sign("e1", now, body)

    assert callable(receive)
    assert [receive(body.encode(), signed, secret), receive(b"{}", signed, secret)] == [204, 400]
    assert capsys.readouterr().out == "group.dreamt None\n"


def test_it_names_classes_that_there_are() -> None:
    table = rows(section(PAGE, "## Errors"))
    named = {name for row in table for name in re.findall(r"`([A-Z]\w+)`", f"{row[0]} {row[1]}")}

    assert {name for name in named if not hasattr(errors, name)} == set()
    assert len(PROGRAMS) == 8
