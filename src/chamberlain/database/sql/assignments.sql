-- SPDX-License-Identifier: Apache-2.0
-- Look up and change assignments of groups and sites, in batches, each tenant on its own.

-- Groups and sites with their assignments, and the templates and policies to assign. Unknown groups are omitted; of an unknown template or
-- policy everything is null. It is planned once for each session, since planning takes longer than the lookup, and each is looked up by its
-- ids (OFFSET 0), however few rows there were then.
CREATE OR REPLACE FUNCTION chamberlain.find_assignments(
    tenant_ids uuid[], subject_ids uuid[], wanted_templates uuid[], wanted_policies uuid[]
) RETURNS TABLE (
    ordinal bigint, tenant_id uuid, subject_id uuid, type text, display_name text, mail text, is_team boolean,
    member_ship_type smallint, request_id uuid, site_url text, sharing text, observed_at timestamptz, template_id uuid, policy_id uuid,
    generation integer, assignment_request_id uuid, assigned_at timestamptz, assigned_by json, assigned_type text, effects json,
    open_findings bigint,
    template_name text, template_kind text, template_active boolean, template_revision integer,
    policy_name text, policy_active boolean, policy_revision integer,
    wanted_template_name text, wanted_template_kind text, wanted_template_active boolean, wanted_template_revision integer,
    wanted_policy_name text, wanted_policy_active boolean, wanted_policy_revision integer
)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    tenant uuid;
BEGIN
    FOR tenant IN SELECT DISTINCT t FROM unnest(tenant_ids) t LOOP
        PERFORM set_config('chamberlain.tenant_id', tenant::text, true);
        RETURN QUERY
        SELECT i.ordinal, s.tenant_id, s.subject_id, s.type, s.display_name, s.mail, s.is_team,
            s.member_ship_type, s.request_id, s.site_url, s.sharing, s.observed_at, s.template_id, s.policy_id,
            s.generation, s.assignment_request_id, s.assigned_at, s.assigned_by, s.assigned_type,
            (
                SELECT json_build_object('steps', r.steps, 'state', r.state, 'waiting', r.waiting, 'updated_at', r.updated_at)
                FROM chamberlain.request r WHERE r.request_id = s.assignment_request_id AND r.tenant_id = tenant
            ),
            (
                SELECT count(*) FROM chamberlain.finding f
                WHERE f.tenant_id = tenant AND f.subject_id = s.subject_id AND f.state = 'open'
            ),
            has_template.name, has_template.kind, has_template.active, has_template.revision,
            has_policy.name, has_policy.active, has_policy.revision,
            wants_template.name, wants_template.kind, wants_template.active, wants_template.revision,
            wants_policy.name, wants_policy.active, wants_policy.revision
        FROM unnest(tenant_ids, subject_ids, wanted_templates, wanted_policies) WITH ORDINALITY
            AS i (tenant_id, subject_id, template_id, policy_id, ordinal)
        CROSS JOIN LATERAL (
            SELECT s.tenant_id, s.subject_id, s.type, s.display_name, s.mail, s.is_team, s.member_ship_type, s.request_id, s.site_url,
                s.sharing, s.observed_at, s.template_id, s.policy_id, s.generation, s.assignment_request_id, s.assigned_at,
                s.assigned_by, s.assigned_type
            FROM chamberlain.subject s WHERE s.tenant_id = tenant AND s.subject_id = i.subject_id OFFSET 0
        ) s
        LEFT JOIN LATERAL chamberlain.template_head(tenant, s.template_id) has_template ON true
        LEFT JOIN LATERAL chamberlain.template_head(tenant, i.template_id) wants_template ON true
        LEFT JOIN LATERAL chamberlain.policy_head(tenant, s.policy_id) has_policy ON true
        LEFT JOIN LATERAL chamberlain.policy_head(tenant, i.policy_id) wants_policy ON true
        WHERE i.tenant_id = tenant;
    END LOOP;
END
$$;

-- The metadata of a group as JSON, or null. It selects the tenant itself, so that one statement can ask for groups of several tenants.
CREATE OR REPLACE FUNCTION chamberlain.metadata_of_group(tenant uuid, subject uuid) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('chamberlain.tenant_id', tenant::text, true);
    RETURN (
        SELECT json_object_agg(m.name, CASE WHEN m.is_boolean THEN to_json(m.value = 'true') ELSE to_json(m.value) END ORDER BY m.name)
        FROM chamberlain.group_metadata m WHERE m.tenant_id = tenant AND m.subject_id = subject
    );
