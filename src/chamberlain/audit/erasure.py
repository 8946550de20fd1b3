# SPDX-License-Identifier: Apache-2.0
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
from chamberlain.queries import load_queries

SQL = load_queries(__name__)

# Properties beside the id of a user in the API and in rows, and their values after the erasure.
_NAMES: Mapping[str, str | None] = {"displayName": "", "display_name": "", "mail": None}


@dataclass(frozen=True, slots=True)
class Erasure:
    """Erased rows of one tenant, by table.

    `bodies_left` counts bodies of open requests, which are still needed. `sequences` is the digest of the erased rows
    of the audit trail.
    """

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
        """Return the number of erased rows."""
        return self.audit_rows + self.requests + self.bodies + self.mailboxes + self.events + self.others


def erased(erasure: Erasure, user_id: UserId, *, actor: Actor, trace_id: TraceId) -> Change:
    """Return the audit record of an erasure.

    Emptied rows name its trace, and match its digest.
    """
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
    """Remove the names of a user from a document."""
    if isinstance(value, list):
        return [without_names(each, user_id) for each in value]
    if not isinstance(value, dict):
        return value
    is_about = str(value.get("id")).lower() == str(user_id)
    return {
        name: _NAMES[name] if is_about and name in _NAMES else without_names(each, user_id)
        for name, each in value.items()
    }


# Characters of an id. JSON may contain each as an escape.
_OF_IDS: Final = "-0123456789abcdefABCDEF"


def _names_user(document: str) -> str:
    """Return a condition: the JSON document contains the id $2.

    The letter case does not matter, and parts may be written as escapes. Stored documents may be invalid for
    PostgreSQL, so the text is searched.
    """
    text = f"lower({document}::text)"
    plain = text
    for character in _OF_IDS:
        plain = f"replace({plain}, '\\u{ord(character):04x}', '{character.lower()}')"
    return f"(strpos({text}, $2::text) > 0 OR strpos({text}, '\\u00') > 0 AND strpos({plain}, $2::text) > 0)"


# The record of an erasure names its user, and stays. $1 tenant, $2 user, in all of them.
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

# A finding about a property names its users. An ignored one stays ignored until the next check.
FORGET_FINDINGS = f"""
WITH forgotten AS (
    UPDATE chamberlain.finding SET wanted = NULL, observed = NULL, detail = '',
        ignored_observed = CASE WHEN ignored_observed IS NOT NULL THEN 'null' END
    WHERE tenant_id = $1 AND detail <> '' AND (
        strpos(lower(about), $2::text) > 0 OR strpos(lower(detail), $2::text) > 0
        OR wanted IS NOT NULL AND {_names_user("wanted")} OR observed IS NOT NULL AND {_names_user("observed")}
    )
    RETURNING finding_id
)
SELECT count(*) AS number FROM forgotten
"""  # noqa: S608 - text of ours alone.


# A custom field of type user has the id of a user.
FORGET_METADATA: Final = """
WITH forgotten AS (
    UPDATE chamberlain.group_metadata SET value = ''
    WHERE tenant_id = $1 AND strpos(lower(value), $2::text) > 0
    RETURNING name
)
SELECT count(*) AS number FROM forgotten
"""


# The answer of a receiver to a call about a user may name the user, too.
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


@dataclass(frozen=True, slots=True)
class _Place:
    """Statements that find, read and write documents with users in one column."""

    find: str
    read: str
    write: str


def _place(table: str, key: str, column: str, *, key_type: str, type_: str) -> _Place:
    where = f"tenant_id = $1 AND {column} IS NOT NULL AND {_names_user(column)}"
    return _Place(
        # In a fixed order, to avoid deadlocks.
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
    _place("release", "release_id", "created_by", key_type="uuid", type_="json"),
    _place("delivery", "delivery_id", "payload", key_type="uuid", type_="text"),
    # The stored answers of other callers stay valid. The key has four parts, so rows are found by ctid.
    _place("idempotency_key", "ctid", "answer", key_type="tid", type_="text"),
)
TOGETHER: Final = 500
PATIENCE: Final = timedelta(minutes=30)

_encode = msgspec.json.Encoder().encode


async def erase(tx: Transaction, tenant_id: TenantId, user_id: UserId, trace_id: TraceId) -> Erasure:
    """Erase a user from the records of one tenant.

    Emptied rows of the audit trail name this trace.
    """
    values = (tenant_id, str(user_id))
    await tx.execute(SQL["lock"], tenant_id)
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
        # Groups, their timers, their findings: policies lock them in this order.
        others=sum([await _take_names(tx, place, tenant_id, user_id) for place in PLACES])
        + await _number(tx, SQL["forget_clocks"], *values)
        + await _take_names(tx, ACCEPTANCES, tenant_id, user_id)
        + await _number(tx, FORGET_FINDINGS, *values)
        + await _number(tx, FORGET_METADATA, *values)
        + await _number(tx, EMPTY_ANSWERS, *values)
        + await _number(tx, SQL["remove_keys"], *values)
        + await _number(tx, SQL["remove_uses"], *values)
        + await _number(tx, SQL["remove_substitutes"], *values)
        + await _number(tx, SQL["remove_questions"], *values),
    )


async def _take_names(tx: Transaction, place: _Place, tenant_id: TenantId, user_id: UserId) -> int:
    """Remove the names of a user from all documents of a column.

    Returns the number of changed documents.
    """
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
