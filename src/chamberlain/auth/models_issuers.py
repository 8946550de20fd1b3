"""Who may issue tokens for a tenant, as the operator registered it."""

from collections.abc import Mapping
from dataclasses import dataclass

from chamberlain.core.ids import TenantId


@dataclass(frozen=True, slots=True)
class Issuer:
    """A registered pair of `iss` and `tid`; `tid` is None for an issuer that serves one tenant and leaves it out.

    `audiences` turns an identifier, which some platforms put into `aud`, into the address of the audience that it
    stands for.
    """

    tenant_id: TenantId
    issuer: str
    tid: str | None
    audiences: Mapping[str, str]
