-- Tenants that were deleted: all that is left of them. The id is not called tenant_id, because what has one goes with its tenant
-- (store/tenant_rows.py). It is for whoever has the database alone, who may add to it and change nothing.
CREATE TABLE chamberlain.deleted_tenant (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL,
    name text NOT NULL,
    deleted_at timestamptz NOT NULL DEFAULT now(),
    deleted_by text NOT NULL,
    trace_id text NOT NULL,
    -- Of its audit trail, when all of that was sealed.
    head_position bigint NOT NULL,
    head_digest bytea NOT NULL
);
GRANT SELECT, INSERT ON chamberlain.deleted_tenant TO chamberlain_worker;
