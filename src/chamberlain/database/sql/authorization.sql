-- SPDX-License-Identifier: Apache-2.0
-- Find the administrators of a tenant, by one statement that sets the tenant itself.
CREATE OR REPLACE FUNCTION chamberlain.administrators_of(tenant uuid)
RETURNS TABLE (administrator_users uuid[], administrator_groups uuid[])
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('chamberlain.tenant_id', tenant::text, true);
    RETURN QUERY SELECT t.administrator_users, t.administrator_groups FROM chamberlain.tenant t WHERE t.tenant_id = tenant;
END
$$;
