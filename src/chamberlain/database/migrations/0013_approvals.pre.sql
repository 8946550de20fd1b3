-- Approvals: who has to decide on which request, and a job that attends to each request that waits for somebody to decide.

-- One row for everybody who has to decide now, for their lists. It follows from the levels in the request itself.
CREATE TABLE chamberlain.request_approver (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    kind text NOT NULL,
    created_at timestamptz NOT NULL,
    request_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, request_id, user_id)
);
-- Newest first, those of each kind of request; all of them are merged from these.
CREATE INDEX request_approver_newest ON chamberlain.request_approver (tenant_id, user_id, kind, created_at, request_id);
ALTER TABLE chamberlain.request_approver ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.request_approver TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.request_approver TO chamberlain_worker USING (true);
GRANT SELECT, INSERT, DELETE ON chamberlain.request_approver TO chamberlain_application, chamberlain_worker;

-- Whoever writes the levels of a request need not think of the lists.
CREATE FUNCTION chamberlain.note_approvers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM chamberlain.request_approver a WHERE a.tenant_id = OLD.tenant_id AND a.request_id = OLD.request_id;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.state = 'pendingApproval' THEN
        INSERT INTO chamberlain.request_approver (tenant_id, user_id, kind, created_at, request_id)
        SELECT DISTINCT NEW.tenant_id, (approver ->> 'id')::uuid, NEW.kind, NEW.created_at, NEW.request_id
        FROM json_array_elements(NEW.approvals) AS l (level)
        CROSS JOIN LATERAL json_array_elements(l.level -> 'approvers') AS a (approver)
        WHERE l.level ->> 'state' = 'pending' AND NOT EXISTS (
            SELECT FROM json_array_elements(l.level -> 'decisions') AS d (decision)
            WHERE d.decision -> 'by' ->> 'id' = a.approver ->> 'id'
        );
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER note_approvers_at_insert AFTER INSERT ON chamberlain.request
    FOR EACH ROW WHEN (NEW.state = 'pendingApproval') EXECUTE FUNCTION chamberlain.note_approvers();
CREATE TRIGGER note_approvers_at_update AFTER UPDATE OF state, approvals ON chamberlain.request
    FOR EACH ROW WHEN (OLD.state = 'pendingApproval' OR NEW.state = 'pendingApproval')
    EXECUTE FUNCTION chamberlain.note_approvers();
CREATE TRIGGER note_approvers_at_delete AFTER DELETE ON chamberlain.request
    FOR EACH ROW WHEN (OLD.state = 'pendingApproval') EXECUTE FUNCTION chamberlain.note_approvers();

-- The job of a request is found by the request. All others are not in here.
CREATE INDEX job_approval ON chamberlain.job (tenant_id, subject) WHERE kind = 'approvalAttend';

-- What waits already is attended to from now on.
INSERT INTO chamberlain.request_approver (tenant_id, user_id, kind, created_at, request_id)
SELECT DISTINCT r.tenant_id, (a.approver ->> 'id')::uuid, r.kind, r.created_at, r.request_id
FROM chamberlain.request_by_state s JOIN chamberlain.request r USING (request_id)
CROSS JOIN LATERAL json_array_elements(r.approvals) AS l (level)
CROSS JOIN LATERAL json_array_elements(l.level -> 'approvers') AS a (approver)
WHERE s.state = 'pendingApproval' AND l.level ->> 'state' = 'pending';
INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
SELECT r.tenant_id, 'approvalAttend', r.request_id, r.trace_id
FROM chamberlain.request_by_state s JOIN chamberlain.request r USING (request_id)
WHERE s.state = 'pendingApproval';
