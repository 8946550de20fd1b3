CREATE INDEX CONCURRENTLY mailbox_span_name ON chamberlain.mailbox (tenant_id, kind, span, name_key COLLATE "C");
