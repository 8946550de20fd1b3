-- Lists of requests by prefix look one bucket of four hours up after another (sql/request_lists.sql). Four hours balance two costs: the
-- number of buckets in 400 days, and the sort of one bucket.
CREATE INDEX CONCURRENTLY request_bucket_name ON chamberlain.request (
    tenant_id, date_bin('4 hours', created_at, '2000-01-01 00:00:00+00'::timestamptz), lower(display_name) COLLATE "C"
);
