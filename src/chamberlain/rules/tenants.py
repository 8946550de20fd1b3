"""Tenants: the organisations that everything belongs to."""

from dataclasses import dataclass

from chamberlain.rules.ids import GroupId, TenantId, UserId


@dataclass(frozen=True, slots=True)
class Tenant:
    """An organisation, as it was at one revision. The first of `domains` is where addresses are made by default."""

    id: TenantId
    revision: int
    name: str
    domains: tuple[str, ...]
    administrator_users: frozenset[UserId]
    administrator_groups: frozenset[GroupId]
    extension_prefix: str
    suspended: bool

    @property
    def default_domain(self) -> str:
        """Where an address is made when nothing says otherwise."""
        return self.domains[0]
