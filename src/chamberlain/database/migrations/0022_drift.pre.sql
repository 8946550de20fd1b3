-- Drift: how a tenant wants what differs in its directory to be treated, how far it has been compared, and which repairs hold.

-- What the tenant says of single properties: {"group.displayName": "ignored"}.
ALTER TABLE chamberlain.tenant ADD COLUMN repair_properties jsonb NOT NULL DEFAULT '{}';

-- A tenant has a row here from the moment on when it has its job. While a check is under way, phase is what is compared, and all of it up
-- to (position_at, position_id) is. Whoever asks for a check while one is under way gets another one after it.
CREATE TABLE chamberlain.drift_check (
    tenant_id uuid PRIMARY KEY,
    phase text,
    position_at timestamptz,
    position_id uuid,
    asked_at timestamptz,
    began_at timestamptz,
    finished_at timestamptz
);

-- How often something was put right, of what is wanted now (named by its digest), and when it differed last. A row goes when that is long
-- ago, or when somebody has accepted that repairs do not hold.
CREATE TABLE chamberlain.drift_repair (
    tenant_id uuid NOT NULL,
    subject_id uuid NOT NULL,
    about text NOT NULL,
    repairs integer NOT NULL,
    digest text NOT NULL,
    found_at timestamptz NOT NULL,
    has_given_up boolean NOT NULL,
    PRIMARY KEY (tenant_id, subject_id, about)
);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['drift_check', 'drift_repair'] LOOP
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
-- A call asks for a check.
GRANT INSERT, UPDATE ON chamberlain.drift_check TO chamberlain_application;
