# SPDX-License-Identifier: Apache-2.0
"""Sign-in with address and password."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from starlette.responses import Response

from chamberlain.embedded.identity import throttling
from chamberlain.embedded.identity.clients import Account, account_from_row
from chamberlain.embedded.identity.database import transaction
from chamberlain.embedded.identity.errors import TemporarilyUnavailable
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.session import Browser
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

_LONGEST_ADDRESS = 320


class Fault(StrEnum):
    """Reason for a failed sign-in."""

    EMPTY = "empty"
    # Address or password; not saying which keeps the existence of an account secret.
    WRONG = "wrong"


_STATUSES = {None: 200, Fault.EMPTY: 400, Fault.WRONG: 403}


@dataclass(frozen=True, slots=True)
class SignInPage:
    """Form for address and password.

    `leads_to` are the redirects that may follow it.
    """

    action: str
    tenant_id: UUID
    client_name: str
    purpose: str
    address: str = ""
    hidden_fields: Mapping[str, str] = field(default_factory=dict)
    leads_to: Sequence[str] = ()

    async def show(self, browser: Browser, fault: Fault | None = None, address: str | None = None) -> Response:
        """Render the page. Raises UsersNotServed."""
        browser.require_users()
        return browser.render_form(
            "sign_in.html",
            self.purpose,
            status=_STATUSES[fault],
            leads_to=self.leads_to,
            action=self.action,
            client_name=self.client_name,
            organisation=await browser.organisation(self.tenant_id),
            address=self.address if address is None else address,
            fault=fault,
            hidden_fields=self.hidden_fields,
        )


async def sign_in(browser: Browser, tenant_id: UUID, form: Mapping[str, str]) -> Account | Fault:
    """Verify address and password of a form with a valid token.

    Raises UsersNotServed and TooManyAttempts.
    """
    browser.require_users()
    address, password = form.get("address", "").strip(), form.get("password", "")
    if not address or not password or len(address) > _LONGEST_ADDRESS:
        return Fault.EMPTY
    subjects = throttling.password_subjects(address, browser.network)
    await throttling.begin_attempt(browser.platform, subjects)
    try:
        account = await find_by_password(browser.platform, tenant_id, address, password)
    except TemporarilyUnavailable:
        await throttling.cancel_attempt(browser.platform, subjects)
        raise
    if account is None:
        return Fault.WRONG
    await throttling.record_success(browser.platform, subjects)
    return account


async def find_by_password(platform: IdentityPlatform, tenant_id: UUID, address: str, password: str) -> Account | None:
    """Return the account with this address and password.

    An unknown address takes as long as a wrong password. The caller must throttle. Raises TemporarilyUnavailable when
    too many passwords are being verified.
    """
    row = None
    # PostgreSQL text cannot contain NUL.
    if "\x00" not in address:
        async with transaction(platform.pool, tenant_id) as connection:
            # Lower case as for throttling. The database folds some letters differently, which would give one account
            # several addresses with separate counters.
            row = await connection.fetchrow(SQL["by_address"], tenant_id, address.lower())
    is_right = await platform.passwords.is_right(password, None if row is None else row["password_hash"])
    return account_from_row(tenant_id, row) if row is not None and is_right else None
