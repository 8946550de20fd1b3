-- One default template of each mailbox kind: whether a template is the active default of its kind stands beside its content, where
-- the database can see to it that there is one.
ALTER TABLE chamberlain.template ADD COLUMN is_default boolean NOT NULL DEFAULT false;
UPDATE chamberlain.template t SET is_default = true
FROM (
    SELECT DISTINCT ON (t.tenant_id, t.kind) t.tenant_id, t.template_id
    FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
    WHERE t.active AND r.content ->> 'isDefault' = 'true'
    ORDER BY t.tenant_id, t.kind, t.updated_at DESC, t.template_id
) newest
WHERE t.tenant_id = newest.tenant_id AND t.template_id = newest.template_id;
CREATE UNIQUE INDEX template_default ON chamberlain.template (tenant_id, kind) WHERE is_default;

-- Templates newest first.
CREATE INDEX template_newest ON chamberlain.template (tenant_id, created_at, template_id);
