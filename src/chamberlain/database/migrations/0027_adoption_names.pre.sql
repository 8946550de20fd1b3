-- What is reserved for one that is taken, each as its kind and value: it is given back along the key of reservations.
ALTER TABLE chamberlain.adoption_item ADD COLUMN held json NOT NULL DEFAULT '[]';

UPDATE chamberlain.adoption_item i SET held = h.held
FROM (
    SELECT v.tenant_id, v.request_id, json_agg(json_build_array(v.kind, v.value) ORDER BY v.kind, v.value) AS held
    FROM chamberlain.reservation v JOIN chamberlain.adoption_item o USING (tenant_id, request_id)
    GROUP BY v.tenant_id, v.request_id
) h
WHERE i.tenant_id = h.tenant_id AND i.request_id = h.request_id;

-- Whoever has it undone begins the waiting anew.
GRANT UPDATE (waits_since) ON chamberlain.adoption_item TO chamberlain_application;