END
$$;

-- A template without its content, as guest templates use it; no row if it does not exist.
CREATE OR REPLACE FUNCTION chamberlain.template_head(tenant uuid, wanted uuid)
RETURNS TABLE (name text, kind text, active boolean, revision integer)
LANGUAGE sql STABLE AS $$
    SELECT chamberlain.clean(r.content) ->> 'name', t.kind, t.active, t.revision
    FROM chamberlain.template t JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
    WHERE t.tenant_id = tenant AND t.template_id = wanted OFFSET 0
$$;

-- A policy without its content.
CREATE OR REPLACE FUNCTION chamberlain.policy_head(tenant uuid, wanted uuid)
RETURNS TABLE (name text, active boolean, revision integer)
LANGUAGE sql STABLE AS $$
    SELECT chamberlain.clean(p.content) ->> 'name', p.active, p.revision FROM chamberlain.policy p
    WHERE p.tenant_id = tenant AND p.policy_id = wanted OFFSET 0
$$;

-- Write changes of assignments, each with its request, job and audit row, and its event if there is one. A new or removed policy gets the
-- job that runs or ends it. A change is written only if the group or site has the generation of the decision, and the newly assigned
-- template or policy exists and is active. Written changes are returned. Those whose group, site, template or policy is locked by another
-- transaction are returned with a minus: waiting here would delay the changes of others. No group or site may repeat in a batch. Templates
-- and policies are locked against their removal only.
CREATE OR REPLACE FUNCTION chamberlain.change_assignments(
    tenant_ids uuid[], subject_ids uuid[], generations integer[], next_templates uuid[], next_policies uuid[],
    new_templates uuid[], new_policies uuid[], moments timestamptz[], assigned_bys text[],
    request_ids uuid[], display_names text[], request_templates uuid[], template_revisions integer[], template_names text[],
    bodies text[], steps text[], client_ids text[], actor_types text[], actor_ids uuid[], actor_names text[], trace_ids text[],
    audit_actions text[], audit_payloads text[], event_ids uuid[], event_types text[], event_data text[]
) RETURNS SETOF bigint
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET lock_timeout = '50ms' AS $$
#variable_conflict use_column
DECLARE
    tenant uuid;
    free_templates uuid[];
    free_policies uuid[];
    held_templates uuid[];
    held_policies uuid[];
    place bigint;
    is_ours boolean;
    written bigint[];
    policy_changed boolean;
    with_policy bigint[];
