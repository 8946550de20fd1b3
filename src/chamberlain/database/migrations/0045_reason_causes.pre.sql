-- Code and values of warnings, beside their sentences. Steps, waits and timelines have them within their JSON.
ALTER TABLE chamberlain.request ADD COLUMN warning_causes json;
ALTER TABLE chamberlain.mailbox ADD COLUMN warning_causes json;

-- Older versions read the sentences alone, so rows keep them until 0055 replaces these functions. Writers call them.
CREATE FUNCTION chamberlain.kept_wait(wait json) RETURNS json LANGUAGE sql IMMUTABLE AS 'SELECT wait';
CREATE FUNCTION chamberlain.kept_steps(steps json) RETURNS json LANGUAGE sql IMMUTABLE AS 'SELECT steps';
CREATE FUNCTION chamberlain.kept_entries(entries jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS 'SELECT entries';
CREATE FUNCTION chamberlain.kept_warnings(warnings json, causes json) RETURNS json LANGUAGE sql IMMUTABLE AS 'SELECT warnings';

-- Older versions send a list of sentences with a request, newer ones an object of sentences and causes.
CREATE FUNCTION chamberlain.sent_warnings(sent json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
SELECT CASE json_typeof(sent) WHEN 'object' THEN chamberlain.kept_warnings(sent -> 'sentences', sent -> 'causes') ELSE sent END
$$;
CREATE FUNCTION chamberlain.sent_causes(sent json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
SELECT CASE json_typeof(sent) WHEN 'object' THEN sent -> 'causes' END
$$;
