-- What guest rules are assigned to: groups and sites as the directory showed them last, with what is assigned, and findings about them.

-- Every group and managed site that is known. Of a site it is the security group. name_key is the form of the name that lists are sorted
-- by and looked up in; generation counts the changes of the assignment, so that whoever works on one notices the next.
-- assignment_request_id is the request that brings the last one about. Both ids stand in one column as well, so that whoever looks for
-- both is never sent along the index of one of them.
CREATE TABLE chamberlain.subject (
    tenant_id uuid NOT NULL,
    subject_id uuid NOT NULL,
    type text NOT NULL,
    display_name text NOT NULL,
    name_key text COLLATE "C" NOT NULL,
    mail text,
    is_team boolean NOT NULL,
    member_ship_type smallint NOT NULL,
    request_id uuid,
    site_url text,
    sharing text,
    observed_at timestamptz NOT NULL,
    template_id uuid,
    policy_id uuid,
    is_assigned boolean NOT NULL GENERATED ALWAYS AS (template_id IS NOT NULL OR policy_id IS NOT NULL) STORED,
    both_ids text GENERATED ALWAYS AS (template_id::text || policy_id::text) STORED,
    generation integer NOT NULL DEFAULT 0,
    assignment_request_id uuid,
    assigned_at timestamptz,
    assigned_by json,
    PRIMARY KEY (tenant_id, subject_id)
) WITH (fillfactor = 70);
-- By name, with each filter. Both kinds of is_assigned are merged where nobody asks for one.
CREATE INDEX subject_name ON chamberlain.subject (tenant_id, type, is_assigned, name_key, subject_id);
CREATE INDEX subject_template ON chamberlain.subject (tenant_id, template_id, type, name_key, subject_id)
    WHERE template_id IS NOT NULL;
CREATE INDEX subject_policy ON chamberlain.subject (tenant_id, policy_id, type, name_key, subject_id)
    WHERE policy_id IS NOT NULL;
CREATE INDEX subject_both ON chamberlain.subject (tenant_id, both_ids, type, name_key, subject_id) WHERE both_ids IS NOT NULL;

-- How far a tenant's directory has been looked through. A full scan that is under way has the time when it began: what it has not met
-- when it ends is not there any more.
CREATE TABLE chamberlain.discovery (
    tenant_id uuid PRIMARY KEY,
    position text,
    scan_began_at timestamptz
);

-- What is against the rules. `about` says what within the subject, such as a guest, so that the same is found once only while it is open.
CREATE TABLE chamberlain.finding (
    tenant_id uuid NOT NULL,
    finding_id uuid NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    source text NOT NULL,
    subject_type text NOT NULL,
    subject_id uuid NOT NULL,
    subject_name text NOT NULL,
    about text NOT NULL,
    property text,
    wanted json,
    observed json,
    detail text NOT NULL,
    policy_id uuid,
    action text,
    action_at timestamptz,
    first_seen_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, finding_id)
);
CREATE UNIQUE INDEX finding_current ON chamberlain.finding (tenant_id, subject_id, kind, about)
    WHERE state IN ('open', 'accepted');
-- Newest first, those in each state of each kind, from which all others are merged.
CREATE INDEX finding_newest ON chamberlain.finding (tenant_id, state, kind, first_seen_at, finding_id);
CREATE INDEX finding_subject ON chamberlain.finding (tenant_id, subject_id, state, kind, first_seen_at, finding_id);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['subject', 'discovery', 'finding'] LOOP
        EXECUTE format('ALTER TABLE chamberlain.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_tenant ON chamberlain.%I TO chamberlain_application '
            'USING (tenant_id = nullif(current_setting(''chamberlain.tenant_id'', true), '''')::uuid)',
            name
        );
        EXECUTE format('CREATE POLICY all_tenants ON chamberlain.%I TO chamberlain_worker USING (true)', name);
        EXECUTE format('GRANT SELECT ON chamberlain.%I TO chamberlain_application', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.%I TO chamberlain_worker', name);
    END LOOP;
END
$$;
-- A call assigns, and makes the row of what nobody had met before; accepting findings comes as an update too.
GRANT INSERT, UPDATE ON chamberlain.subject TO chamberlain_application;
GRANT UPDATE ON chamberlain.finding TO chamberlain_application;

-- What an assignment is about; null for all other requests.
ALTER TABLE chamberlain.request ADD COLUMN subject_id uuid;
