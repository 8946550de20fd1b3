-- Accept a batch of requests: each gets its request, reservation, job, audit and event rows, or a reason why not.
--
-- What requests have in common comes once: the first arrays have one element for each origin, which is who asked, by which client,
-- with which template and what follows from it; `origins` says which one a request has, counted from 1. The arrays from there on have
-- one element for each request, those of mailboxes, which come last, one for each mailbox: `mailbox_items` says which request it is,
-- counted from 1. A mailbox gets its name, its address and its alias, or nothing. Tenants are walked in order, and rows that others
-- may wait for are written in order, so that two batches never wait for each other crosswise. Only requests that were not accepted are
-- returned, and, where there is a mailbox among them, one row that is about no request and says that the others were:
--   replayed         the key was used for the same thing: its request_id and approval_required are those of the first time
--   reused           the key was used for something else
--   nameTaken        another mailbox has this name
--   addressTaken     every address that would do is given away, or the alias is
--   templateChanged  the template or the tenant is no longer the one that the request was checked against
--   openRequests, requestsPerMinute  the tenant has as many as it may have
--   again            it lost to a request of this batch which itself was not accepted
--   accepted         the row that is about no request: its ordinal is 0
-- A null key, address or second address means that there is none. A job is queued where job_kinds says so, an event where
-- event_types does.
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
    mailbox_readers text[], mailbox_contents text[]
) RETURNS TABLE (ordinal bigint, outcome text, request_id uuid, approval_required boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    tenant uuid;
    refused bigint[];
BEGIN
    -- Waiting for a name that another transaction has not committed yet is bounded; the batcher then lets that one wait alone.
    PERFORM set_config('lock_timeout', '50ms', true);
    FOR tenant IN SELECT DISTINCT t FROM unnest(tenant_ids) t ORDER BY t LOOP
        PERFORM set_config('chamberlain.tenant_id', tenant::text, true);

        WITH origin AS MATERIALIZED (
            SELECT o.* FROM unnest(
                tenant_ids, tenant_revisions, kinds, states, template_ids, template_revisions, template_names,
                approvals_required, people_checked, steps,
                client_ids, actor_types, actor_ids, actor_names, job_kinds, audit_actions, approvals, blocked,
                warnings, template_sources
            ) WITH ORDINALITY AS o (
                tenant_id, tenant_revision, kind, state, template_id, template_revision, template_name,
                approval_required, people_checked, steps,
                client_id, actor_type, actor_id, actor_name, job_kind, audit_action, approvals, blocked, warnings,
                template_source, origin
            )
            WHERE o.tenant_id = tenant
        ), item AS MATERIALIZED (
            SELECT i.* FROM unnest(
                origins, request_ids, display_names, mail_nicknames, addresses, second_nicknames, second_addresses,
                bodies, trace_ids, keys, digests, audit_payloads, event_ids, event_types, event_data
            ) WITH ORDINALITY AS i (
                origin, request_id, display_name, mail_nickname, address, second_nickname, second_address,
                body, trace_id, key, digest, audit_payload, event_id, event_type, event_data, ordinal
            )
            WHERE i.origin IN (SELECT origin.origin FROM origin)
        ), mailbox AS MATERIALIZED (
            SELECT m.* FROM unnest(mailbox_items, mailbox_name_keys, mailbox_aliases) AS m (ordinal, name_key, alias)
        ), true_still AS (
            SELECT * FROM origin JOIN item USING (origin)
            WHERE EXISTS (SELECT FROM chamberlain.tenant t WHERE t.tenant_id = tenant AND t.revision = origin.tenant_revision)
            AND EXISTS (
                SELECT FROM chamberlain.template t
                WHERE t.tenant_id = tenant AND t.template_id = origin.template_id AND t.revision = origin.template_revision
            )
        ), new_key AS (
            INSERT INTO chamberlain.idempotency_key (tenant_id, client_id, caller_id, key, digest, request_id)
            SELECT tenant, client_id, actor_id, key, digest, request_id FROM true_still
            WHERE key IS NOT NULL ORDER BY client_id, actor_id, key, ordinal
            ON CONFLICT DO NOTHING
            RETURNING request_id
        ), allowed AS MATERIALIZED (
            SELECT CASE WHEN t.open_requests IS NOT NULL OR t.requests_per_minute IS NOT NULL
                THEN (SELECT r.room FROM chamberlain.room_of(tenant) r) END AS room
            FROM chamberlain.tenant t WHERE t.tenant_id = tenant
        ), fresh AS (
            SELECT * FROM true_still WHERE (key IS NULL OR request_id IN (SELECT request_id FROM new_key))
            AND ((SELECT room FROM allowed) IS NULL OR ordinal IN (
                SELECT ordinal FROM true_still WHERE key IS NULL OR request_id IN (SELECT request_id FROM new_key)
                ORDER BY ordinal LIMIT (SELECT room FROM allowed)
            ))
        ), reserved AS (
            INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id)
            SELECT tenant, 'address', lower(address), request_id FROM fresh
            WHERE address IS NOT NULL ORDER BY lower(address), ordinal
            ON CONFLICT DO NOTHING
            RETURNING request_id
        ), reserved_second AS (
            INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id)
            SELECT tenant, 'address', lower(second_address), request_id FROM fresh
            WHERE second_address IS NOT NULL AND request_id NOT IN (SELECT request_id FROM reserved)
            ORDER BY lower(second_address), ordinal
            ON CONFLICT DO NOTHING
            RETURNING request_id
        ), claim AS MATERIALIZED (
            SELECT fresh.request_id, 'name' AS kind, name_key AS value, ordinal FROM mailbox JOIN fresh USING (ordinal)
            UNION ALL
            SELECT fresh.request_id, 'address', alias, ordinal FROM mailbox JOIN fresh USING (ordinal) WHERE alias IS NOT NULL
        ), claimed AS (
            INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id)
            SELECT tenant, kind, value, request_id FROM claim ORDER BY kind, value, ordinal
            ON CONFLICT DO NOTHING
            RETURNING request_id, kind, value
        ), incomplete AS (
            SELECT request_id FROM claim WHERE (request_id, kind, value) NOT IN (SELECT request_id, kind, value FROM claimed)
        ), placed AS (
            SELECT fresh.*, address IS NOT NULL AND request_id IN (SELECT request_id FROM reserved_second) AS at_second
            FROM fresh
            WHERE (
                address IS NULL OR request_id IN (SELECT request_id FROM reserved)
                OR request_id IN (SELECT request_id FROM reserved_second)
            ) AND request_id NOT IN (SELECT request_id FROM incomplete)
        ), inserted AS (
            INSERT INTO chamberlain.request (
                request_id, tenant_id, kind, state, display_name, mail_nickname, address,
                template_id, template_revision, template_name, body, approval_required, people_checked, steps,
                client_id, actor_type, actor_id, actor_name, trace_id, approvals, blocked, warnings
            )
            SELECT request_id, tenant, kind, state, display_name,
                CASE WHEN at_second THEN second_nickname ELSE mail_nickname END,
                CASE WHEN at_second THEN second_address ELSE address END,
                template_id, template_revision, template_name, body::json, approval_required, people_checked, steps::json,
                client_id, actor_type, actor_id, actor_name, trace_id, placed.approvals::json, placed.blocked,
                placed.warnings::json
            FROM placed
        ), queued AS (
            INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
            SELECT tenant, job_kind, request_id, trace_id FROM placed WHERE job_kind IS NOT NULL ORDER BY ordinal
        ), audited AS (
            INSERT INTO chamberlain.audit (tenant_id, action, request_id, trace_id, payload)
            SELECT tenant, audit_action, request_id, trace_id, audit_payload::json FROM placed ORDER BY ordinal
        ), told AS (
            INSERT INTO chamberlain.event (event_id, tenant_id, type, request_id, at, data)
            SELECT event_id, tenant, event_type, request_id, now(), event_data::json FROM placed
            WHERE event_type IS NOT NULL ORDER BY ordinal
        )
        SELECT array_agg(item.ordinal) INTO refused FROM item
        WHERE item.ordinal NOT IN (SELECT placed.ordinal FROM placed);

        IF cardinality(mailbox_items) > 0 THEN
            WITH described AS (
                INSERT INTO chamberlain.mailbox (
                    request_id, mailbox_id, tenant_id, kind, name, name_key, display_name, address, alias, template_id,
                    template_source, content, warnings, readers, approval_required, actor_type, actor_id, actor_name
                )
                SELECT request_ids[m.ordinal], m.mailbox_id, tenant, kinds[origins[m.ordinal]], m.name, m.name_key,
                    display_names[m.ordinal], addresses[m.ordinal], m.alias, template_ids[origins[m.ordinal]],
                    template_sources[origins[m.ordinal]], m.content::json, warnings[origins[m.ordinal]]::json, m.readers::uuid[],
                    approvals_required[origins[m.ordinal]], actor_types[origins[m.ordinal]], actor_ids[origins[m.ordinal]],
                    actor_names[origins[m.ordinal]]
                FROM unnest(
                    mailbox_items, mailbox_ids, mailbox_names, mailbox_name_keys, mailbox_aliases, mailbox_readers, mailbox_contents
                ) AS m (ordinal, mailbox_id, name, name_key, alias, readers, content)
                WHERE tenant_ids[origins[m.ordinal]] = tenant AND (refused IS NULL OR m.ordinal <> ALL (refused))
                RETURNING kind, request_id, readers
            )
            INSERT INTO chamberlain.mailbox_reader (tenant_id, user_id, kind, request_id)
            SELECT tenant, reader, described.kind, described.request_id FROM described CROSS JOIN unnest(described.readers) reader;
        END IF;
        IF refused IS NOT NULL THEN
            RETURN QUERY SELECT * FROM chamberlain.explain_refused(
                tenant, refused, tenant_revisions, template_ids, template_revisions, client_ids, actor_ids,
                origins, request_ids, addresses, keys, digests, mailbox_items, mailbox_name_keys, mailbox_aliases
            );
        END IF;
    END LOOP;
    IF cardinality(mailbox_items) > 0 THEN
        RETURN QUERY SELECT 0::bigint, 'accepted', NULL::uuid, NULL::boolean;
    END IF;
