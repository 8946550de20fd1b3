-- SPDX-License-Identifier: Apache-2.0
-- The tenants with changes that were not committed in their snapshots: of groups, by `since`, or of mailboxes, by
-- `mailboxes_since`. Each tenant costs at most three index probes.
CREATE OR REPLACE FUNCTION directory.changed_tenants(tenants uuid[], since pg_snapshot[], mailboxes_since pg_snapshot[])
RETURNS SETOF uuid
LANGUAGE sql STABLE
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_bitmapscan = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
    SELECT i.tenant_id FROM unnest(tenants, since, mailboxes_since) AS i (tenant_id, since, mailboxes_since)
    WHERE EXISTS (
        SELECT FROM directory.groups g
        WHERE g.tenant_id = i.tenant_id AND g.changed_in >= pg_snapshot_xmin(i.since)
            AND NOT pg_visible_in_snapshot(g.changed_in, i.since)
    ) OR EXISTS (
        SELECT FROM directory.removed_groups r
        WHERE r.tenant_id = i.tenant_id AND r.changed_in >= pg_snapshot_xmin(i.since)
            AND NOT pg_visible_in_snapshot(r.changed_in, i.since)
    ) OR EXISTS (
        SELECT FROM directory.changed_mailboxes m
        WHERE m.tenant_id = i.tenant_id AND m.changed_in >= pg_snapshot_xmin(i.mailboxes_since)
            AND NOT pg_visible_in_snapshot(m.changed_in, i.mailboxes_since)
    )
$$;
