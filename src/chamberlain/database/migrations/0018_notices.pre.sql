-- Notices: what people are still to be told by mail, each with a job. Rows are there as long as somebody is to be told, and where mail is
-- sent at all (sql/notices.sql).

-- `notice_id` is the id of the event, where one tells of the same. `told` are those who have it, or can never get it.
CREATE TABLE chamberlain.notice (
    tenant_id uuid NOT NULL,
    notice_id uuid NOT NULL,
    kind text NOT NULL,
    request_id uuid NOT NULL,
    level integer,
    at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    told uuid[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant_id, notice_id)
);
ALTER TABLE chamberlain.notice ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.notice TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.notice TO chamberlain_worker USING (true);
GRANT SELECT, INSERT ON chamberlain.notice TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.notice TO chamberlain_worker;
