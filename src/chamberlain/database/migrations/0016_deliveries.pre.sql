-- Calls of webhooks: one row for each event that a webhook is told of, kept for a month with every attempt.

-- Jobs of a lane are claimed by whoever serves lanes, some of each: what is slow in one stands in nobody's way. A delivery's lane is the
-- template whose webhook it is for. All others are walked by an index of their own, which no backlog of deliveries makes longer; a worker
-- from before this file finds its jobs without an index until it is replaced.
ALTER TABLE chamberlain.job ADD COLUMN lane uuid;
CREATE INDEX job_due ON chamberlain.job (tenant_id, run_at) WHERE held_reason IS NULL AND lane IS NULL;
CREATE INDEX job_lane ON chamberlain.job (tenant_id, lane, run_at) WHERE held_reason IS NULL AND lane IS NOT NULL;
DROP INDEX chamberlain.job_next;

-- The payload is what is sent, to the byte, at every attempt. `url` is where it went last, or was to go. `tries` counts the attempts since
-- the delivery was queued the last time, and says where in the schedule it is; `attempts` holds the newest of all. The time of the next
-- attempt is that of its job.
CREATE TABLE chamberlain.delivery (
    tenant_id uuid NOT NULL,
    delivery_id uuid NOT NULL,
    event_id uuid NOT NULL,
    type text NOT NULL,
    request_id uuid,
    template_id uuid NOT NULL,
    url text NOT NULL,
    state text NOT NULL DEFAULT 'pending',
    job_id bigint,
    tries integer NOT NULL DEFAULT 0,
    attempt_count integer NOT NULL DEFAULT 0,
    attempts jsonb NOT NULL DEFAULT '[]',
    payload text NOT NULL,
    trace_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, delivery_id)
) WITH (fillfactor = 60);
CREATE INDEX delivery_newest ON chamberlain.delivery (tenant_id, created_at, delivery_id);
CREATE INDEX delivery_of_template ON chamberlain.delivery (tenant_id, template_id, created_at, delivery_id);
CREATE INDEX delivery_of_request ON chamberlain.delivery (tenant_id, request_id, created_at, delivery_id);
-- Few are not through, and those are looked for.
CREATE INDEX delivery_open ON chamberlain.delivery (tenant_id, state, created_at, delivery_id) WHERE state <> 'succeeded';

-- How the webhook of a template gets on. There is no row as long as nothing is wrong. `failing_since` is the time of the first call without
-- success since the last one with it.
CREATE TABLE chamberlain.webhook_state (
    tenant_id uuid NOT NULL,
    template_id uuid NOT NULL,
    failing_since timestamptz,
    disabled_at timestamptz,
    disabled_reason text,
    PRIMARY KEY (tenant_id, template_id),
    FOREIGN KEY (tenant_id, template_id) REFERENCES chamberlain.template ON DELETE CASCADE
);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['delivery', 'webhook_state'] LOOP
        EXECUTE format('ALTER TABLE chamberlain.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_tenant ON chamberlain.%I TO chamberlain_application '
            'USING (tenant_id = nullif(current_setting(''chamberlain.tenant_id'', true), '''')::uuid)',
            name
        );
        EXECUTE format('CREATE POLICY all_tenants ON chamberlain.%I TO chamberlain_worker USING (true)', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.%I TO chamberlain_worker', name);
    END LOOP;
END
$$;
GRANT SELECT, INSERT, UPDATE ON chamberlain.delivery TO chamberlain_application;
GRANT SELECT, DELETE ON chamberlain.webhook_state TO chamberlain_application;
