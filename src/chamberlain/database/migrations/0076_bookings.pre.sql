-- Answers of rooms and equipment to invitations by mail. `recurrence` is the original start of one occurrence of a
-- series, empty for all of it. `calendar` is the login whose calendar has the booking.
CREATE TABLE chamberlain.booking_answer (
    tenant_id uuid NOT NULL,
    resource_id uuid NOT NULL,
    uid text NOT NULL,
    recurrence text NOT NULL,
    sequence integer NOT NULL,
    stamp timestamptz NOT NULL,
    method text NOT NULL,
    organizer text NOT NULL,
    state text NOT NULL,
    answer text,
    refusal text,
    calendar text,
    decided_at timestamptz,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, resource_id, uid, recurrence, sequence)
);
-- For retention.
CREATE INDEX booking_answer_updated ON chamberlain.booking_answer (updated_at);
ALTER TABLE chamberlain.booking_answer ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.booking_answer TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.booking_answer TO chamberlain_worker USING (true);
GRANT SELECT ON chamberlain.booking_answer TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.booking_answer TO chamberlain_worker;

-- One worker decides for a resource at a time.
CREATE TABLE chamberlain.booking_lease (
    tenant_id uuid NOT NULL,
    resource_id uuid NOT NULL,
    lease_id uuid NOT NULL,
    lease_until timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, resource_id)
);
ALTER TABLE chamberlain.booking_lease ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.booking_lease TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.booking_lease TO chamberlain_worker USING (true);
GRANT SELECT ON chamberlain.booking_lease TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.booking_lease TO chamberlain_worker;

-- Mails that wait for their answer. Each has a job (`bookingMail`) with its id as subject, so that a mail with a bug holds
-- no other one. `uid` is the id in the inbox.
CREATE TABLE chamberlain.booking_mail (
    tenant_id uuid NOT NULL,
    mail_id uuid NOT NULL DEFAULT gen_random_uuid(),
    resource_id uuid NOT NULL,
    uid bigint NOT NULL,
    PRIMARY KEY (tenant_id, mail_id),
    UNIQUE (tenant_id, resource_id, uid)
);
ALTER TABLE chamberlain.booking_mail ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.booking_mail TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.booking_mail TO chamberlain_worker USING (true);
GRANT SELECT ON chamberlain.booking_mail TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.booking_mail TO chamberlain_worker;

-- Each tenant with an open suite has one job.
CREATE UNIQUE INDEX job_booking ON chamberlain.job (tenant_id) WHERE kind = 'bookingAnswer';
