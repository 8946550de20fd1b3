-- What an adoption has to remember: under which prefix it sets its marks, whoever changes that of the tenant meanwhile, and who had it
-- undone. Of one that is older, that is the prefix of the tenant, and whoever confirmed it.
ALTER TABLE chamberlain.adoption
    ADD COLUMN extension_prefix text,
    ADD COLUMN undone_by json,
    ADD COLUMN undone_client_id text,
    ADD COLUMN undone_trace_id text;

-- Since when the directory has kept one waiting; whoever waits comes behind those who were not tried yet.
ALTER TABLE chamberlain.adoption_item ADD COLUMN waits_since timestamptz;
DROP INDEX chamberlain.adoption_item_state;
CREATE INDEX adoption_item_state ON chamberlain.adoption_item (tenant_id, adoption_id, state, waits_since NULLS FIRST, object_id);
