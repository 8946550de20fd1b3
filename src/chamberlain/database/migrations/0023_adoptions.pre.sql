-- Adoptions: what was in the directory before and is taken under management, by a rule.

-- A rule that was confirmed, and how far it has come. `filter` and `created_by` have the shapes of rules/adoptions.py and of an actor.
CREATE TABLE chamberlain.adoption (
    tenant_id uuid NOT NULL,
    adoption_id uuid NOT NULL,
    kind text NOT NULL,
    template_id uuid NOT NULL,
    template_revision integer NOT NULL,
    template_name text NOT NULL,
    filter json NOT NULL,
    state text NOT NULL,
    total integer NOT NULL,
    adopted integer NOT NULL DEFAULT 0,
    refused integer NOT NULL DEFAULT 0,
    released integer NOT NULL DEFAULT 0,
    client_id text,
    created_by json NOT NULL,
    trace_id text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    finished_at timestamptz,
    PRIMARY KEY (tenant_id, adoption_id)
);
CREATE INDEX adoption_newest ON chamberlain.adoption (tenant_id, created_at, adoption_id);

-- One that a rule takes, by the id that the directory knows it by, and the request whose mark it is to carry: names and addresses are
-- reserved for that one from the beginning. `code` and `detail` say why it could not be taken.
CREATE TABLE chamberlain.adoption_item (
    tenant_id uuid NOT NULL,
    adoption_id uuid NOT NULL,
    object_id uuid NOT NULL,
    request_id uuid NOT NULL,
    display_name text NOT NULL,
    mail text NOT NULL,
    state text NOT NULL,
    code text,
    detail text,
    PRIMARY KEY (tenant_id, adoption_id, object_id)
);
CREATE INDEX adoption_item_state ON chamberlain.adoption_item (tenant_id, adoption_id, state, object_id);
-- Nobody is taken by two at once.
CREATE UNIQUE INDEX adoption_item_current ON chamberlain.adoption_item (tenant_id, object_id) WHERE state IN ('pending', 'adopted');

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['adoption', 'adoption_item'] LOOP
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
-- A call has one undone.
GRANT UPDATE ON chamberlain.adoption TO chamberlain_application;
