-- Jobs for a later time that a process of the previous version wrote.
UPDATE chamberlain.job SET is_scheduled = true
WHERE held_reason IS NULL AND lane IS NULL AND NOT is_scheduled AND run_at > now() AND lease_until IS NULL;
