-- Figures of ended requests by the hour: how many ended in which state, and how long the objects of a template took.

CREATE TABLE chamberlain.ended_hour (
    tenant_id uuid NOT NULL,
    hour timestamptz NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (tenant_id, hour, kind, state)
);
CREATE INDEX ended_hour_age ON chamberlain.ended_hour (hour);

-- A histogram of times to ready: buckets[i] has numbers[i] requests. figures/rules.py has the bounds of buckets. `since` is acceptance or
-- approval.
CREATE TABLE chamberlain.ready_hour (
    tenant_id uuid NOT NULL,
    hour timestamptz NOT NULL,
    template_id uuid NOT NULL,
    since text NOT NULL,
    buckets smallint[] NOT NULL,
    numbers integer[] NOT NULL,
    PRIMARY KEY (tenant_id, hour, template_id, since)
);
CREATE INDEX ready_hour_age ON chamberlain.ready_hour (hour);

-- How far the events are counted, for the whole installation. Transactions that drew a sequence up to `countable` have ended. Sequences up to
-- `seen` were drawn before seen_at, and become countable some minutes later.
CREATE TABLE chamberlain.figures_counted (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    counted bigint NOT NULL DEFAULT 0,
    countable bigint NOT NULL DEFAULT 0,
    seen bigint NOT NULL DEFAULT 0,
    seen_at timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO chamberlain.figures_counted DEFAULT VALUES;
GRANT SELECT ON chamberlain.figures_counted TO chamberlain_application;
GRANT SELECT, UPDATE ON chamberlain.figures_counted TO chamberlain_worker;
GRANT SELECT ON SEQUENCE chamberlain.event_sequence_seq TO chamberlain_worker;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['ended_hour', 'ready_hour'] LOOP
        EXECUTE format('ALTER TABLE chamberlain.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_tenant ON chamberlain.%I TO chamberlain_application '
            'USING (tenant_id = nullif(current_setting(''chamberlain.tenant_id'', true), '''')::uuid)',
            name
        );
        EXECUTE format('CREATE POLICY all_tenants ON chamberlain.%I TO chamberlain_worker USING (true)', name);
        EXECUTE format('GRANT SELECT ON chamberlain.%I TO chamberlain_application', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.%I TO chamberlain_worker', name);
    END LOOP;
END
$$;
