CREATE INDEX CONCURRENTLY event_type ON chamberlain.event (tenant_id, type, position, sequence);
