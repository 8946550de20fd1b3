-- SPDX-License-Identifier: Apache-2.0
-- Counts a call for the faults of an operation and returns them, the oldest first. With the rights of the owner: each role
-- calls it, and none of the application may write the table.

CREATE OR REPLACE FUNCTION directory.take_faults(tenants uuid[], called text)
RETURNS TABLE (
    tenant_id uuid, kind text, retry_after_seconds integer, after_calls bigint, times bigint, calls bigint,
    created_at timestamptz, id uuid)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE directory.requested_faults f SET calls = f.calls + 1
    WHERE f.tenant_id = ANY (tenants) AND f.operation = called AND f.ends_at > now()
    RETURNING f.tenant_id, f.kind, f.retry_after_seconds, f.after_calls, f.times, f.calls, f.created_at, f.id
$$;
