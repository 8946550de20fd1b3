-- How far policies have come with the guests and owners of the groups and sites that they are assigned to.

-- When the policy was assigned, which a change of only the template leaves as it is; whether its clocks were started. What was assigned
-- before this file has no time: its clocks start when they are first looked at.
ALTER TABLE chamberlain.subject ADD COLUMN policy_assigned_at timestamptz;
ALTER TABLE chamberlain.subject ADD COLUMN policy_begun boolean NOT NULL DEFAULT false;
-- The digest of all that the last run went by, where nothing was left to tell: as long as it is the same, nothing happens before
-- policy_quiet_until (null: at all), and the clocks need not be read.
ALTER TABLE chamberlain.subject ADD COLUMN policy_digest text;
ALTER TABLE chamberlain.subject ADD COLUMN policy_quiet_until timestamptz;

-- A clock for each rule and guest. The rule about owners is about no guest: its guest_id is all zero. `terms` are what the rule said when
-- the clock was started, and next_at is when something happens, null when nothing will. It is written by whoever holds its subject's row.
CREATE TABLE chamberlain.policy_clock (
    tenant_id uuid NOT NULL,
    subject_id uuid NOT NULL,
    rule text NOT NULL,
    guest_id uuid NOT NULL,
    guest_mail text,
    guest_name text NOT NULL,
    policy_id uuid NOT NULL,
    terms text NOT NULL,
    action text NOT NULL,
    started_at timestamptz NOT NULL,
    action_at timestamptz,
    next_at timestamptz,
    round integer NOT NULL,
    reminded integer,
    is_acting boolean NOT NULL,
    trouble text,
    acted_at timestamptz,
    PRIMARY KEY (tenant_id, subject_id, rule, guest_id)
) WITH (fillfactor = 70);
ALTER TABLE chamberlain.policy_clock ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.policy_clock TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.policy_clock TO chamberlain_worker USING (true);
-- A review is confirmed by a call.
GRANT SELECT, UPDATE ON chamberlain.policy_clock TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.policy_clock TO chamberlain_worker;
