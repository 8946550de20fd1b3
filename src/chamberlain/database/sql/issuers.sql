-- SPDX-License-Identifier: Apache-2.0
-- Find an issuer by its exact key. It runs before a tenant is known, so with the rights of the owner.
CREATE OR REPLACE FUNCTION chamberlain.find_issuer(wanted_issuer text, wanted_tid text)
RETURNS TABLE (tenant_id uuid, issuer text, tid text, audiences json)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT i.tenant_id, i.issuer, i.tid, i.audiences
    FROM chamberlain.issuer i
    JOIN chamberlain.tenant t ON t.tenant_id = i.tenant_id AND NOT t.suspended
    WHERE i.issuer = wanted_issuer AND i.tid IS NOT DISTINCT FROM wanted_tid
$$;
REVOKE ALL ON FUNCTION chamberlain.find_issuer FROM PUBLIC;
GRANT EXECUTE ON FUNCTION chamberlain.find_issuer TO chamberlain_application, chamberlain_worker;

-- Whether a tenant exists and is not suspended. For the issuers of the embedded identity platform, which are never stored.
CREATE OR REPLACE FUNCTION chamberlain.tenant_is_served(wanted uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM chamberlain.tenant t WHERE t.tenant_id = wanted AND NOT t.suspended)
$$;
REVOKE ALL ON FUNCTION chamberlain.tenant_is_served FROM PUBLIC;
GRANT EXECUTE ON FUNCTION chamberlain.tenant_is_served TO chamberlain_application, chamberlain_worker;
