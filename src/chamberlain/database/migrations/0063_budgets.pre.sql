-- Budgets of calls to remote directories, and how each tenant was served (sql/budgets.sql). They are about the present second only, so a crash may
-- empty them.

CREATE UNLOGGED TABLE chamberlain.budget (
    name text PRIMARY KEY,
    available double precision NOT NULL,
    filled_at timestamptz NOT NULL,
    factor double precision NOT NULL DEFAULT 1,
    slowed_at timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE UNLOGGED TABLE chamberlain.budget_share (
    name text NOT NULL,
    tenant_id uuid NOT NULL,
    served double precision NOT NULL,
    waits_until timestamptz NOT NULL,
    PRIMARY KEY (name, tenant_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Functions of the owner write both.
ALTER TABLE chamberlain.budget_share ENABLE ROW LEVEL SECURITY;
CREATE POLICY all_tenants ON chamberlain.budget_share TO chamberlain_worker USING (true);
CREATE POLICY own_tenant ON chamberlain.budget_share TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
GRANT SELECT ON chamberlain.budget_share TO chamberlain_application, chamberlain_worker;
GRANT DELETE ON chamberlain.budget_share TO chamberlain_worker;
