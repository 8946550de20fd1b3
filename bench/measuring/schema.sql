-- What every limit begins with: a schema of its own, so that no worker picks up what pgbench queues, and a way to have a
-- table of the service there.
CREATE SCHEMA bench;
GRANT USAGE ON SCHEMA bench TO chamberlain_application;

-- The same table with its indexes and row-level security, but without room for later versions of a row, since none will come.
CREATE FUNCTION bench.copy_table(name text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE bench.%I (LIKE chamberlain.%I INCLUDING ALL)', name, name);
    EXECUTE format('ALTER TABLE bench.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format(
        'CREATE POLICY own_tenant ON bench.%I TO chamberlain_application '
        'USING (tenant_id = nullif(current_setting(''chamberlain.tenant_id'', true), '''')::uuid)', name);
    EXECUTE format('GRANT SELECT, INSERT ON bench.%I TO chamberlain_application', name);
END
$$;
