-- Requests live: a timeline for those who watch, lists that stay quick at a million rows, limits of tenants, and answers
-- kept for idempotency keys of every kind of POST.

-- Entries of the timeline from `timeline_start` on; the first entry, the state at acceptance, is known from the row itself.
ALTER TABLE chamberlain.request
    ADD COLUMN timeline jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN timeline_start integer NOT NULL DEFAULT 2;

-- One's own requests and those of one kind, newest first. All of one's own are merged from those of each kind.
CREATE INDEX request_own ON chamberlain.request (tenant_id, actor_id, kind, created_at, request_id);
CREATE INDEX request_kind ON chamberlain.request (tenant_id, kind, created_at, request_id);

-- Where the requests stand that are neither on their way nor done. They are few, and people look for them. An index over the
-- state in `request` itself would cost every request that just succeeds several index entries more.
CREATE TABLE chamberlain.request_by_state (
    tenant_id uuid NOT NULL,
    state text NOT NULL,
    kind text NOT NULL,
    actor_id uuid,
    created_at timestamptz NOT NULL,
    request_id uuid NOT NULL,
    since timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, state, created_at, request_id)
);
CREATE INDEX request_by_state_kind ON chamberlain.request_by_state (tenant_id, state, kind, created_at, request_id);
CREATE INDEX request_by_state_own ON chamberlain.request_by_state (tenant_id, state, actor_id, kind, created_at, request_id);
CREATE INDEX request_by_state_since ON chamberlain.request_by_state (state, since);
ALTER TABLE chamberlain.request_by_state ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.request_by_state TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.request_by_state TO chamberlain_worker USING (true);
GRANT SELECT, INSERT, DELETE ON chamberlain.request_by_state TO chamberlain_application, chamberlain_worker;

CREATE FUNCTION chamberlain.note_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM chamberlain.request_by_state s
        WHERE s.tenant_id = OLD.tenant_id AND s.state = OLD.state AND s.created_at = OLD.created_at
        AND s.request_id = OLD.request_id;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.state NOT IN ('queued', 'running', 'succeeded') THEN
        INSERT INTO chamberlain.request_by_state (tenant_id, state, kind, actor_id, created_at, request_id, since)
        VALUES (NEW.tenant_id, NEW.state, NEW.kind, NEW.actor_id, NEW.created_at, NEW.request_id, now());
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER note_state_at_insert AFTER INSERT ON chamberlain.request
    FOR EACH ROW WHEN (NEW.state NOT IN ('queued', 'running', 'succeeded')) EXECUTE FUNCTION chamberlain.note_state();
CREATE TRIGGER note_state_at_update AFTER UPDATE OF state ON chamberlain.request
    FOR EACH ROW WHEN (
        OLD.state <> NEW.state
        AND (OLD.state NOT IN ('queued', 'running') OR NEW.state NOT IN ('queued', 'running', 'succeeded'))
    ) EXECUTE FUNCTION chamberlain.note_state();
CREATE TRIGGER note_state_at_delete AFTER DELETE ON chamberlain.request
    FOR EACH ROW WHEN (OLD.state NOT IN ('queued', 'running', 'succeeded')) EXECUTE FUNCTION chamberlain.note_state();

-- What a tenant may have; null is no limit.
ALTER TABLE chamberlain.tenant
    ADD COLUMN open_requests integer,
    ADD COLUMN running_jobs integer,
    ADD COLUMN requests_per_minute integer;

-- A key of a creation names its request, whose answer follows from it; any other key keeps the answer itself.
ALTER TABLE chamberlain.idempotency_key
    ALTER COLUMN request_id DROP NOT NULL,
    ADD COLUMN answer text;
GRANT UPDATE (answer) ON chamberlain.idempotency_key TO chamberlain_application;
CREATE INDEX idempotency_key_age ON chamberlain.idempotency_key (created_at);

-- Jobs that wait for a person, newest first. There are few, if any.
CREATE INDEX job_held ON chamberlain.job (tenant_id, queued_at, job_id) WHERE held_reason IS NOT NULL;

-- They are put in with other arguments.
DROP FUNCTION IF EXISTS chamberlain.accept_requests;
DROP FUNCTION IF EXISTS chamberlain.explain_refused;
