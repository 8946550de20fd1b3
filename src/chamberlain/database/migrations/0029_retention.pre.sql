-- What has had its time is found along an index, and what is written time and again finds room on its page.

-- Findings that have ended, by when; repairs, by when what they were about differed last; adoptions that were undone.
CREATE INDEX finding_ended ON chamberlain.finding (last_seen_at) WHERE state IN ('gone', 'repaired');
CREATE INDEX drift_repair_age ON chamberlain.drift_repair (found_at);
CREATE INDEX adoption_undone ON chamberlain.adoption (finished_at) WHERE state = 'undone';

-- A row for each tenant, written every five seconds while something happens there: with room for the new version in its page no index is
-- touched. Rows that are there move by and by.
ALTER TABLE chamberlain.audit_head SET (fillfactor = 40);

-- These lose their oldest rows day by day. Vacuumed when a twentieth is dead, not a fifth, they stay nearly as small as what they hold, and
-- whoever begins at the old end passes by few dead ones.
ALTER TABLE chamberlain.idempotency_key SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE chamberlain.event SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE chamberlain.request SET (autovacuum_vacuum_scale_factor = 0.05);

-- Of tables that only grow nothing is ever dead, and so it is new rows that bring the vacuum; without it all of them would be read and written
-- once more at the same time, when their transactions become too old. A smaller share means more often, and each time less.
ALTER TABLE chamberlain.audit SET (autovacuum_vacuum_insert_scale_factor = 0.05);
ALTER TABLE chamberlain.audit_seal SET (autovacuum_vacuum_insert_scale_factor = 0.05);
