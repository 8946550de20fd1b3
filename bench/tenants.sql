-- SPDX-License-Identifier: Apache-2.0
-- Tenants of these numbers, each a copy of the example estate with an address of its own: what a tenant has before anybody asks for anything.
CREATE SCHEMA IF NOT EXISTS bench;
CREATE FUNCTION bench.copy_tenant(place regclass, first integer, last integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    names text := (
        SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
        WHERE attrelid = place AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attidentity = ''
    );
BEGIN
    -- A row is written as text, the tenant in it exchanged, and read again.
    EXECUTE format($text$
        INSERT INTO %1$s (%2$s)
        SELECT %2$s FROM (
            SELECT (regexp_replace(
                replace(model::text, tenant_id::text, 'e57a7e00-0000-4000-8000-' || lpad((100000 + n)::text, 12, '0')),
                -- Domains, but not the names of permissions, which are the same for all.
                '(?<!api\.|graph\.)estate\.example', 'estate-' || n || '.example', 'g')::%1$s).*
            FROM %1$s AS model, generate_series(%3$s, %4$s) AS n
            WHERE tenant_id = 'e57a7e00-0000-4000-8000-000000000001'
        ) AS copies
    $text$, place, names, first, last);
END
$$;
SELECT bench.copy_tenant(place::regclass, :first, :last) FROM unnest(ARRAY[
    'chamberlain.tenant', 'chamberlain.template', 'chamberlain.template_revision',
    'directory.users', 'identity.accounts', 'identity.clients', 'identity.permissions'
]) AS place;
