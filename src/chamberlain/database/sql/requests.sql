-- SPDX-License-Identifier: Apache-2.0
-- With other arguments, the new functions would be added to the old ones. Both statements run in one transaction, so that processes of the
-- previous version always find one.
DROP FUNCTION IF EXISTS chamberlain.accept_requests;
DROP FUNCTION IF EXISTS chamberlain.explain_refused;

-- Accept a batch of requests: each gets its request, reservation, job, audit and event rows, or a reason for its rejection.
--
-- Values that requests share are sent once: the first arrays have one element for each origin, which is caller, client, template and the
-- values derived from it; `origins` has the origin of each request, counted from 1. The later arrays have one element for each request,
-- those of mailboxes, which come last, one for each mailbox: `mailbox_items` has its request, counted from 1. A mailbox gets its name, its
-- address and its alias, or nothing. Tenants are walked in order, and rows with locks are written in order, so that two batches never
-- deadlock. Only requests that were not accepted are returned, and, with a mailbox among them, one row without a request that reports the
-- others:
--   replayed         the key was used for the same thing: its request_id and approval_required are those of the first time
--   reused           the key was used for something else
--   nameTaken        another mailbox has this name
--   addressTaken     every address that would do is given away, or the alias is
--   templateChanged  the template or the tenant is no longer the one that the request was checked against
--   openRequests, requestsPerMinute  the tenant has as many as it may have
--   again            it lost to a request of this batch which itself was not accepted
--   accepted         the row that is about no request: its ordinal is 0
-- A null key, address or second address means none, and an array of nulls may be sent empty. job_kinds has the jobs to queue, event_types
-- the events. `held` are the requests, counted from 1, one of whose addresses belongs to an object in the directory.
--
-- One statement with a part for each table would start all of its parts for every batch, needed or not: these take four fifths of its time.
CREATE OR REPLACE FUNCTION chamberlain.accept_requests(
    tenant_ids uuid[], tenant_revisions integer[], kinds text[], states text[],
    template_ids uuid[], template_revisions integer[], template_names text[],
    approvals_required boolean[], people_checked boolean[], steps text[],
    client_ids text[], actor_types text[], actor_ids uuid[], actor_names text[], job_kinds text[], audit_actions text[],
    approvals text[], blocked text[], warnings text[], template_sources text[],
    origins integer[], request_ids uuid[], display_names text[],
    mail_nicknames text[], addresses text[], second_nicknames text[], second_addresses text[],
    bodies text[], trace_ids text[], keys text[], digests bytea[],
    audit_payloads text[], event_ids uuid[], event_types text[], event_data text[],
    mailbox_items bigint[], mailbox_ids uuid[], mailbox_names text[], mailbox_name_keys text[], mailbox_aliases text[],
    mailbox_readers text[], mailbox_contents text[], held bigint[] DEFAULT '{}'
) RETURNS TABLE (ordinal bigint, outcome text, request_id uuid, approval_required boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    tenants uuid[] := tenant_ids;
    tenant uuid;
    revision_now integer;
    is_limited boolean;
    has_reader boolean;
    all_stand boolean;
    -- For each request whether it belongs to the tenant and has no rejection so far, and whether it got its second address.
    standing boolean[];
    at_second boolean[];
    wanted bigint;
    gained bigint;
    refused bigint[];
    -- The result of set_config. An assignment is only an expression; a statement takes many times as long.
    setting text;
BEGIN
    -- The wait for an uncommitted name of another transaction has a timeout; the batcher then retries that request alone.
    setting := set_config('lock_timeout', '50ms', true);
    -- The plan of an empty table would scan a full one: rows are found by keys here.
    setting := set_config('enable_seqscan', 'off', true);
    IF cardinality(tenants) > 1 THEN
        tenants := ARRAY(SELECT DISTINCT t FROM unnest(tenant_ids) t ORDER BY t);
    END IF;
    FOREACH tenant IN ARRAY tenants LOOP
        setting := set_config('chamberlain.tenant_id', tenant::text, true);
        at_second := NULL;

        -- Mostly nothing has changed and all belong to one tenant; then no request has to be checked on its own.
        SELECT t.revision, t.open_requests IS NOT NULL OR t.requests_per_minute IS NOT NULL,
            t.events_read_at > now() - interval '31 days', cardinality(tenant_ids) = (
            SELECT count(*) FROM unnest(tenant_ids, tenant_revisions, template_ids, template_revisions)
                AS o (tenant_id, tenant_revision, template_id, template_revision)
            JOIN chamberlain.template p
                ON p.tenant_id = tenant AND p.template_id = o.template_id AND p.revision = o.template_revision
            WHERE o.tenant_id = tenant AND o.tenant_revision = t.revision
        )
        INTO revision_now, is_limited, has_reader, all_stand
        FROM chamberlain.tenant t WHERE t.tenant_id = tenant;
        IF all_stand THEN
            standing := array_fill(true, ARRAY[cardinality(origins)]);
        ELSE
            standing := ARRAY(
                SELECT o.origin IS NOT NULL FROM unnest(origins) WITH ORDINALITY AS i (origin, ordinal)
                LEFT JOIN (
                    SELECT o.origin FROM unnest(tenant_ids, tenant_revisions, template_ids, template_revisions) WITH ORDINALITY
                        AS o (tenant_id, tenant_revision, template_id, template_revision, origin)
                    JOIN chamberlain.template t
                        ON t.tenant_id = tenant AND t.template_id = o.template_id AND t.revision = o.template_revision
                    WHERE o.tenant_id = tenant AND o.tenant_revision = revision_now
                ) o ON o.origin = i.origin
                ORDER BY i.ordinal
            );
        END IF;

        IF cardinality(keys) > 0 THEN
            WITH new_key AS (
                INSERT INTO chamberlain.idempotency_key (tenant_id, client_id, caller_id, key, digest, request_id)
                SELECT tenant, client_ids[i.origin], actor_ids[i.origin], i.key, i.digest, i.request_id
                FROM unnest(origins, request_ids, keys, digests, standing) WITH ORDINALITY
                    AS i (origin, request_id, key, digest, stands, ordinal)
                WHERE i.stands AND i.key IS NOT NULL ORDER BY 2, 3, 4, i.ordinal
                ON CONFLICT DO NOTHING
                RETURNING request_id
            )
            SELECT array_agg(i.stands AND (i.key IS NULL OR i.request_id IN (SELECT request_id FROM new_key)) ORDER BY i.ordinal)
            INTO standing
            FROM unnest(request_ids, keys, standing) WITH ORDINALITY AS i (request_id, key, stands, ordinal);
        END IF;

        IF cardinality(held) > 0 THEN
            standing := ARRAY(
                SELECT i.stands AND i.ordinal <> ALL (held) FROM unnest(standing) WITH ORDINALITY AS i (stands, ordinal)
                ORDER BY i.ordinal
            );
        END IF;

        IF is_limited THEN
            SELECT array_agg(i.stands AND i.place <= r.room ORDER BY i.ordinal) INTO standing
            FROM (
                SELECT u.stands, u.ordinal, count(*) FILTER (WHERE u.stands) OVER (ORDER BY u.ordinal) AS place
                FROM unnest(standing) WITH ORDINALITY AS u (stands, ordinal)
            ) i CROSS JOIN chamberlain.room_of(tenant) r;
        END IF;

        INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id)
        SELECT tenant, 'address', lower(i.address), i.request_id
        FROM unnest(addresses, request_ids, standing) WITH ORDINALITY AS i (address, request_id, stands, ordinal)
        WHERE i.stands AND i.address IS NOT NULL ORDER BY 3, i.ordinal
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS gained = ROW_COUNT;
        wanted := cardinality(addresses);
        IF false = ANY (standing) OR array_position(addresses, NULL) IS NOT NULL THEN
            wanted := (SELECT count(*) FROM unnest(addresses, standing) AS i (address, stands) WHERE i.stands AND i.address IS NOT NULL);
        END IF;
        IF gained < wanted THEN
            -- A request without its first address tries the second; without both it is rejected.
            WITH missing AS MATERIALIZED (
                SELECT i.second_address, i.request_id, i.ordinal
                FROM unnest(addresses, second_addresses, request_ids, standing) WITH ORDINALITY
                    AS i (address, second_address, request_id, stands, ordinal)
                WHERE i.stands AND i.address IS NOT NULL AND NOT EXISTS (
                    SELECT FROM chamberlain.reservation v
                    WHERE v.tenant_id = tenant AND v.kind = 'address' AND v.value = lower(i.address) AND v.request_id = i.request_id
                )
            ), reserved_second AS (
                INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id)
                SELECT tenant, 'address', lower(second_address), request_id FROM missing
                WHERE second_address IS NOT NULL ORDER BY 3, ordinal
                ON CONFLICT DO NOTHING
                RETURNING request_id
            )
            SELECT array_agg(m.ordinal IS NOT NULL ORDER BY i.ordinal),
                array_agg(i.stands AND (m.ordinal IS NULL OR m.request_id IN (SELECT request_id FROM reserved_second)) ORDER BY i.ordinal)
            INTO at_second, standing
            FROM unnest(standing) WITH ORDINALITY AS i (stands, ordinal) LEFT JOIN missing m ON m.ordinal = i.ordinal;
        END IF;

        IF cardinality(mailbox_items) > 0 THEN
            INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id)
            SELECT tenant, c.kind, c.value, request_ids[m.ordinal]
            FROM unnest(mailbox_items, mailbox_name_keys, mailbox_aliases) AS m (ordinal, name_key, alias)
            CROSS JOIN LATERAL (VALUES ('name', m.name_key), ('address', m.alias)) AS c (kind, value)
            WHERE standing[m.ordinal] AND c.value IS NOT NULL ORDER BY c.kind, c.value, m.ordinal
            ON CONFLICT DO NOTHING;
            GET DIAGNOSTICS gained = ROW_COUNT;
            wanted := cardinality(mailbox_items) + cardinality(array_remove(mailbox_aliases, NULL));
            IF gained < wanted THEN
                -- A request that did not get all of it is rejected.
                standing := ARRAY(
                    SELECT i.stands AND NOT EXISTS (
                        SELECT FROM unnest(mailbox_items, mailbox_name_keys, mailbox_aliases) AS m (ordinal, name_key, alias)
                        CROSS JOIN LATERAL (VALUES ('name', m.name_key), ('address', m.alias)) AS c (kind, value)
                        WHERE m.ordinal = i.ordinal AND c.value IS NOT NULL AND NOT EXISTS (
                            SELECT FROM chamberlain.reservation v
                            WHERE v.tenant_id = tenant AND v.kind = c.kind AND v.value = c.value AND v.request_id = i.request_id
                        )
                    )
                    FROM unnest(standing, request_ids) WITH ORDINALITY AS i (stands, request_id, ordinal) ORDER BY i.ordinal
                );
            END IF;
        END IF;

        INSERT INTO chamberlain.request (
            request_id, tenant_id, kind, state, display_name, mail_nickname, address,
            template_id, template_revision, template_name, body, approval_required, people_checked, steps,
            client_id, actor_type, actor_id, actor_name, trace_id, approvals, blocked, warnings,
            warning_causes
        )
        SELECT i.request_id, tenant, kinds[i.origin], states[i.origin], i.display_name,
            CASE WHEN i.at_second THEN second_nicknames[i.ordinal] ELSE i.mail_nickname END,
            CASE WHEN i.at_second THEN second_addresses[i.ordinal] ELSE i.address END,
            template_ids[i.origin], template_revisions[i.origin], template_names[i.origin], i.body::json,
            approvals_required[i.origin], people_checked[i.origin], steps[i.origin]::json,
            client_ids[i.origin], actor_types[i.origin], actor_ids[i.origin], actor_names[i.origin], i.trace_id,
            approvals[i.origin]::json, blocked[i.origin], chamberlain.sent_warnings(warnings[i.origin]::json),
            chamberlain.sent_causes(warnings[i.origin]::json)
        FROM unnest(origins, request_ids, display_names, mail_nicknames, addresses, bodies, trace_ids, standing, at_second)
            WITH ORDINALITY AS i (
                origin, request_id, display_name, mail_nickname, address, body, trace_id, stands, at_second, ordinal
            )
        WHERE i.stands;

        INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
        SELECT tenant, job_kinds[i.origin], i.request_id, i.trace_id
        FROM unnest(origins, request_ids, trace_ids, standing) AS i (origin, request_id, trace_id, stands)
        WHERE i.stands AND job_kinds[i.origin] IS NOT NULL;

        INSERT INTO chamberlain.audit (tenant_id, action, request_id, trace_id, payload)
        SELECT tenant, audit_actions[i.origin], i.request_id, i.trace_id, i.payload::json
        FROM unnest(origins, request_ids, trace_ids, audit_payloads, standing)
            AS i (origin, request_id, trace_id, payload, stands)
        WHERE i.stands;

        IF has_reader THEN
            INSERT INTO chamberlain.event (event_id, tenant_id, type, request_id, at, data)
            SELECT gen_random_uuid(), tenant, 'request.accepted', i.request_id, now(), chamberlain.accepted_event(
                i.request_id, kinds[i.origin], i.display_name, states[i.origin],
                actor_types[i.origin], actor_ids[i.origin], actor_names[i.origin]
            )
            FROM unnest(origins, request_ids, display_names, standing) AS i (origin, request_id, display_name, stands)
            WHERE i.stands;
        END IF;

        IF cardinality(event_ids) > 0 THEN
            INSERT INTO chamberlain.event (event_id, tenant_id, type, request_id, at, data)
            SELECT i.event_id, tenant, i.event_type, i.request_id, now(), i.data::json
            FROM unnest(request_ids, event_ids, event_types, event_data, standing)
                AS i (request_id, event_id, event_type, data, stands)
            WHERE i.stands AND i.event_type IS NOT NULL;
        END IF;

        IF cardinality(mailbox_items) > 0 THEN
            WITH described AS (
                INSERT INTO chamberlain.mailbox (
                    request_id, mailbox_id, tenant_id, kind, name, name_key, display_name, address, alias, template_id,
                    template_source, content, warnings, warning_causes, readers, approval_required, actor_type, actor_id, actor_name
                )
                SELECT request_ids[m.ordinal], m.mailbox_id, tenant, kinds[origins[m.ordinal]], m.name, m.name_key,
                    display_names[m.ordinal], addresses[m.ordinal], m.alias, template_ids[origins[m.ordinal]],
                    template_sources[origins[m.ordinal]], m.content::json,
                    chamberlain.sent_warnings(warnings[origins[m.ordinal]]::json),
                    chamberlain.sent_causes(warnings[origins[m.ordinal]]::json), m.readers::uuid[],
                    approvals_required[origins[m.ordinal]], actor_types[origins[m.ordinal]], actor_ids[origins[m.ordinal]],
                    actor_names[origins[m.ordinal]]
                FROM unnest(
                    mailbox_items, mailbox_ids, mailbox_names, mailbox_name_keys, mailbox_aliases, mailbox_readers, mailbox_contents
                ) AS m (ordinal, mailbox_id, name, name_key, alias, readers, content)
                WHERE standing[m.ordinal]
                RETURNING kind, request_id, readers
            )
            INSERT INTO chamberlain.mailbox_reader (tenant_id, user_id, kind, request_id)
            SELECT tenant, reader, described.kind, described.request_id FROM described CROSS JOIN unnest(described.readers) reader;
        END IF;

        IF false = ANY (standing) THEN
            refused := ARRAY(
                SELECT i.ordinal FROM unnest(origins, standing) WITH ORDINALITY AS i (origin, stands, ordinal)
                WHERE NOT i.stands AND tenant_ids[i.origin] = tenant ORDER BY i.ordinal
            );
            RETURN QUERY SELECT * FROM chamberlain.explain_refused(
                tenant, refused, tenant_revisions, template_ids, template_revisions, client_ids, actor_ids,
                origins, request_ids, addresses, keys, digests, mailbox_items, mailbox_name_keys, mailbox_aliases, held
            );
        END IF;
    END LOOP;
    IF cardinality(mailbox_items) > 0 THEN
        RETURN QUERY SELECT 0::bigint, 'accepted', NULL::uuid, NULL::boolean;
    END IF;
