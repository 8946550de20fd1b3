-- The secret that a webhook had before its newest one, sealed for the same place. Calls are signed with it as well until `previous_until`.
-- Its name keeps it out of exports, as every column with `secret` in its name.
ALTER TABLE chamberlain.webhook_secret
    ADD COLUMN previous_secret bytea,
    ADD COLUMN previous_until timestamptz,
    ADD CONSTRAINT previous_is_whole CHECK ((previous_secret IS NULL) = (previous_until IS NULL));
