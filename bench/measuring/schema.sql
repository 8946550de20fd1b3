-- SPDX-License-Identifier: Apache-2.0
-- A schema of its own, so that no worker picks up the jobs that pgbench queues, and a function that copies a table of
-- the service into it. Every limit starts with this file.
CREATE SCHEMA bench;
GRANT USAGE ON SCHEMA bench TO chamberlain_application;

-- The same table with its indexes and row-level security, but without room for later versions of a row, since none will come.
CREATE FUNCTION bench.copy_table(name text, place text DEFAULT 'bench') RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE %I.%I (LIKE chamberlain.%I INCLUDING ALL)', place, name, name);
    EXECUTE format('ALTER TABLE %I.%I ENABLE ROW LEVEL SECURITY', place, name);
    EXECUTE format(
        'CREATE POLICY own_tenant ON %I.%I TO chamberlain_application '
        'USING (tenant_id = nullif(current_setting(''chamberlain.tenant_id'', true), '''')::uuid)', place, name);
    EXECUTE format('GRANT SELECT, INSERT ON %I.%I TO chamberlain_application', place, name);
END
$$;
