-- The time that an item has waited for the directory, by cause. An item without it has waited since `waits_since` for the same cause.
ALTER TABLE chamberlain.adoption_item ADD COLUMN waited jsonb;
ALTER TABLE chamberlain.release_item ADD COLUMN waited jsonb;
GRANT UPDATE (waited) ON chamberlain.adoption_item TO chamberlain_application;
