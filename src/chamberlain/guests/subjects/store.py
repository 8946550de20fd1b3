# SPDX-License-Identifier: Apache-2.0
"""SQL of lists of groups and sites, ordered by name.

The cost is independent of their number, except for metadata: all groups with the metadata are sorted.

Every other filter is a prefix of an index that continues with the name. A name prefix is a range of the same order.
"""

from typing import Final

from chamberlain.core.paging import NamedPage, NamedPageWanted, NamePosition
from chamberlain.database.transactions import PLANNING, Transaction
from chamberlain.guests.subjects.models import SubjectFilter, SubjectRecord
from chamberlain.guests.subjects.records import COLUMNS, to_name_key, to_record

# $1 tenant, $2 type, $3 and $4 the position (null at the start), $5 name prefix (empty for any), $6 number of rows, $7
# whether assigned (one or both), $8 template, $9 policy. The upper bound is the last character.
_AFTER: Final = "($3::text IS NULL OR (s.name_key, s.subject_id) > ($3, $4::uuid))"
_BEGINS: Final = "s.name_key >= $5::text AND s.name_key < $5 || chr(1114111)"
_BY_NAME: Final = "ORDER BY s.name_key, s.subject_id LIMIT $6"
_ANY: Final = "($7::boolean[] IS NOT NULL AND $8::uuid IS NULL AND $9::uuid IS NULL)"
_OF_TEMPLATE: Final = "($7::boolean[] IS NOT NULL AND s.template_id = $8::uuid AND $9::uuid IS NULL)"
_OF_POLICY: Final = "($7::boolean[] IS NOT NULL AND $8::uuid IS NULL AND s.policy_id = $9::uuid)"
_OF_BOTH: Final = "($7::boolean[] IS NOT NULL AND s.both_ids = $8::uuid::text || $9::uuid::text)"


def _page_of(places: str) -> str:
    """Read the groups or sites at these positions, in order.

    OFFSET 0 fixes the join order.
    """
    return f"""
    SELECT s.* FROM ({places}) place CROSS JOIN LATERAL (
        SELECT {COLUMNS} FROM chamberlain.subject s
        WHERE s.tenant_id = $1 AND s.subject_id = place.subject_id OFFSET 0
    ) s
    ORDER BY place.name_key, place.subject_id
    """  # noqa: S608 - text of ours alone.


def _places(condition: str) -> str:
    return f"""SELECT s.name_key, s.subject_id FROM chamberlain.subject s
    WHERE s.tenant_id = $1 AND s.type = $2 AND {condition} AND {_BEGINS} AND {_AFTER} {_BY_NAME}"""  # noqa: S608


# Merge assigned and unassigned ones by name.
ALL: Final = _page_of(f"""
    SELECT s.name_key, s.subject_id FROM unnest($7::boolean[]) AS wanted (is_assigned)
    CROSS JOIN LATERAL ({_places(f"s.is_assigned = wanted.is_assigned AND {_ANY}")}) s {_BY_NAME}
""")  # noqa: S608 - as above.
OF_TEMPLATE: Final = _page_of(_places(_OF_TEMPLATE))
OF_POLICY: Final = _page_of(_places(_OF_POLICY))
OF_BOTH: Final = _page_of(_places(_OF_BOTH))


def _places_by_metadata(condition: str) -> str:
    """Find groups by metadata: $10 the key, $11 the value.

    All matches are sorted.
    """
    return f"""SELECT s.name_key, s.subject_id FROM chamberlain.group_metadata m
    JOIN chamberlain.subject s ON s.tenant_id = m.tenant_id AND s.subject_id = m.subject_id
    WHERE m.tenant_id = $1 AND m.name = $10::text AND {condition}
    AND s.type = $2 AND s.is_assigned = ANY ($7::boolean[])
    AND ($8::uuid IS NULL OR s.template_id = $8) AND ($9::uuid IS NULL OR s.policy_id = $9)
    AND {_BEGINS} AND {_AFTER} {_BY_NAME}"""  # noqa: S608 - text of ours alone.


OF_KEY: Final = _page_of(_places_by_metadata("$11::text IS NULL"))
OF_VALUE: Final = _page_of(_places_by_metadata("m.value_start = left($11::text, 256) AND m.value = $11"))


async def find_page(tx: Transaction, wanted: SubjectFilter, page: NamedPageWanted) -> NamedPage[SubjectRecord]:
    """Paginate groups or sites that match a filter, by name."""
    if wanted.is_assigned is False and (wanted.template_id or wanted.policy_id):
        # Unassigned subjects have neither.
        return NamedPage((), None)
    await tx.execute(PLANNING)
    statement, values = page_statement(tx, wanted, page)
    rows = await tx.fetch(statement, *values)
    records = [to_record(row) for row in rows[: page.limit]]
    if len(rows) <= page.limit:
        return NamedPage(records, None)
    last = records[-1].entry
    return NamedPage(records, NamePosition(to_name_key(last.display_name), last.id))


def page_statement(tx: Transaction, wanted: SubjectFilter, page: NamedPageWanted) -> tuple[str, tuple[object, ...]]:
    """Return the statement of a page, with its values.

    It reads one more row.
    """
    place = (None, None) if page.after is None else (page.after.name, page.after.id)
    prefix = "" if wanted.prefix is None else to_name_key(wanted.prefix)
    assigned = [True, False] if wanted.is_assigned is None else [wanted.is_assigned]
    values = (tx.tenant_id, wanted.type, *place, prefix, page.limit + 1, assigned, wanted.template_id, wanted.policy_id)
    if (metadata := wanted.metadata) is not None:
        return OF_KEY if metadata.value is None else OF_VALUE, (*values, metadata.key, metadata.value)
    match wanted:
        case SubjectFilter(template_id=None, policy_id=None):
            statement = ALL
        case SubjectFilter(policy_id=None):
            statement = OF_TEMPLATE
        case SubjectFilter(template_id=None):
            statement = OF_POLICY
        case _:
            statement = OF_BOTH
    return statement, values
