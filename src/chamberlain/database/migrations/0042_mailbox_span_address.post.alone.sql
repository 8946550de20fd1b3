CREATE INDEX CONCURRENTLY mailbox_span_address ON chamberlain.mailbox (tenant_id, kind, span, address COLLATE "C");
