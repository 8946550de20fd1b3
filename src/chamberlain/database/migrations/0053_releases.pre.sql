-- Releases: managed objects that are given back to their directory. One release of a tenant runs at a time.
CREATE TABLE chamberlain.release (
    tenant_id uuid NOT NULL,
    release_id uuid NOT NULL,
    types text[] NOT NULL,
    state text NOT NULL,
    total integer NOT NULL,
    released integer NOT NULL DEFAULT 0,
    skipped integer NOT NULL DEFAULT 0,
    client_id text,
    created_by json NOT NULL,
    trace_id text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    finished_at timestamptz,
    PRIMARY KEY (tenant_id, release_id)
);
CREATE INDEX release_newest ON chamberlain.release (tenant_id, created_at, release_id);
CREATE UNIQUE INDEX release_running ON chamberlain.release (tenant_id) WHERE state = 'running';
CREATE INDEX release_finished ON chamberlain.release (finished_at) WHERE state = 'succeeded';

-- An object of a release. `key` is the request of a mailbox or group, and the group or site of an assignment. `id` is shown to callers.
-- `object_id` is the id in the directory, if known. `generation` is that of a cleared assignment. `code` is the reason of a skipped object,
-- or a remark about a released one.
CREATE TABLE chamberlain.release_item (
    tenant_id uuid NOT NULL,
    release_id uuid NOT NULL,
    type text NOT NULL,
    key uuid NOT NULL,
    id uuid NOT NULL,
    object_id uuid,
    request_id uuid,
    display_name text NOT NULL,
    mail text,
    generation integer,
    state text NOT NULL,
    code text,
    waits_since timestamptz,
    PRIMARY KEY (tenant_id, release_id, type, key)
);
CREATE INDEX release_item_state ON chamberlain.release_item (tenant_id, release_id, state, waits_since NULLS FIRST, type, key);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['release', 'release_item'] LOOP
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