BEGIN
    FOR tenant IN SELECT DISTINCT t FROM unnest(tenant_ids) t ORDER BY t LOOP
        PERFORM set_config('chamberlain.tenant_id', tenant::text, true);
        free_templates := ARRAY(
            SELECT t.template_id FROM chamberlain.template t
            WHERE t.tenant_id = tenant AND t.template_id = ANY (new_templates) FOR KEY SHARE SKIP LOCKED
        );
        free_policies := ARRAY(
            SELECT p.policy_id FROM chamberlain.policy p
            WHERE p.tenant_id = tenant AND p.policy_id = ANY (new_policies) FOR KEY SHARE SKIP LOCKED
        );
        -- Separate statements: they do not see removals from before the locks.
        held_templates := ARRAY(
            SELECT t.template_id FROM chamberlain.template t
            WHERE t.tenant_id = tenant AND t.template_id = ANY (new_templates) AND t.template_id <> ALL (free_templates)
        );
        held_policies := ARRAY(
            SELECT p.policy_id FROM chamberlain.policy p
            WHERE p.tenant_id = tenant AND p.policy_id = ANY (new_policies) AND p.policy_id <> ALL (free_policies)
        );

        written := '{}';
        with_policy := '{}';
        FOR place, is_ours IN
            SELECT i.ordinal, s.is_ours
            FROM unnest(tenant_ids, subject_ids) WITH ORDINALITY AS i (tenant_id, subject_id, ordinal)
            LEFT JOIN LATERAL (
                SELECT true AS is_ours FROM chamberlain.subject s WHERE s.tenant_id = tenant AND s.subject_id = i.subject_id
                FOR NO KEY UPDATE SKIP LOCKED
            ) s ON true
            WHERE i.tenant_id = tenant
        LOOP
            IF is_ours IS NULL THEN
                RETURN QUERY SELECT -place FROM chamberlain.subject s
                WHERE s.tenant_id = tenant AND s.subject_id = subject_ids[place];
                CONTINUE;
            END IF;
            IF new_templates[place] = ANY (held_templates) OR new_policies[place] = ANY (held_policies) THEN
                RETURN NEXT -place;
                CONTINUE;
            END IF;
            UPDATE chamberlain.subject s SET
                template_id = next_templates[place], policy_id = next_policies[place], generation = s.generation + 1,
                assignment_request_id = request_ids[place], assigned_at = moments[place], assigned_by = assigned_bys[place]::json,
                assigned_type = s.type,
                policy_assigned_at = CASE WHEN s.policy_id IS NOT DISTINCT FROM next_policies[place] THEN s.policy_assigned_at
                    ELSE moments[place] END,
                policy_begun = s.policy_begun AND s.policy_id IS NOT DISTINCT FROM next_policies[place]
            WHERE s.tenant_id = tenant AND s.subject_id = subject_ids[place] AND s.generation = generations[place]
            AND (new_templates[place] IS NULL OR EXISTS (
                SELECT FROM chamberlain.template t
                WHERE t.tenant_id = tenant AND t.template_id = new_templates[place] AND t.active
                AND t.template_id = ANY (free_templates)
            ))
            AND (new_policies[place] IS NULL OR EXISTS (
                SELECT FROM chamberlain.policy p
                WHERE p.tenant_id = tenant AND p.policy_id = new_policies[place] AND p.active
                AND p.policy_id = ANY (free_policies)
            ))
            RETURNING s.policy_assigned_at IS NOT DISTINCT FROM moments[place] INTO policy_changed;
            IF FOUND THEN
                written := written || place;
                IF policy_changed THEN
                    with_policy := with_policy || place;
                END IF;
            END IF;
        END LOOP;

        INSERT INTO chamberlain.request (
            request_id, tenant_id, kind, state, display_name, template_id, template_revision, template_name, body,
            approval_required, people_checked, steps, client_id, actor_type, actor_id, actor_name, trace_id, subject_id,
            created_at, updated_at
        )
        SELECT request_ids[w], tenant, 'assignment', 'queued', display_names[w], request_templates[w], template_revisions[w],
            template_names[w], bodies[w]::json, false, true, steps[w]::json, client_ids[w], actor_types[w], actor_ids[w],
            actor_names[w], trace_ids[w], subject_ids[w], moments[w], moments[w]
        FROM unnest(written) w;
        INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
        SELECT tenant, 'assignmentApply', request_ids[w], trace_ids[w] FROM unnest(written) w;
        INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id)
        SELECT tenant, 'policyEvaluate', subject_ids[w], trace_ids[w] FROM unnest(with_policy) w;
        INSERT INTO chamberlain.audit (tenant_id, action, request_id, trace_id, payload)
        SELECT tenant, audit_actions[w], request_ids[w], trace_ids[w], audit_payloads[w]::json FROM unnest(written) w;
        -- In the order of their sequences: a request is accepted before its assignment changes.
        INSERT INTO chamberlain.event (event_id, tenant_id, type, request_id, at, data)
        SELECT gen_random_uuid(), tenant, 'request.accepted', request_ids[w], moments[w], chamberlain.accepted_event(
            request_ids[w], 'assignment', display_names[w], 'queued', actor_types[w], actor_ids[w], actor_names[w]
        )
        FROM unnest(written) w
        WHERE EXISTS (
            SELECT FROM chamberlain.tenant t WHERE t.tenant_id = tenant AND t.events_read_at > now() - interval '31 days'
        )
        UNION ALL
        SELECT event_ids[w], tenant, event_types[w], request_ids[w], moments[w], event_data[w]::json FROM unnest(written) w
        WHERE event_ids[w] IS NOT NULL;
        RETURN QUERY SELECT w FROM unnest(written) w;
    END LOOP;
END
$$;