END
$$;

-- Why requests of one tenant were not accepted. Runs after the batch's own rows are written, so it sees what was committed by
-- others meanwhile; it gives back the keys of those that were refused, and what a mailbox got before it did not get the rest.
CREATE OR REPLACE FUNCTION chamberlain.explain_refused(
    tenant uuid, refused bigint[], tenant_revisions integer[], template_ids uuid[], template_revisions integer[],
    client_ids text[], actor_ids uuid[], origins integer[], request_ids uuid[], addresses text[], keys text[], digests bytea[],
    mailbox_items bigint[], mailbox_name_keys text[], mailbox_aliases text[]
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
        ELSIF EXISTS (
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

-- How many more requests a tenant with limits may have, and the limit that is full when there is no room. It is volatile, so that what
-- it counts is what is committed when the lock is had: two batches of one tenant never fill the same room. What is counted is never
-- more than the limit itself.
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
    -- What is open has a job, or waits for an approval. A job whose request was cancelled counts until a worker comes by.
    open_room := most_open - (
        SELECT count(*) FROM (
            (SELECT FROM chamberlain.job j
            WHERE j.tenant_id = tenant AND j.held_reason IS NULL AND j.kind IN ('groupProvision', 'mailboxProvision') LIMIT most_open)
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
            WHERE r.tenant_id = tenant AND r.created_at > now() - interval '1 minute' LIMIT most_in_a_minute
        ) recent
    );
    room := greatest(least(open_room, minute_room), 0);
    full_limit := CASE WHEN open_room <= 0 THEN 'openRequests' WHEN minute_room <= 0 THEN 'requestsPerMinute' END;
END
$$;
