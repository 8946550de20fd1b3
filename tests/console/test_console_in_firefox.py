# SPDX-License-Identifier: Apache-2.0
"""A user of Firefox ESR signs in over plain http at loopback, and signs out."""

from urllib.parse import urlsplit

import pytest

from tests.console.conftest import ConsoleFixture
from tests.firefox import run_firefox
from tests.services import ADA_MAIL

pytestmark = [pytest.mark.heavy, pytest.mark.needs("firefox")]


def test_it_works(console: ConsoleFixture) -> None:
    with run_firefox() as firefox:
        firefox.open(console.url)
        firefox.type("input[name=address]", ADA_MAIL)
        firefox.click("form[action='/console/sign-in'] button")
        firefox.type("input[type=password]", console.passwords[ADA_MAIL])
        firefox.click("form button")

        firefox.find("main[data-page=catalog]")
        assert firefox.url == console.url
        names = {str(each["name"]) for each in firefox.cookies()}
        # This version keeps secure cookies at loopback, so it gets no others.
        assert {name.startswith("__Host-console-") for name in names} == {True}
        assert all(each["httpOnly"] for each in firefox.cookies())

        firefox.click("details.menu summary")
        firefox.click("form[action='/console/sign-out'] button")
        firefox.find("main[data-page=sign_in]")
        assert urlsplit(firefox.url).path == "/console/sign-in"
        firefox.open(console.url)
        firefox.find("main[data-page=sign_in]")
