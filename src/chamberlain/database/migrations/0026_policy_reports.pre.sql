-- A notice is about a request, or about what the policy of a group or site has done. A report that may still grow waits by its job, which
-- is found by its id.
ALTER TABLE chamberlain.notice ALTER COLUMN request_id DROP NOT NULL;
ALTER TABLE chamberlain.notice ADD COLUMN subject_id uuid;
ALTER TABLE chamberlain.notice ADD COLUMN job_id bigint;
ALTER TABLE chamberlain.notice ADD CONSTRAINT notice_about CHECK (num_nonnulls(request_id, subject_id) = 1);
CREATE INDEX notice_subject ON chamberlain.notice (tenant_id, subject_id) WHERE subject_id IS NOT NULL;

-- What a report tells of, by ids alone. `what` is a reminder or the action that was taken. The rule about owners is about no guest: its
-- guest_id is all zero, as in its clock.
CREATE TABLE chamberlain.report_line (
    tenant_id uuid NOT NULL,
    notice_id uuid NOT NULL,
    what text NOT NULL,
    rule text NOT NULL,
    guest_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, notice_id, what, rule, guest_id),
    FOREIGN KEY (tenant_id, notice_id) REFERENCES chamberlain.notice ON DELETE CASCADE
);
ALTER TABLE chamberlain.report_line ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.report_line TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.report_line TO chamberlain_worker USING (true);
GRANT SELECT ON chamberlain.report_line TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.report_line TO chamberlain_worker;
