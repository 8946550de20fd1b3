-- Metadata of groups, as sent with their request. It outlasts the request, and is deleted with the group.
--
-- One row for each key: equality of texts is leakproof, so row-level security does not prevent the index. The index holds only the start of
-- a value, because a row of an index is limited to 2,704 bytes.
CREATE TABLE chamberlain.group_metadata (
    tenant_id uuid NOT NULL,
    subject_id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    value text NOT NULL,
    is_boolean boolean NOT NULL,
    value_start text COLLATE "C" NOT NULL GENERATED ALWAYS AS (left(value, 256)) STORED,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, subject_id, name)
);
CREATE INDEX group_metadata_value ON chamberlain.group_metadata (tenant_id, name, value_start, subject_id);

ALTER TABLE chamberlain.group_metadata ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.group_metadata TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.group_metadata TO chamberlain_worker USING (true);
GRANT SELECT ON chamberlain.group_metadata TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.group_metadata TO chamberlain_worker;

-- Store the metadata of a request's body for the group that the request created.
CREATE FUNCTION chamberlain.record_group_metadata(tenant uuid, created json, body json) RETURNS void LANGUAGE sql AS $$
    INSERT INTO chamberlain.group_metadata (tenant_id, subject_id, name, value, is_boolean)
    SELECT tenant, (chamberlain.clean(created) ->> 'id')::uuid, m.key, m.value #>> '{}', json_typeof(m.value) = 'boolean'
    FROM (SELECT chamberlain.clean(body) -> 'metadata' AS sent) b
    CROSS JOIN LATERAL json_each(CASE WHEN json_typeof(b.sent) = 'object' THEN b.sent END) m
    WHERE json_typeof(m.value) IN ('string', 'boolean')
    ON CONFLICT DO NOTHING
$$;

-- A trigger, because workers of the previous version end requests too. It fires once, when the id of the group is first known.
CREATE FUNCTION chamberlain.keep_group_metadata() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM chamberlain.record_group_metadata(NEW.tenant_id, coalesce(NEW.result, NEW.made), NEW.body);
    RETURN NULL;
END
$$;
CREATE TRIGGER keep_group_metadata AFTER UPDATE OF result, made ON chamberlain.request FOR EACH ROW
WHEN (
    NEW.kind IN ('group', 'team') AND OLD.result IS NULL AND OLD.made IS NULL
    AND (NEW.result IS NOT NULL OR NEW.made IS NOT NULL)
    AND (strpos(NEW.body::text, '"metadata"') > 0 OR strpos(NEW.body::text, '\u') > 0)
)
EXECUTE FUNCTION chamberlain.keep_group_metadata();
