-- Which of these addresses somebody has, by their places: tenants[n] is the tenant of addresses[n].

CREATE OR REPLACE FUNCTION directory.held_addresses(tenants uuid[], addresses text[]) RETURNS bigint[]
LANGUAGE plpgsql
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    tenant uuid;
    answered uuid[] := '{}';
    -- In lower case beforehand: lower() beside the index would keep row-level security from using the index. As one text, which needs
    -- no query; no address holds the character between them.
    lowered text[] := string_to_array(lower(array_to_string(addresses, E'\x1f')), E'\x1f');
    held bigint[] := '{}';
    setting text;
BEGIN
    FOREACH tenant IN ARRAY tenants LOOP
        CONTINUE WHEN tenant = ANY (answered);
        answered := answered || tenant;
        setting := set_config('chamberlain.tenant_id', tenant::text, true);
        -- Mostly nobody has any of them, which is soon found.
        IF EXISTS (SELECT FROM directory.addresses t WHERE t.tenant_id = tenant AND t.address = ANY (lowered)) THEN
            held := held || ARRAY(
                SELECT a.place FROM unnest(tenants, lowered) WITH ORDINALITY AS a (tenant_id, address, place)
                CROSS JOIN LATERAL (
                    -- One probe for each: a join planned while the table was small would go through all of it.
                    SELECT FROM directory.addresses t WHERE t.tenant_id = tenant AND t.address = a.address LIMIT 1
                ) AS held
                WHERE a.tenant_id = tenant);
        END IF;
    END LOOP;
    RETURN held;
END
$$;
