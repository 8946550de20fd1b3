-- The last read of a tenant's events, to the day. `request.accepted` is written only for tenants with a reader (sql/requests.sql).
ALTER TABLE chamberlain.tenant ADD COLUMN events_read_at timestamptz;
