-- A page of a tenant's groups: all groups by id, or, with the snapshot `since`, the groups changed or removed by
-- transactions that were not committed in the snapshot, in the order of these transactions.
--
-- Comparing transaction ids or times is not sufficient: a transaction with a lower id can commit after one with a higher
-- id was seen. A snapshot knows the committed transactions, so no change is missed or repeated. Changes after `until`,
-- the snapshot of the first page, are in a later scan.
--
-- `shown` is null for a removed group. The page starts after the position (after_change, after_id).

CREATE OR REPLACE FUNCTION directory.group_changes(
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
    SELECT changes[p.item]::text, p.id, o.shown
    FROM unnest(ids) WITH ORDINALITY AS p (id, item)
    LEFT JOIN directory.observe_subjects(
        array_fill(this_tenant, ARRAY[cardinality(ids)]), ids, array_fill(name, ARRAY[cardinality(ids)])
    ) AS o ON o.item = p.item
    ORDER BY p.item;
END
$$;
