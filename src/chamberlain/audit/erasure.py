"""Erase a user from the records of tenants, for the command line.

Each erasure is audited.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Final

import msgspec

from chamberlain.audit import records
from chamberlain.audit.rules import digest_of_sequences
from chamberlain.auth.models import Actor
from chamberlain.changes.models import Change, Subject
from chamberlain.changes.records import record_change
from chamberlain.core.errors import NotFound
from chamberlain.core.ids import TenantId, TraceId, UserId
from chamberlain.core.values import Json
from chamberlain.database.transactions import Database, Record, Transaction

# What stands beside the id of somebody, as the API and as rows spell it, and what is there instead.
_NAMES: Mapping[str, str | None] = {"displayName": "", "display_name": "", "mail": None}


@dataclass(frozen=True, slots=True)
class Erasure:
    """What was emptied in one tenant, by how many rows; `bodies_left` are those of requests that have not ended, which
    are needed. `sequences` is the digest of which rows of the audit trail they were."""

    tenant_id: TenantId
    audit_rows: int
    sequences: str
    requests: int
    bodies: int
    bodies_left: int
    mailboxes: int
    events: int
    others: int

    @property
    def rows(self) -> int:
        """How many in all."""
        return self.audit_rows + self.requests + self.bodies + self.mailboxes + self.events + self.others


def erased(erasure: Erasure, user_id: UserId, *, actor: Actor, trace_id: TraceId) -> Change:
    """The record of an erasure. Emptied rows name its trace, and are those of which it has the digest."""
    return Change(
        tenant_id=erasure.tenant_id,
        action="user.erase",
        actor=actor,
        client_id=None,
        subject=Subject("user", user_id, ""),
        before=None,
        after={
            "auditRows": erasure.audit_rows,
            "auditSequences": erasure.sequences,
            "requests": erasure.requests,
            "bodies": erasure.bodies,
            "bodiesLeft": erasure.bodies_left,
            "mailboxes": erasure.mailboxes,
            "events": erasure.events,
            "others": erasure.others,
        },
        request_id=None,
        trace_id=trace_id,
    )


def without_names(value: Json, user_id: UserId) -> Json:
    """A document in which nobody of this id has a name any more."""
    if isinstance(value, list):
        return [without_names(each, user_id) for each in value]
    if not isinstance(value, dict):
        return value
    is_about = str(value.get("id")).lower() == str(user_id)
    return {
        name: _NAMES[name] if is_about and name in _NAMES else without_names(each, user_id)
        for name, each in value.items()
    }


# Nothing is sealed meanwhile: a seal must not bring back what a list searches by (sql/seals.sql).
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('audit of ' || $1::uuid::text, 0))"

# What an id is written with; JSON may have the number of each of these in Unicode in its place.
_OF_IDS: Final = "-0123456789abcdefABCDEF"


def _names_user(document: str) -> str:
    """A condition: a document of JSON has the id $2 in it, in whatever case, be some of it written as escapes. What is
    kept as it was sent may be what PostgreSQL cannot take apart, so it is looked for in the text."""
    text = f"lower({document}::text)"
    plain = text
    for character in _OF_IDS:
        plain = f"replace({plain}, '\\u{ord(character):04x}', '{character.lower()}')"
    return f"(strpos({text}, $2::text) > 0 OR strpos({text}, '\\u00') > 0 AND strpos({plain}, $2::text) > 0)"


# The record of an erasure names whom it was about, and stays. $1 tenant, $2 user, in all of them.
EMPTY_AUDIT = f"""
WITH emptied AS (
    UPDATE chamberlain.audit SET payload = json_build_object('erased', $3::text)
    WHERE tenant_id = $1 AND action <> 'user.erase' AND {_names_user("payload")}
    RETURNING sequence
), unlisted AS (
    UPDATE chamberlain.audit_seal s SET actor_id = NULL, subject_id = NULL FROM emptied
    WHERE s.tenant_id = $1 AND s.sequence = emptied.sequence
)
SELECT sequence FROM emptied
"""  # noqa: S608 - text of ours alone.


def _forget_requesters(table: str) -> str:
    return f"""
    WITH forgotten AS (
        UPDATE chamberlain.{table} SET actor_name = ''
        WHERE tenant_id = $1 AND actor_id = $2::uuid AND actor_name <> ''
        RETURNING request_id
    )
    SELECT count(*) AS number FROM forgotten
    """  # noqa: S608 - text of ours alone.


FORGET_REQUESTERS: Final = _forget_requesters("request")
FORGET_MAILBOX_REQUESTERS: Final = _forget_requesters("mailbox")

_OF_USER: Final = f"(actor_id = $2::uuid OR {_names_user('body')})"
_HAS_ENDED: Final = "state IN ('succeeded', 'rejected', 'cancelled', 'expired')"

EMPTY_BODIES = f"""
WITH emptied AS (
    UPDATE chamberlain.request SET body = '{{}}'
    WHERE tenant_id = $1 AND {_HAS_ENDED} AND body::text <> '{{}}' AND {_OF_USER}
    RETURNING request_id
)
SELECT count(*) AS number FROM emptied
"""  # noqa: S608 - text of ours alone.

COUNT_BODIES_LEFT = f"""
SELECT count(*) AS number FROM chamberlain.request WHERE tenant_id = $1 AND NOT {_HAS_ENDED} AND {_OF_USER}
"""  # noqa: S608 - text of ours alone.

# A finding about a property names those of whom something is wanted.
FORGET_FINDINGS = f"""
WITH forgotten AS (
    UPDATE chamberlain.finding SET wanted = NULL, observed = NULL, detail = ''
    WHERE tenant_id = $1 AND detail <> '' AND (
        strpos(lower(about), $2::text) > 0 OR strpos(lower(detail), $2::text) > 0
        OR wanted IS NOT NULL AND {_names_user("wanted")} OR observed IS NOT NULL AND {_names_user("observed")}
    )
    RETURNING finding_id
)
SELECT count(*) AS number FROM forgotten
"""  # noqa: S608 - text of ours alone.

# Who is in a group still is met again.
FORGET_CLOCKS = """
WITH forgotten AS (
    UPDATE chamberlain.policy_clock SET
        guest_mail = NULL, guest_name = '', trouble = CASE WHEN trouble IS NOT NULL THEN '' END
    WHERE tenant_id = $1 AND guest_id = $2::uuid AND guest_name <> ''
    RETURNING guest_id
)
SELECT count(*) AS number FROM forgotten
"""

# What a receiver has answered to a call that names somebody may name them too, in whatever words.
EMPTY_ANSWERS = f"""
WITH emptied AS (
    UPDATE chamberlain.delivery SET attempts = (
        SELECT jsonb_agg(attempt || '{{"answer": null}}' ORDER BY place)
        FROM jsonb_array_elements(attempts) WITH ORDINALITY AS each (attempt, place)
    )
    WHERE tenant_id = $1 AND jsonb_path_exists(attempts, '$[*].answer ? (@ != null)') AND {_names_user("payload")}
    RETURNING delivery_id
)
SELECT count(*) AS number FROM emptied
"""  # noqa: S608 - text of ours alone.

REMOVE_KEYS = """
WITH removed AS (
    DELETE FROM chamberlain.idempotency_key WHERE tenant_id = $1 AND caller_id = $2::uuid RETURNING key
)
SELECT count(*) AS number FROM removed
"""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where documents with people in them stand: which of them name somebody, what they say, and the way to write
    them."""

    find: str
    read: str
    write: str


