-- SPDX-License-Identifier: Apache-2.0
-- name: add
-- Add counts to those of the day. A permission that a token has, and that allowed no call, adds 0 once. Tenants that
-- were deleted meanwhile are left out.
INSERT INTO chamberlain.permission_use AS u (
    tenant_id, caller_type, caller_id, permission, day, number, last_used_at
)
SELECT a.tenant_id, a.caller_type, a.caller_id, a.permission, a.day, a.number,
    CASE WHEN a.number > 0 THEN $7::timestamptz END
FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::date[], $6::bigint[])
    AS a (tenant_id, caller_type, caller_id, permission, day, number)
JOIN chamberlain.tenant t USING (tenant_id)
ON CONFLICT (tenant_id, caller_type, caller_id, permission, day) DO UPDATE SET
    number = u.number + excluded.number, last_used_at = greatest(u.last_used_at, excluded.last_used_at)
WHERE excluded.number > 0

-- name: read
-- Add up the uses since day $2 of the $3 callers of a tenant that were seen last.
WITH newest AS (
    SELECT caller_type, caller_id FROM chamberlain.permission_use WHERE tenant_id = $1 AND day >= $2
    GROUP BY caller_type, caller_id ORDER BY max(day) DESC, sum(number) DESC, caller_type, caller_id LIMIT $3
)
SELECT u.caller_type, u.caller_id, u.permission, sum(u.number)::bigint AS number, max(u.last_used_at) AS last_used_at
FROM newest JOIN chamberlain.permission_use u ON u.tenant_id = $1 AND u.caller_type = newest.caller_type
    AND u.caller_id = newest.caller_id AND u.day >= $2
GROUP BY u.caller_type, u.caller_id, u.permission

-- name: remove
-- Remove the oldest counts, at most $2.
WITH old AS MATERIALIZED (
    SELECT tenant_id, caller_type, caller_id, permission, day FROM chamberlain.permission_use
    WHERE day < $1::timestamptz::date ORDER BY day LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM chamberlain.permission_use u USING old
    WHERE u.tenant_id = old.tenant_id AND u.caller_type = old.caller_type AND u.caller_id = old.caller_id
    AND u.permission = old.permission AND u.day = old.day
    RETURNING u.day
)
SELECT count(*) AS removed FROM gone
