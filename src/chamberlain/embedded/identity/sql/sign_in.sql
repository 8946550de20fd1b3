-- SPDX-License-Identifier: Apache-2.0
-- Find the tenant of a user code or of a session cookie, which contain no tenant. These functions run as the owner, which
-- bypasses row-level security, and match an exact digest only.

CREATE OR REPLACE FUNCTION identity.tenant_of_device_code(wanted_digest bytea) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS
$$ SELECT tenant_id FROM identity.device_codes WHERE user_code_digest = wanted_digest $$;

CREATE OR REPLACE FUNCTION identity.tenant_of_session(wanted_digest bytea) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS
$$ SELECT tenant_id FROM identity.sessions WHERE digest = wanted_digest $$;

REVOKE ALL ON FUNCTION identity.tenant_of_device_code(bytea), identity.tenant_of_session(bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION identity.tenant_of_device_code(bytea), identity.tenant_of_session(bytea)
    TO chamberlain_application, chamberlain_worker;
