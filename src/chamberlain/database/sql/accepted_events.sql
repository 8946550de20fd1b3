-- SPDX-License-Identifier: Apache-2.0
-- Events of accepted requests. This file runs before those with the functions that call it.

-- A name has at most 256 characters in events (changes/models.py).
CREATE OR REPLACE FUNCTION chamberlain.short_name(name text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN char_length(name) > 256 THEN left(name, 255) || '…' ELSE name END
$$;

-- The data of the event of an accepted request, as requests/events.py makes it.
CREATE OR REPLACE FUNCTION chamberlain.accepted_event(
    request uuid, kind text, display_name text, state text, actor_type text, actor uuid, actor_name text
) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT json_build_object(
        'request', json_build_object(
            'requestId', request, 'kind', kind, 'displayName', chamberlain.short_name(display_name), 'state', state, 'error', NULL
        ),
        'createdBy', json_build_object('type', actor_type, 'id', actor, 'displayName', chamberlain.short_name(actor_name))
    )
$$;