END
$$;

-- Reasons for the rejections of one tenant. Runs after the batch's own rows are written, so it sees the commits of others meanwhile. It
-- releases the keys of rejected requests, and partial reservations of mailboxes.
CREATE OR REPLACE FUNCTION chamberlain.explain_refused(
    tenant uuid, refused bigint[], tenant_revisions integer[], template_ids uuid[], template_revisions integer[],
    client_ids text[], actor_ids uuid[], origins integer[], request_ids uuid[], addresses text[], keys text[], digests bytea[],
    mailbox_items bigint[], mailbox_name_keys text[], mailbox_aliases text[], held bigint[]
) RETURNS TABLE (ordinal bigint, outcome text, request_id uuid, approval_required boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    place bigint;
    origin integer;
    first_digest bytea;
    first_request uuid;
    full_limit text := 'not asked yet';
    mailbox integer;
BEGIN
    DELETE FROM chamberlain.idempotency_key k
    USING unnest(refused) p
    WHERE k.tenant_id = tenant AND k.client_id = client_ids[origins[p]] AND k.caller_id = actor_ids[origins[p]] AND k.key = keys[p]
    AND k.request_id = request_ids[p];
    IF cardinality(mailbox_items) > 0 THEN
        DELETE FROM chamberlain.reservation v
        USING unnest(mailbox_items, mailbox_name_keys, mailbox_aliases) AS m (item, name_key, alias)
        WHERE m.item = ANY (refused) AND v.tenant_id = tenant AND v.request_id = request_ids[m.item]
        AND (v.kind, v.value) IN (('name', m.name_key), ('address', m.alias), ('address', lower(addresses[m.item])));
    END IF;
    FOREACH place IN ARRAY refused LOOP
        mailbox := array_position(mailbox_items, place);
        ordinal := place;
        origin := origins[place];
        outcome := NULL;
        request_id := NULL;
        approval_required := NULL;
        first_digest := NULL;
        first_request := NULL;
        SELECT k.digest, k.request_id INTO first_digest, first_request FROM chamberlain.idempotency_key k
        WHERE k.tenant_id = tenant AND k.client_id = client_ids[origin] AND k.caller_id = actor_ids[origin]
        AND k.key = keys[place];
        IF first_digest <> digests[place] OR first_digest IS NOT NULL AND first_request IS NULL THEN
            outcome := 'reused';
        ELSIF first_digest IS NOT NULL THEN
            request_id := first_request;
            outcome := 'replayed';
            approval_required := (
                SELECT r.approval_required FROM chamberlain.request r
                WHERE r.tenant_id = tenant AND r.request_id = first_request
            );
        ELSIF NOT EXISTS (
            SELECT FROM chamberlain.tenant t WHERE t.tenant_id = tenant AND t.revision = tenant_revisions[origin]
        ) OR NOT EXISTS (
            SELECT FROM chamberlain.template t WHERE t.tenant_id = tenant AND t.template_id = template_ids[origin]
            AND t.revision = template_revisions[origin]
        ) THEN
            outcome := 'templateChanged';
        ELSIF EXISTS (
            SELECT FROM chamberlain.reservation v
            WHERE v.tenant_id = tenant AND v.kind = 'name' AND v.value = mailbox_name_keys[mailbox]
        ) THEN
            outcome := 'nameTaken';
        ELSIF place = ANY (held) OR EXISTS (
            SELECT FROM chamberlain.reservation v
            WHERE v.tenant_id = tenant AND v.kind = 'address' AND v.value IN (lower(addresses[place]), mailbox_aliases[mailbox])
        ) THEN
            outcome := 'addressTaken';
        ELSE
            IF full_limit = 'not asked yet' THEN
                full_limit := (
                    SELECT CASE WHEN t.open_requests IS NOT NULL OR t.requests_per_minute IS NOT NULL
                        THEN (SELECT r.full_limit FROM chamberlain.room_of(tenant) r) END
                    FROM chamberlain.tenant t WHERE t.tenant_id = tenant
                );
            END IF;
            outcome := coalesce(full_limit, 'again');
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

-- The remaining number of requests of a tenant with limits, and the exhausted limit if there is none. It is volatile, so that it counts the
-- rows committed when the lock is held: two batches of one tenant never fill the same room. The count never exceeds the limit.
CREATE OR REPLACE FUNCTION chamberlain.room_of(tenant uuid, OUT room integer, OUT full_limit text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    most_open integer;
    most_in_a_minute integer;
    open_room integer;
    minute_room integer;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('limits of ' || tenant, 0));
    SELECT t.open_requests, t.requests_per_minute INTO most_open, most_in_a_minute
    FROM chamberlain.tenant t WHERE t.tenant_id = tenant;
    -- Open requests have a job, or wait for an approval. A job whose request was cancelled while it ran counts until it ends.
    open_room := most_open - (
        SELECT count(*) FROM (
            (SELECT FROM chamberlain.job j
            WHERE j.tenant_id = tenant AND j.held_reason IS NULL AND j.lane IS NULL AND j.kind IN ('groupProvision', 'mailboxProvision')
            LIMIT most_open)
            UNION ALL
            (SELECT FROM chamberlain.job j
            WHERE j.tenant_id = tenant AND j.held_reason IS NOT NULL AND j.kind IN ('groupProvision', 'mailboxProvision') LIMIT most_open)
            UNION ALL
            (SELECT FROM chamberlain.request_by_state s
            WHERE s.tenant_id = tenant AND s.state = 'pendingApproval' LIMIT most_open)
        ) open
    );
    minute_room := most_in_a_minute - (
        SELECT count(*) FROM (
            SELECT FROM chamberlain.request r
            WHERE r.tenant_id = tenant AND r.created_at > now() - interval '1 minute'
            -- Requests of a time when the clock was ahead do not count for this minute.
            AND r.created_at <= now() LIMIT most_in_a_minute
        ) recent
    );
    room := greatest(least(open_room, minute_room), 0);
    full_limit := CASE WHEN open_room <= 0 THEN 'openRequests' WHEN minute_room <= 0 THEN 'requestsPerMinute' END;
END
$$;
