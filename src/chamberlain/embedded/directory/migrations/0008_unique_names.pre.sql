-- A key that a client may give a group, once; PATCH /groups(uniqueName='...') finds the group by it. Compared exactly.
ALTER TABLE directory.groups ADD COLUMN unique_name text;
CREATE UNIQUE INDEX groups_unique_name ON directory.groups (tenant_id, unique_name) WHERE unique_name IS NOT NULL;

ALTER TABLE directory.channels ADD COLUMN description text;
