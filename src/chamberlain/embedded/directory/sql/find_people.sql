-- SPDX-License-Identifier: Apache-2.0
-- Finds people by the beginning of their words: those of the display name and of the local parts of the mail address and
-- the user name, and both of these as a whole. Mailboxes and users who cannot sign in are not found.
--
-- The words are rows with an index in byte order. Comparisons of texts are leakproof, so row-level security keeps the
-- index; those of text search are not. Names are composed (NFC), as typed texts are: a name from another system may be decomposed.

CREATE OR REPLACE FUNCTION directory.words_of(display_name text, mail text, user_principal_name text) RETURNS text[]
LANGUAGE sql IMMUTABLE
AS $$
    SELECT array_agg(DISTINCT left(w.word, 128)) FROM (
        SELECT regexp_split_to_table(lower(normalize(display_name, NFC)), '\s+') AS word
        UNION ALL SELECT regexp_split_to_table(lower(normalize(display_name, NFC)), '[^[:alnum:]]+')
        UNION ALL SELECT regexp_split_to_table(lower(split_part(mail, '@', 1)), '[^[:alnum:]]+')
        UNION ALL SELECT regexp_split_to_table(lower(split_part(user_principal_name, '@', 1)), '[^[:alnum:]]+')
        UNION ALL SELECT lower(mail)
        UNION ALL SELECT lower(user_principal_name)
    ) AS w WHERE w.word <> ''
$$;


CREATE OR REPLACE FUNCTION directory.note_words() RETURNS trigger
LANGUAGE plpgsql
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM directory.user_words w WHERE w.tenant_id = OLD.tenant_id AND w.user_id = OLD.id;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.account_enabled
        AND NOT EXISTS (SELECT FROM directory.mailboxes m WHERE m.tenant_id = NEW.tenant_id AND m.user_id = NEW.id)
    THEN
        INSERT INTO directory.user_words (tenant_id, word, sorted_name, user_id)
        SELECT NEW.tenant_id, w.word, lower(left(NEW.display_name, 256)), NEW.id
        FROM unnest(directory.words_of(NEW.display_name, NEW.mail, NEW.user_principal_name)) AS w (word)
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER note_words_by_insert AFTER INSERT ON directory.users
FOR EACH ROW WHEN (NEW.account_enabled) EXECUTE FUNCTION directory.note_words();
CREATE OR REPLACE TRIGGER note_words_by_update AFTER UPDATE ON directory.users
FOR EACH ROW WHEN (
    (OLD.account_enabled OR NEW.account_enabled)
    AND (OLD.display_name, OLD.mail, OLD.user_principal_name, OLD.account_enabled)
        IS DISTINCT FROM (NEW.display_name, NEW.mail, NEW.user_principal_name, NEW.account_enabled)
) EXECUTE FUNCTION directory.note_words();
CREATE OR REPLACE TRIGGER note_words_by_delete AFTER DELETE ON directory.users
FOR EACH ROW WHEN (OLD.account_enabled) EXECUTE FUNCTION directory.note_words();


-- Users from before these triggers.
INSERT INTO directory.user_words (tenant_id, word, sorted_name, user_id)
SELECT u.tenant_id, w.word, lower(left(u.display_name, 256)), u.id
FROM directory.users u
CROSS JOIN LATERAL unnest(directory.words_of(u.display_name, u.mail, u.user_principal_name)) AS w (word)
WHERE u.account_enabled AND NOT EXISTS (
    SELECT FROM directory.mailboxes m WHERE m.tenant_id = u.tenant_id AND m.user_id = u.id)
ON CONFLICT DO NOTHING;


-- At most `most` users with a word for each of the typed ones, by name and id. `people` is JSON like that of
-- directory.people_of, in no order.
CREATE OR REPLACE FUNCTION directory.find_people(
    this_tenant uuid, typed text[], most integer, OUT ids uuid[], OUT people text
)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    lowered text[] := ARRAY(SELECT DISTINCT lower(t.text) FROM unnest(typed) AS t (text));
    -- Words of several letters select users by the index, and their sets are intersected. A single letter selects too
    -- many: the users of the other words are checked in their order, up to the limit.
    words text[] := ARRAY(SELECT t.text FROM unnest(lowered) AS t (text) WHERE length(t.text) > 1);
    letters text[] := ARRAY(SELECT t.text FROM unnest(lowered) AS t (text) WHERE length(t.text) = 1);
BEGIN
    ids := ARRAY(
        SELECT f.user_id FROM (
            SELECT s.sorted_name, s.user_id
            FROM unnest(words) AS t (text)
            CROSS JOIN LATERAL (
                SELECT DISTINCT w.sorted_name, w.user_id FROM directory.user_words w
                -- No text that starts with the word is greater than it with the last character of Unicode.
                WHERE w.tenant_id = this_tenant AND w.word >= t.text AND w.word < t.text || chr(1114111)
            ) AS s
            GROUP BY s.sorted_name, s.user_id HAVING count(*) = cardinality(words)
            ORDER BY s.sorted_name, s.user_id OFFSET 0
        ) AS f
        WHERE NOT EXISTS (
            SELECT FROM unnest(letters) AS t (text)
            WHERE NOT EXISTS (
                SELECT FROM directory.user_words o
                WHERE o.tenant_id = this_tenant AND o.user_id = f.user_id AND starts_with(o.word, t.text)))
        ORDER BY f.sorted_name, f.user_id LIMIT most);
    people := directory.people_of(this_tenant, ids);
END
$$;
