-- The last time in which the jobs of a tenant were parked. It counts against no wait for the directory.
ALTER TABLE chamberlain.tenant
    ADD COLUMN directory_parked_at timestamptz,
    ADD COLUMN directory_unparked_at timestamptz;

CREATE FUNCTION chamberlain.note_parking() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.directory_parked THEN
        NEW.directory_parked_at := now();
        NEW.directory_unparked_at := NULL;
    ELSE
        NEW.directory_unparked_at := now();
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER note_parking BEFORE UPDATE OF directory_parked ON chamberlain.tenant
FOR EACH ROW WHEN (OLD.directory_parked IS DISTINCT FROM NEW.directory_parked)
EXECUTE FUNCTION chamberlain.note_parking();
