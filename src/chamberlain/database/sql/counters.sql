-- SPDX-License-Identifier: Apache-2.0
-- Numbers for naming rules, one sequence for each template and rule. They are unique and may have gaps; sequences do not lock as
-- a counter row would. The application's role cannot create anything, so the owner does it for a rule's first use.
CREATE OR REPLACE FUNCTION chamberlain.next_number(template uuid, rule text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    tenant uuid := nullif(current_setting('chamberlain.tenant_id', true), '')::uuid;
    name text := 'number_' || md5(tenant::text || template::text || rule);
BEGIN
    IF NOT EXISTS (SELECT FROM chamberlain.template t WHERE t.tenant_id = tenant AND t.template_id = template) THEN
        RAISE EXCEPTION 'no template % in this tenant', template;
    END IF;
    IF to_regclass('chamberlain.' || name) IS NULL THEN
        PERFORM pg_advisory_xact_lock(hashtextextended(name, 0));
        EXECUTE format('CREATE SEQUENCE IF NOT EXISTS chamberlain.%I', name);
    END IF;
    RETURN nextval('chamberlain.' || name);
END
$$;
REVOKE ALL ON FUNCTION chamberlain.next_number FROM PUBLIC;
GRANT EXECUTE ON FUNCTION chamberlain.next_number TO chamberlain_application;
