CREATE INDEX CONCURRENTLY mailbox_span_alias ON chamberlain.mailbox (tenant_id, kind, span, alias COLLATE "C") WHERE alias IS NOT NULL;
