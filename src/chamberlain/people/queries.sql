-- SPDX-License-Identifier: Apache-2.0
-- name: count
-- Count a search of a user. A minute starts with the first search after the last one. $4 the length of a minute, $5 the
-- number that is not exceeded by more than one. A clock that was set back starts a minute as well.
INSERT INTO chamberlain.people_search AS s (tenant_id, user_id, started_at, number) VALUES ($1, $2, $3, 1)
ON CONFLICT (tenant_id, user_id) DO UPDATE SET
    (started_at, number) = (
        SELECT CASE WHEN is_over THEN excluded.started_at ELSE s.started_at END,
            CASE WHEN is_over THEN 1 ELSE least(s.number, $5::integer) + 1 END
        FROM (SELECT abs(extract(epoch FROM excluded.started_at - s.started_at)) >= extract(epoch FROM $4::interval))
            AS minute (is_over)
    )
RETURNING number, started_at

-- name: remove
-- Remove the searches of minutes that are over, at most $2.
WITH old AS MATERIALIZED (
    SELECT tenant_id, user_id FROM chamberlain.people_search WHERE started_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM chamberlain.people_search s USING old WHERE s.tenant_id = old.tenant_id AND s.user_id = old.user_id
    RETURNING s.user_id
)
SELECT count(*) AS removed FROM gone
