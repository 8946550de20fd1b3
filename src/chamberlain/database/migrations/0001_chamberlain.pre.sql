-- The tables of the service. Every one that has a tenant_id is bound by row-level security for the application's role, while the
-- worker's role sees all tenants (docs/decisions/, row-level security). Roles exist before: chamberlain_owner runs this file.

CREATE SCHEMA chamberlain;
GRANT USAGE ON SCHEMA chamberlain TO chamberlain_application, chamberlain_worker;

-- The revision grows with every change of the row, so that a process may keep a copy and have it confirmed at commit.
CREATE TABLE chamberlain.tenant (
    tenant_id uuid PRIMARY KEY,
    revision integer NOT NULL DEFAULT 1,
    name text NOT NULL,
    domains text[] NOT NULL,
    administrator_users uuid[] NOT NULL DEFAULT '{}',
    administrator_groups uuid[] NOT NULL DEFAULT '{}',
    extension_prefix text NOT NULL DEFAULT 'chamberlain',
    suspended boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

-- Which tokens speak for a tenant. An issuer that serves one tenant may leave tid out.
CREATE TABLE chamberlain.issuer (
    tenant_id uuid NOT NULL REFERENCES chamberlain.tenant ON DELETE CASCADE,
    issuer text NOT NULL,
    tid text,
    audiences json NOT NULL DEFAULT '{}',
    UNIQUE NULLS NOT DISTINCT (issuer, tid)
);

-- A template as it is now; content has the shape of SHAPES.md, without what the service adds.
CREATE TABLE chamberlain.template (
    tenant_id uuid NOT NULL REFERENCES chamberlain.tenant ON DELETE CASCADE,
    template_id uuid NOT NULL,
    revision integer NOT NULL,
    kind text NOT NULL,
    active boolean NOT NULL,
    created_by json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, template_id)
);

-- Every revision a template ever had: a request names the one that it was submitted under.
CREATE TABLE chamberlain.template_revision (
    tenant_id uuid NOT NULL REFERENCES chamberlain.tenant ON DELETE CASCADE,
    template_id uuid NOT NULL,
    revision integer NOT NULL,
    content json NOT NULL,
    PRIMARY KEY (tenant_id, template_id, revision)
);

CREATE TABLE chamberlain.policy (
    tenant_id uuid NOT NULL REFERENCES chamberlain.tenant ON DELETE CASCADE,
    policy_id uuid NOT NULL,
    revision integer NOT NULL,
    active boolean NOT NULL,
    content json NOT NULL,
    created_by json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, policy_id)
);

-- A request is written three times in its short life, and grows: room is left on each page for the new versions of its row, since one
-- that finds no room there costs an entry in every index.
CREATE TABLE chamberlain.request (
    request_id uuid PRIMARY KEY,
    tenant_id uuid NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    display_name text NOT NULL,
    mail_nickname text,
    address text,
    template_id uuid,
    template_revision integer,
    template_name text,
    body json NOT NULL,
    approval_required boolean NOT NULL,
    people_checked boolean NOT NULL,
    client_id text NOT NULL,
    actor_type text NOT NULL,
    actor_id uuid,
    actor_name text NOT NULL,
    trace_id text NOT NULL,
    steps json NOT NULL,
    waiting json,
    blocked text,
    error json,
    warnings json,
    result json,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz
) WITH (fillfactor = 30);
CREATE INDEX request_newest ON chamberlain.request (tenant_id, created_at, request_id);

-- Names and addresses that are given away, each to one request of the tenant. `value` is in the form in which two are compared.
CREATE TABLE chamberlain.reservation (
    tenant_id uuid NOT NULL,
    kind text NOT NULL,
    value text NOT NULL,
    request_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, kind, value)
);

CREATE TABLE chamberlain.idempotency_key (
    tenant_id uuid NOT NULL,
    client_id text NOT NULL,
    caller_id uuid NOT NULL,
    key text NOT NULL,
    digest bytea NOT NULL,
    request_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, client_id, caller_id, key)
);

-- What is to be done. run_at is the only "when next" of the product; a lease says who is at it and until when to believe that.
CREATE TABLE chamberlain.job (
    job_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id uuid NOT NULL,
    kind text NOT NULL,
    subject uuid NOT NULL,
    trace_id text NOT NULL,
    run_at timestamptz NOT NULL DEFAULT now(),
    queued_at timestamptz NOT NULL DEFAULT now(),
    attempts integer NOT NULL DEFAULT 0,
    lease_id uuid,
    lease_until timestamptz,
    held_reason text
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, fillfactor = 40);
CREATE INDEX job_next ON chamberlain.job (tenant_id, run_at) WHERE held_reason IS NULL;

-- Who changed what. The payload holds the names of people, everything else can be kept for ever.
CREATE TABLE chamberlain.audit (
    sequence bigint GENERATED ALWAYS AS IDENTITY,
    tenant_id uuid NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    action text NOT NULL,
    request_id uuid,
    trace_id text NOT NULL,
    payload json NOT NULL,
    PRIMARY KEY (tenant_id, sequence)
);

CREATE TABLE chamberlain.event (
    sequence bigint GENERATED ALWAYS AS IDENTITY,
    event_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    type text NOT NULL,
    request_id uuid,
    at timestamptz NOT NULL,
    data json NOT NULL,
    PRIMARY KEY (tenant_id, sequence)
);

-- Row-level security, the same for all. After a transaction a local setting reads as '', hence nullif.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'tenant', 'issuer', 'template', 'template_revision', 'policy', 'request', 'reservation', 'idempotency_key', 'job',
        'audit', 'event'
    ] LOOP
        EXECUTE format('ALTER TABLE chamberlain.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_tenant ON chamberlain.%I TO chamberlain_application '
            'USING (tenant_id = nullif(current_setting(''chamberlain.tenant_id'', true), '''')::uuid)',
            name
        );
        EXECUTE format('CREATE POLICY all_tenants ON chamberlain.%I TO chamberlain_worker USING (true)', name);
        EXECUTE format('GRANT SELECT, INSERT ON chamberlain.%I TO chamberlain_application', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.%I TO chamberlain_worker', name);
    END LOOP;
END
$$;

-- Beyond reading and adding, the application's role may do what its use cases do, and no more; audit and events only grow.
GRANT UPDATE ON chamberlain.tenant, chamberlain.template, chamberlain.policy, chamberlain.request, chamberlain.job
    TO chamberlain_application;
GRANT DELETE ON chamberlain.issuer, chamberlain.template, chamberlain.policy, chamberlain.reservation,
    chamberlain.idempotency_key, chamberlain.job TO chamberlain_application;
