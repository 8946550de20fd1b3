-- Deliveries are kept in weeks, each a table of its own, so that those that have had their time go without being looked at one by one
-- (docs/decisions/0024). A delivery's id begins with the time when it was made: whoever has the id finds the week by it.
--
-- Nothing is copied: the table there is goes on as the part for all that no week takes, and is empty when what it has has had its time. It is
-- read twice, which takes a second for a million deliveries; until then those who write deliveries or look at them wait.
ALTER TABLE chamberlain.delivery RENAME TO delivery_elsewhere;
ALTER INDEX chamberlain.delivery_pkey RENAME TO delivery_elsewhere_pkey;
ALTER INDEX chamberlain.delivery_newest RENAME TO delivery_elsewhere_newest;
ALTER INDEX chamberlain.delivery_of_template RENAME TO delivery_elsewhere_of_template;
ALTER INDEX chamberlain.delivery_of_request RENAME TO delivery_elsewhere_of_request;
ALTER INDEX chamberlain.delivery_open RENAME TO delivery_elsewhere_open;

CREATE TABLE chamberlain.delivery (LIKE chamberlain.delivery_elsewhere INCLUDING DEFAULTS, PRIMARY KEY (tenant_id, delivery_id))
    PARTITION BY RANGE (delivery_id);
CREATE INDEX delivery_newest ON chamberlain.delivery (tenant_id, created_at, delivery_id);
CREATE INDEX delivery_of_template ON chamberlain.delivery (tenant_id, template_id, created_at, delivery_id);
CREATE INDEX delivery_of_request ON chamberlain.delivery (tenant_id, request_id, created_at, delivery_id);
CREATE INDEX delivery_open ON chamberlain.delivery (tenant_id, state, created_at, delivery_id) WHERE state <> 'succeeded';
ALTER TABLE chamberlain.delivery ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.delivery TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.delivery TO chamberlain_worker USING (true);
GRANT SELECT, INSERT, UPDATE ON chamberlain.delivery TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.delivery TO chamberlain_worker;

-- What belongs to tenants is asked of the whole: nobody but the owner may so much as name a part.
REVOKE ALL ON chamberlain.delivery_elsewhere FROM chamberlain_application, chamberlain_worker;
DROP POLICY own_tenant ON chamberlain.delivery_elsewhere;
DROP POLICY all_tenants ON chamberlain.delivery_elsewhere;

-- Pages are filled: that a delivery is through changes an index, so that room for the new version of its row in its own page would save nothing,
-- and takes a third of the table.
-- As many weeks are made as pass until nothing from before is left; those behind them are made as they come near (sql/delivery_weeks.sql).
-- Ids from before are random, and a few of them look like those of a week: these are carried there.
DO $$
DECLARE
    monday timestamptz := date_trunc('week', now(), 'UTC');
    lowest uuid[];
    part text;
BEGIN
    lowest := ARRAY(
        SELECT rpad(lpad(to_hex((extract(epoch FROM monday + week * interval '168 hours') * 1000)::bigint), 12, '0'), 32, '0')::uuid
        FROM generate_series(0, 8) week ORDER BY week
    );
    FOR week IN 0 .. 7 LOOP
        part := 'delivery_of_' || to_char((monday + week * interval '168 hours') AT TIME ZONE 'UTC', 'YYYY_MM_DD');
        EXECUTE format(
            'CREATE TABLE chamberlain.%I PARTITION OF chamberlain.delivery FOR VALUES FROM (%L) TO (%L)',
            part, lowest[week + 1], lowest[week + 2]
        );
        EXECUTE format('ALTER TABLE chamberlain.%I ENABLE ROW LEVEL SECURITY', part);
    END LOOP;
    WITH misplaced AS (
        DELETE FROM chamberlain.delivery_elsewhere WHERE delivery_id >= lowest[1] AND delivery_id < lowest[9]
        RETURNING tenant_id, delivery_id, event_id, type, request_id, template_id, url, state, job_id, tries, attempt_count, attempts,
            payload, trace_id, created_at
    )
    INSERT INTO chamberlain.delivery (
        tenant_id, delivery_id, event_id, type, request_id, template_id, url, state, job_id, tries, attempt_count, attempts, payload,
        trace_id, created_at
    )
    SELECT tenant_id, delivery_id, event_id, type, request_id, template_id, url, state, job_id, tries, attempt_count, attempts, payload,
        trace_id, created_at
    FROM misplaced;
END
$$;
ALTER TABLE chamberlain.delivery ATTACH PARTITION chamberlain.delivery_elsewhere DEFAULT;
