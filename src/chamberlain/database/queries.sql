-- SPDX-License-Identifier: Apache-2.0
-- name: now
-- Read the database's clock.
SELECT clock_timestamp()

-- name: read
-- Read the clock in this transaction; None before the first reading.
SELECT now() AS now, c.seen_at, c.trusted_at,
    EXISTS (SELECT FROM chamberlain.clock_fault f WHERE f.resumed_at IS NULL) AS has_open_fault
FROM chamberlain.clock c

-- name: first
-- Insert the first reading of the clock. Before the first reading, the newest event, audit row or sweep is the last
-- sign of work. A fresh installation has none of these. The sweep waits for an hour after each run.
INSERT INTO chamberlain.clock (seen_at, trusted_at)
SELECT now(), coalesce(least(now(), greatest(
    (SELECT max(a.at) FROM chamberlain.tenant t CROSS JOIN LATERAL (
        SELECT a.at FROM chamberlain.audit a WHERE a.tenant_id = t.tenant_id ORDER BY a.sequence DESC LIMIT 1
    ) a),
    (SELECT max(e.at) FROM chamberlain.tenant t CROSS JOIN LATERAL (
        SELECT e.at FROM chamberlain.event e WHERE e.tenant_id = t.tenant_id ORDER BY e.sequence DESC LIMIT 1
    ) e),
    (SELECT max(j.run_at) - $1::interval FROM chamberlain.job j WHERE j.kind = 'retentionSweep')
)), now())
ON CONFLICT DO NOTHING

-- name: hold
-- Read the clock and store the reading if it is new.
SELECT FROM chamberlain.clock FOR UPDATE

-- name: confirm
-- Trust the clock as it is.
UPDATE chamberlain.clock SET confirmed_at = now(), confirmed_by = $1

-- name: store
-- Store the last time seen and the last trusted time.
UPDATE chamberlain.clock SET seen_at = $1, trusted_at = $2

-- name: begin_fault
-- Record the beginning of a clock fault.
INSERT INTO chamberlain.clock_fault (from_at) VALUES ($1)

-- name: extend_fault
-- Move the beginning of the open clock fault back.
UPDATE chamberlain.clock_fault SET from_at = least(from_at, $1) WHERE resumed_at IS NULL

-- name: end_fault
-- End the open clock fault.
UPDATE chamberlain.clock_fault SET until_at = $1, resumed_at = $2 WHERE resumed_at IS NULL

-- name: bring_jobs_back
-- Move jobs back that a fast clock has dated too late. A clock that was ahead by $1 queued, postponed and leased jobs.
-- A worker that still runs one renews its lease every three seconds. A job that is due early checks its time itself.
UPDATE chamberlain.job SET
    run_at = least(run_at, greatest(now(), run_at - $1::interval)), queued_at = least(queued_at, now()),
    lease_until = CASE
        WHEN lease_until > now() + interval '1 minute' THEN now() + interval '10 seconds' ELSE lease_until
    END
WHERE run_at > now() OR queued_at > now() OR lease_until > now() + interval '1 minute'

-- name: decision_time
-- Read the time for comparisons with deadlines, in this transaction.
SELECT coalesce(
    (SELECT CASE WHEN now() > c.trusted_at + $1::interval THEN c.trusted_at END FROM chamberlain.clock c), now()
) AS moment

-- name: report
-- Store that the clock of a process is wrong.
INSERT INTO chamberlain.clock_report (process_id, host, is_worker, difference) VALUES ($1, $2, $3, $4)
ON CONFLICT (process_id) DO UPDATE SET difference = excluded.difference, reported_at = excluded.reported_at

-- name: withdraw_report
-- Remove the report of a process, and those that are too old.
DELETE FROM chamberlain.clock_report WHERE process_id = $1 OR reported_at < now() - $2::interval

-- name: reports
-- Read which processes have a wrong clock at present.
SELECT host, is_worker, difference FROM chamberlain.clock_report
WHERE reported_at >= now() - $1::interval ORDER BY host, is_worker

-- name: planning
-- Walk an index in its order and stop when the page is full, whatever the statistics say.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_sort', 'off', true),
    set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true)
