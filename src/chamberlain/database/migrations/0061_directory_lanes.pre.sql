-- Jobs that use the directory of a tenant with `directory_lanes` run one by one, in a lane of the tenant. Those of a tenant with
-- `directory_parked` wait until its directory can be reached again.
ALTER TABLE chamberlain.tenant
    ADD COLUMN directory_lanes boolean NOT NULL DEFAULT false,
    ADD COLUMN directory_parked boolean NOT NULL DEFAULT false;

-- Both change seldom, so that the lock of NOTIFY does no harm.
CREATE FUNCTION chamberlain.wake_workers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('chamberlain_jobs', '');
    RETURN NULL;
END
$$;
CREATE TRIGGER wake_workers AFTER UPDATE OF directory_lanes, directory_parked ON chamberlain.tenant
FOR EACH ROW WHEN (
    (OLD.directory_lanes, OLD.directory_parked) IS DISTINCT FROM (NEW.directory_lanes, NEW.directory_parked)
) EXECUTE FUNCTION chamberlain.wake_workers();
CREATE INDEX tenant_directory_lanes ON chamberlain.tenant (tenant_id) WHERE directory_lanes;
