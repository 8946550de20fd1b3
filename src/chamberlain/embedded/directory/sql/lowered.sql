-- SPDX-License-Identifier: Apache-2.0
-- Texts in lower case, converted like the stored texts that they are compared with.

CREATE OR REPLACE FUNCTION directory.lowered(texts text[]) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT ARRAY(SELECT lower(t.text) FROM unnest(texts) WITH ORDINALITY AS t (text, position) ORDER BY t.position)
$$;
