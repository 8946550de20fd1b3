-- Remember the prefixes of extension attributes that a tenant had before, each with the time of its change, and the prefix under which a
-- request marks what it makes. The trigger also remembers what a process of the version before changes.
ALTER TABLE chamberlain.tenant
    ADD COLUMN former_prefixes text[] NOT NULL DEFAULT '{}',
    ADD COLUMN former_until timestamptz[] NOT NULL DEFAULT '{}';
ALTER TABLE chamberlain.request ADD COLUMN extension_prefix text;

CREATE FUNCTION chamberlain.remember_prefix() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.former_prefixes := OLD.former_prefixes || OLD.extension_prefix;
    NEW.former_until := OLD.former_until || clock_timestamp();
    RETURN NEW;
END
$$;
CREATE TRIGGER remember_prefix BEFORE UPDATE OF extension_prefix ON chamberlain.tenant
    FOR EACH ROW WHEN (OLD.extension_prefix <> NEW.extension_prefix) EXECUTE FUNCTION chamberlain.remember_prefix();

-- The prefix that was in force at a time.
CREATE FUNCTION chamberlain.prefix_at(at timestamptz, current_prefix text, former text[], former_until timestamptz[]) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(
        (SELECT f.prefix FROM unnest(former, former_until) AS f (prefix, until) WHERE f.until > at ORDER BY f.until LIMIT 1),
        current_prefix
    )
$$;
