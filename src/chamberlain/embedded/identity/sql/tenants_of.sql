-- SPDX-License-Identifier: Apache-2.0
-- Find the tenants of an account by address, or of a client by name or id. These functions run as the owner, which bypasses
-- row-level security, and match an exact value only.

CREATE OR REPLACE FUNCTION identity.tenants_of_account(wanted_address text) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS
$$ SELECT tenant_id FROM identity.accounts WHERE lower(address) = lower(wanted_address) $$;

CREATE OR REPLACE FUNCTION identity.tenants_of_client(wanted text) RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS
$$ SELECT tenant_id FROM identity.clients WHERE name = wanted OR id::text = lower(wanted) ORDER BY tenant_id $$;

REVOKE ALL ON FUNCTION identity.tenants_of_account(text), identity.tenants_of_client(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION identity.tenants_of_account(text), identity.tenants_of_client(text)
    TO chamberlain_application, chamberlain_worker;