def _place(table: str, key: str, column: str, *, key_type: str, type_: str) -> _Place:
    where = f"tenant_id = $1 AND {column} IS NOT NULL AND {_names_user(column)}"
    return _Place(
        # In order, so that nobody who holds several of them is waited for crosswise.
        find=f"SELECT {key} AS key FROM chamberlain.{table} WHERE {where} ORDER BY {key}",  # noqa: S608 - ours alone.
        read=f"SELECT {key} AS key, {column}::text AS document FROM chamberlain.{table} "  # noqa: S608 - as above.
        f"WHERE tenant_id = $1 AND {key} = ANY ($2::{key_type}[]) ORDER BY {key} FOR UPDATE",
        write=f"UPDATE chamberlain.{table} t SET {column} = new.document::{type_} "  # noqa: S608 - as above.
        f"FROM unnest($2::{key_type}[], $3::text[]) AS new (key, document) "
        f"WHERE t.tenant_id = $1 AND t.{key} = new.key",
    )


EVENTS: Final = _place("event", "sequence", "data", key_type="bigint", type_="json")
ACCEPTANCES: Final = _place("finding", "finding_id", "accepted_by", key_type="uuid", type_="json")
PLACES: Final = (
    _place("request", "request_id", "approvals", key_type="uuid", type_="json"),
    _place("request", "request_id", "timeline", key_type="uuid", type_="jsonb"),
    _place("template", "template_id", "created_by", key_type="uuid", type_="json"),
    _place("policy", "policy_id", "created_by", key_type="uuid", type_="json"),
    _place("subject", "subject_id", "assigned_by", key_type="uuid", type_="json"),
    _place("adoption", "adoption_id", "created_by", key_type="uuid", type_="json"),
    _place("adoption", "adoption_id", "undone_by", key_type="uuid", type_="json"),
    _place("delivery", "delivery_id", "payload", key_type="uuid", type_="text"),
    # Those of others: what they were answered stays good for them. The key has four parts, so that it goes by the row.
    _place("idempotency_key", "ctid", "answer", key_type="tid", type_="text"),
)
TOGETHER: Final = 500
PATIENCE: Final = timedelta(minutes=30)

