"""What a role of the database may do, and what it should not be able to."""

from collections.abc import Iterator
from dataclasses import dataclass

from chamberlain.core.checkups import Checkup, doubtful, faulty, well

APPLICATION, WORKER = "chamberlain_application", "chamberlain_worker"


@dataclass(frozen=True, slots=True)
class RoleRights:
    """A role as it is signed in. `acts_as` are those of our two roles whose rights it has."""

    name: str
    acts_as: frozenset[str]
    is_superuser: bool
    passes_row_security: bool
    owns_tables: bool
    changes_audit: bool


def judge_role(role: str, rights: RoleRights) -> list[Checkup]:
    """Whoever signs in for one of our two roles, by what the service counts on."""
    found = list(_application(rights) if role == APPLICATION else _worker(rights))
    return found or [well("roles", f"{rights.name} has the rights of {role} and no others.")]


def judge_row_security(open_tables: list[str]) -> Checkup:
    """Tables that hold what belongs to tenants, and have no row-level security."""
    if not open_tables:
        return well("row-level security", "It is on for every table that holds what belongs to a tenant.")
    seen = f"It is off for {', '.join(open_tables)}."
    return faulty("row-level security", seen, "ALTER TABLE ... ENABLE ROW LEVEL SECURITY, as the owner of the tables.")


def _application(rights: RoleRights) -> Iterator[Checkup]:
    name = rights.name
    if APPLICATION not in rights.acts_as:
        yield faulty("roles", f"{name} lacks the rights of {APPLICATION}.", f"GRANT {APPLICATION} TO {name}.")
    if rights.is_superuser or rights.passes_row_security or rights.owns_tables:
        yield faulty(
            "roles",
            f"{name}, which answers calls, passes row-level security: superuser, BYPASSRLS, or owner.",
            f"Name a role in CHAMBERLAIN_DATABASE_URL that has the rights of {APPLICATION} and nothing else.",
        )
    elif WORKER in rights.acts_as:
        yield faulty(
            "roles",
            f"{name}, which answers calls, has the rights of {WORKER} as well, and so sees every tenant.",
            f"REVOKE {WORKER} FROM {name}, or name another role in CHAMBERLAIN_DATABASE_URL.",
        )
    elif rights.changes_audit:
        yield faulty(
            "roles",
            f"{name}, which answers calls, may change or remove rows of the audit trail.",
            f"REVOKE UPDATE, DELETE ON chamberlain.audit FROM {name}, as the owner of the tables.",
        )


def _worker(rights: RoleRights) -> Iterator[Checkup]:
    name = rights.name
    if WORKER not in rights.acts_as:
        yield faulty("roles", f"{name} lacks the rights of {WORKER}.", f"GRANT {WORKER} TO {name}.")
    if rights.is_superuser or rights.owns_tables:
        yield doubtful(
            "roles",
            f"{name}, which workers sign in as, is a superuser or owns the tables.",
            f"Name a role in CHAMBERLAIN_DATABASE_WORKER_URL that has the rights of {WORKER} and nothing else.",
        )
