CREATE INDEX CONCURRENTLY event_request ON chamberlain.event (tenant_id, request_id) WHERE request_id IS NOT NULL;
