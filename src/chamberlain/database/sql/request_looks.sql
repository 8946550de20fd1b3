-- SPDX-License-Identifier: Apache-2.0
-- Requests of several tenants in one call, each seen as its own tenant sees it. The rows are those of the table as it is
-- by then; who asks names the columns.
CREATE OR REPLACE FUNCTION chamberlain.look_at_requests(tenants uuid[], wanted uuid[])
RETURNS SETOF chamberlain.request
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    this_tenant uuid;
    answered uuid[] := '{}';
BEGIN
    FOREACH this_tenant IN ARRAY tenants LOOP
        CONTINUE WHEN this_tenant = ANY (answered);
        answered := answered || this_tenant;
        PERFORM set_config('chamberlain.tenant_id', this_tenant::text, true);
        RETURN QUERY
        SELECT r.*
        FROM (SELECT DISTINCT request_id FROM unnest(tenants, wanted) AS w (tenant_id, request_id)
            WHERE w.tenant_id = this_tenant) AS w
        JOIN chamberlain.request r ON r.tenant_id = this_tenant AND r.request_id = w.request_id;
    END LOOP;
END
$$;

-- Count the requests that wait for a user's decision, up to a limit. Each page of the console asks, so it is one statement.
CREATE OR REPLACE FUNCTION chamberlain.count_to_decide(tenant uuid, approver uuid, most integer) RETURNS integer
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('chamberlain.tenant_id', tenant::text, true);
    RETURN (SELECT count(*) FROM (
        SELECT FROM chamberlain.request_approver a WHERE a.tenant_id = tenant AND a.user_id = approver LIMIT most
    ) waiting);
END
$$;
