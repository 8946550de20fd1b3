-- SPDX-License-Identifier: Apache-2.0
-- A page of a tenant's groups: all groups by id, or, with the snapshot `since`, the groups changed or removed by
-- transactions that were not committed in the snapshot, in the order of these transactions.
--
-- Comparing transaction ids or times is not sufficient: a transaction with a lower id can commit after one with a higher
-- id was seen. A snapshot knows the committed transactions, so no change is missed or repeated. Changes after `until`,
-- the snapshot of the first page, are in a later scan.
--
-- `shown` is the summary of a group as JSON, without guests and settings, and null for a removed group. The page starts
-- after the position (after_change, after_id).

CREATE OR REPLACE FUNCTION directory.changed_groups(
    this_tenant uuid, name text, since pg_snapshot, until pg_snapshot, after_change xid8, after_id uuid, most integer
) RETURNS TABLE (change text, id uuid, shown text)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    -- Transactions that were not committed in the snapshot start here or later.
    earliest xid8 := greatest(pg_snapshot_xmin(since), after_change);
    latest pg_snapshot := coalesce(until, pg_current_snapshot());
    changes xid8[];
    ids uuid[];
BEGIN
    IF since IS NULL THEN
        ids := ARRAY(
            SELECT g.id FROM directory.groups g
            WHERE g.tenant_id = this_tenant AND (after_id IS NULL OR g.id > after_id) ORDER BY g.id LIMIT most);
    ELSE
        SELECT coalesce(array_agg(c.changed_in ORDER BY c.changed_in, c.id), '{}'),
            coalesce(array_agg(c.id ORDER BY c.changed_in, c.id), '{}')
        INTO changes, ids
        FROM (
            (SELECT g.changed_in, g.id FROM directory.groups g
             WHERE g.tenant_id = this_tenant AND g.changed_in >= earliest
                AND (after_change IS NULL OR (g.changed_in, g.id) > (after_change, after_id))
                AND NOT pg_visible_in_snapshot(g.changed_in, since) AND pg_visible_in_snapshot(g.changed_in, latest)
             ORDER BY g.changed_in, g.id LIMIT most)
            UNION ALL
            (SELECT r.changed_in, r.id FROM directory.removed_groups r
             WHERE r.tenant_id = this_tenant AND r.changed_in >= earliest
                AND (after_change IS NULL OR (r.changed_in, r.id) > (after_change, after_id))
                AND NOT pg_visible_in_snapshot(r.changed_in, since) AND pg_visible_in_snapshot(r.changed_in, latest)
                AND NOT EXISTS (SELECT FROM directory.groups g WHERE g.tenant_id = this_tenant AND g.id = r.id)
             ORDER BY r.changed_in, r.id LIMIT most)
            ORDER BY changed_in, id LIMIT most
        ) AS c;
    END IF;
    RETURN QUERY
    SELECT changes[p.item]::text, p.id, CASE WHEN g.id IS NOT NULL THEN json_build_object(
        'tenantId', g.tenant_id, 'id', g.id, 'displayName', g.display_name, 'mail', g.mail,
        'visibility', g.visibility, 'isDynamic', g.membership_rule IS NOT NULL,
        'isTeam', EXISTS (SELECT FROM directory.teams t WHERE t.tenant_id = g.tenant_id AND t.group_id = g.id),
        'isSite', EXISTS (
            SELECT FROM directory.sites s WHERE s.tenant_id = g.tenant_id AND s.security_group_id = g.id),
        'values', coalesce(g.extensions -> name, '{}')
    )::text END
    FROM unnest(ids) WITH ORDINALITY AS p (id, item)
    LEFT JOIN directory.groups g ON g.tenant_id = this_tenant AND g.id = p.id
    ORDER BY p.item;
END
$$;
