-- The searches for people of each user in the last minute. A crash may empty it.

CREATE UNLOGGED TABLE chamberlain.people_search (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    started_at timestamptz NOT NULL,
    number integer NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

ALTER TABLE chamberlain.people_search ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.people_search TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.people_search TO chamberlain_worker USING (true);
GRANT SELECT, INSERT, UPDATE ON chamberlain.people_search TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.people_search TO chamberlain_worker;
