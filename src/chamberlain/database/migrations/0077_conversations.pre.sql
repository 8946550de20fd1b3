-- Questions to approvers in a chat. `address` is the id of the user there, `room` and `event` are those of the message.
-- `seen` is the time of the last change of the request that was read. After another change it may have another level.
CREATE TABLE chamberlain.question (
    tenant_id uuid NOT NULL,
    request_id uuid NOT NULL,
    level integer NOT NULL,
    user_id uuid NOT NULL,
    state text NOT NULL,
    address text,
    room text,
    event text,
    asked_at timestamptz NOT NULL,
    seen timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, request_id, user_id, level)
);
CREATE INDEX question_open ON chamberlain.question (tenant_id, room) WHERE state = 'asked';
-- For retention.
CREATE INDEX question_asked_at ON chamberlain.question (asked_at);
ALTER TABLE chamberlain.question ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.question TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.question TO chamberlain_worker USING (true);
GRANT SELECT ON chamberlain.question TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.question TO chamberlain_worker;

-- The position behind the last message that was read in the chat of a tenant.
CREATE TABLE chamberlain.conversation_position (
    tenant_id uuid PRIMARY KEY,
    position text NOT NULL
);
ALTER TABLE chamberlain.conversation_position ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.conversation_position TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.conversation_position TO chamberlain_worker USING (true);
GRANT SELECT ON chamberlain.conversation_position TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.conversation_position TO chamberlain_worker;

-- Each tenant with an open suite has one job.
CREATE UNIQUE INDEX job_conversation ON chamberlain.job (tenant_id) WHERE kind = 'conversationRun';
