"""Signing in with address and password: the page that asks, and what becomes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from starlette.responses import Response

from chamberlain.embedded.identity import throttling
from chamberlain.embedded.identity.clients import Account
from chamberlain.embedded.identity.database import transaction
from chamberlain.embedded.identity.errors import NobodySignsIn, TemporarilyUnavailable
from chamberlain.embedded.identity.identity_platform import IdentityPlatform
from chamberlain.embedded.identity.rendering import render
from chamberlain.embedded.identity.session import Browser

_LONGEST_ADDRESS = 320

_BY_ADDRESS = """
SELECT id, address, display_name, password_hash FROM identity.accounts
WHERE tenant_id = $1 AND lower(address) = $2
"""


class Fault(StrEnum):
    """Why nobody is signed in."""

    EMPTY = "empty"
    # It does not say which of the two: that would tell who exists.
    WRONG = "wrong"


_STATUSES = {None: 200, Fault.EMPTY: 400, Fault.WRONG: 403}


@dataclass(frozen=True, slots=True)
class SignInPage:
    """Where the form goes, with what in it, for the sake of which program, and where it may lead in the end."""

    action: str
    program: str
    purpose: str
    address: str = ""
    kept: Mapping[str, str] = field(default_factory=dict)
    leads_to: Sequence[str] = ()

    def show(self, visit: Browser, fault: Fault | None = None, address: str | None = None) -> Response:
        """The page. Raises NobodySignsIn."""
        if not visit.platform.serves_people:
            raise NobodySignsIn
        response = render(
            visit.platform.base_url,
            "sign_in.html",
            status=_STATUSES[fault],
            leads_to=self.leads_to,
            action=self.action,
            program=self.program,
            address=self.address if address is None else address,
            fault=fault,
            kept=self.kept,
            form_token=visit.token(self.purpose),
        )
        visit.keep_form_key(response)
        return response


async def sign_in(visit: Browser, tenant_id: UUID, form: Mapping[str, str]) -> Account | Fault:
    """The person whose address and password these are. Raises NobodySignsIn and TooManyAttempts.

    The form has to be known as one of ours.
    """
    if not visit.platform.serves_people:
        raise NobodySignsIn
    address, password = form.get("address", "").strip(), form.get("password", "")
    if not address or not password or len(address) > _LONGEST_ADDRESS:
        return Fault.EMPTY
    counted = throttling.password_subjects(address, visit.network)
    await throttling.begin_attempt(visit.platform, counted)
    try:
        account = await find_by_password(visit.platform, tenant_id, address, password)
    except TemporarilyUnavailable:
        await throttling.cancel_attempt(visit.platform, counted)
        raise
    if account is None:
        return Fault.WRONG
    await throttling.record_success(visit.platform, counted)
    return account


async def find_by_password(platform: IdentityPlatform, tenant_id: UUID, address: str, password: str) -> Account | None:
    """The person of this tenant with this address and this password. Somebody unknown takes as long as a wrong one.

    Raises TemporarilyUnavailable when too many are being checked. Who asks counts the failures.
    """
    row = None
    # PostgreSQL has no text with a NUL in it.
    if "\x00" not in address:
        async with transaction(platform.pool, tenant_id) as connection:
            # Folded as for the count of failures: the database folds some letters in another way, so that one person
            # would have several addresses, each with attempts of its own.
            row = await connection.fetchrow(_BY_ADDRESS, tenant_id, address.lower())
    is_right = await platform.secrets.is_right(password, None if row is None else row["password_hash"])
    if row is None or not is_right:
        return None
    return Account(id=row["id"], tenant=tenant_id, address=row["address"], display_name=row["display_name"])