_encode = msgspec.json.Encoder().encode


async def erase(tx: Transaction, tenant_id: TenantId, user_id: UserId, trace_id: TraceId) -> Erasure:
    """Empty what one tenant keeps of a user. Emptied rows of the audit trail name this trace."""
    values = (tenant_id, str(user_id))
    await tx.execute(LOCK, tenant_id)
    emptied = [row["sequence"] for row in await _fetch(tx, EMPTY_AUDIT, *values, trace_id)]
    return Erasure(
        tenant_id=tenant_id,
        audit_rows=len(emptied),
        sequences=digest_of_sequences(emptied),
        requests=await _number(tx, FORGET_REQUESTERS, *values),
        bodies=await _number(tx, EMPTY_BODIES, *values),
        bodies_left=await _number(tx, COUNT_BODIES_LEFT, *values),
        mailboxes=await _number(tx, FORGET_MAILBOX_REQUESTERS, *values),
        events=await _take_names(tx, EVENTS, tenant_id, user_id),
        # Groups, their clocks, their findings: in this order whoever runs policies locks them.
        others=sum([await _take_names(tx, place, tenant_id, user_id) for place in PLACES])
        + await _number(tx, FORGET_CLOCKS, *values)
        + await _take_names(tx, ACCEPTANCES, tenant_id, user_id)
        + await _number(tx, FORGET_FINDINGS, *values)
        + await _number(tx, EMPTY_ANSWERS, *values)
        + await _number(tx, REMOVE_KEYS, *values),
    )


async def _take_names(tx: Transaction, place: _Place, tenant_id: TenantId, user_id: UserId) -> int:
    """Take the names of a user out of all documents of a place; gives the number of those that had any."""
    keys = iter([row["key"] for row in await _fetch(tx, place.find, tenant_id, str(user_id))])
    changed = 0
    while several := list(islice(keys, TOGETHER)):
        rows = await _fetch(tx, place.read, tenant_id, several)
        new = dict(_renamed(rows, user_id))
        await tx.execute(place.write, tenant_id, list(new), list(new.values()))
        changed += len(new)
    return changed


def _renamed(rows: Iterable[Record], user_id: UserId) -> Iterable[tuple[object, str]]:
    for row in rows:
        before = msgspec.json.decode(row["document"])
        after = without_names(before, user_id)
        if after != before:
            yield row["key"], _encode(after).decode()


async def _number(tx: Transaction, statement: str, *values: object) -> int:
    (row,) = await _fetch(tx, statement, *values)
    return int(row["number"])


async def _fetch(tx: Transaction, statement: str, *values: object) -> list[Record]:
    return list(await tx.connection.fetch(statement, *values, timeout=PATIENCE.total_seconds()))


@dataclass(frozen=True, slots=True)
class UserEraser:
    """Erase users. `database` has the worker's role."""

    database: Database

    async def erase(
        self, user_id: UserId, tenant_id: TenantId | None, *, actor: Actor, trace_id: TraceId
    ) -> Sequence[Erasure]:
        """Erase a user in one tenant, or in each.

        Returns the erasures of tenants that had records of the user. Each tenant has its own transaction. Raises
        NotFound and Unavailable.
        """
        async with self.database.across_tenants() as tx:
            tenants = await records.sealed_tenants(tx)
        if tenant_id is not None and tenant_id not in tenants:
            raise NotFound(f"There is no tenant {tenant_id}.")
        done = [
            await self._erase(each, user_id, actor=actor, trace_id=trace_id)
            for each in tenants
            if tenant_id in {None, each}
        ]
        return [each for each in done if each.rows or each.bodies_left]

    async def _erase(self, tenant_id: TenantId, user_id: UserId, *, actor: Actor, trace_id: TraceId) -> Erasure:
        async with self.database.across_tenants() as tx:
            erasure = await erase(tx, tenant_id, user_id, trace_id)
            if erasure.rows:
                await record_change(tx, erased(erasure, user_id, actor=actor, trace_id=trace_id))
        return erasure
