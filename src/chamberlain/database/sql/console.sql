-- SPDX-License-Identifier: Apache-2.0
-- Find a session by the digest of its secret, and a tenant by a mail domain. Neither knows the tenant before. These functions run as the
-- owner, which bypasses row-level security, and match an exact value only.
CREATE OR REPLACE FUNCTION chamberlain.find_console_session(wanted bytea, at timestamptz, used_since timestamptz)
RETURNS TABLE (tenant_id uuid, user_id uuid, sealed bytea, used_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.tenant_id, s.user_id, s.sealed, s.used_at FROM chamberlain.console_session s
    WHERE s.digest = wanted AND s.ends_at > at AND s.used_at > used_since
$$;
REVOKE ALL ON FUNCTION chamberlain.find_console_session FROM PUBLIC;
GRANT EXECUTE ON FUNCTION chamberlain.find_console_session TO chamberlain_application, chamberlain_worker;

-- Find a session like find_console_session, and record its use unless that was done after `recorded_before`. Each page asks, so it is one
-- statement.
CREATE OR REPLACE FUNCTION chamberlain.use_console_session(
    wanted bytea, at timestamptz, used_since timestamptz, recorded_before timestamptz
) RETURNS TABLE (tenant_id uuid, user_id uuid, sealed bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    recorded timestamptz;
BEGIN
    SELECT s.tenant_id, s.user_id, s.sealed, s.used_at INTO tenant_id, user_id, sealed, recorded
    FROM chamberlain.console_session s WHERE s.digest = wanted AND s.ends_at > at AND s.used_at > used_since;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF recorded <= recorded_before THEN
        UPDATE chamberlain.console_session s SET used_at = at WHERE s.digest = wanted AND s.used_at < at;
    END IF;
    RETURN NEXT;
END
$$;
REVOKE ALL ON FUNCTION chamberlain.use_console_session FROM PUBLIC;
GRANT EXECUTE ON FUNCTION chamberlain.use_console_session TO chamberlain_application, chamberlain_worker;

CREATE OR REPLACE FUNCTION chamberlain.tenants_of_domain(wanted text) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.tenant_id FROM chamberlain.tenant t
    WHERE NOT t.suspended AND EXISTS (SELECT FROM unnest(t.domains) AS domain WHERE lower(domain) = lower(wanted))
    ORDER BY t.tenant_id
$$;
REVOKE ALL ON FUNCTION chamberlain.tenants_of_domain FROM PUBLIC;
GRANT EXECUTE ON FUNCTION chamberlain.tenants_of_domain TO chamberlain_application, chamberlain_worker;
