-- Faults that a test run has set over HTTP, for all processes. A fault applies to calls of one operation by one tenant until it ends.
CREATE TABLE directory.requested_faults (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    operation text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('throttled', 'away', 'notYet', 'lostResponse')),
    retry_after_seconds integer NOT NULL,
    -- The fault leaves out so many calls, and then applies to so many; NULL means to all.
    after_calls bigint NOT NULL,
    times bigint,
    calls bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

ALTER TABLE directory.requested_faults ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON directory.requested_faults TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON directory.requested_faults TO chamberlain_worker USING (true) WITH CHECK (true);
GRANT SELECT ON directory.requested_faults TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON directory.requested_faults TO chamberlain_worker;
