CREATE INDEX CONCURRENTLY request_bucket_address ON chamberlain.request (
    tenant_id, date_bin('4 hours', created_at, '2000-01-01 00:00:00+00'::timestamptz), lower(address) COLLATE "C"
) WHERE address IS NOT NULL;
