-- SPDX-License-Identifier: Apache-2.0
-- The times of openings, and the events of findings, written with each change of a state. These are triggers, so that they include every
-- write: of policies, assignments, drift checks, adoptions and administrators, by this version and the one before it.

CREATE OR REPLACE FUNCTION chamberlain.note_opening() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.opened_at := now();
    RETURN NEW;
END
$$;
CREATE OR REPLACE TRIGGER note_opening_at_insert BEFORE INSERT ON chamberlain.finding
    FOR EACH ROW WHEN (NEW.state = 'open') EXECUTE FUNCTION chamberlain.note_opening();
CREATE OR REPLACE TRIGGER note_opening_at_update BEFORE UPDATE ON chamberlain.finding
    FOR EACH ROW WHEN (NEW.state = 'open' AND OLD.state <> 'open') EXECUTE FUNCTION chamberlain.note_opening();

-- An actor as events show it, from the JSON in which it is stored.
CREATE OR REPLACE FUNCTION chamberlain.actor_of_event(stored json) RETURNS json LANGUAGE sql IMMUTABLE
RETURN json_build_object(
    'type', coalesce(stored ->> 'type', 'system'), 'id', stored -> 'id',
    'displayName', chamberlain.short_name(coalesce(stored ->> 'display_name', 'Chamberlain'))
);

-- `requestId` is the running request that repaired the finding: a drift check may repair it after the request failed. `changedBy` is the
-- user who accepted or ignored it, or who confirmed the guest: the transaction names that user (guests/queries.sql). Otherwise it is the
-- service.
CREATE OR REPLACE FUNCTION chamberlain.event_of_finding() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    shown text := CASE WHEN NEW.state = 'accepted' AND NEW.ignored_observed IS NOT NULL THEN 'ignored' ELSE NEW.state END;
    editor json := CASE WHEN NEW.state = 'accepted' THEN NEW.accepted_by
        ELSE nullif(current_setting('chamberlain.changed_by', true), '')::json END;
BEGIN
    INSERT INTO chamberlain.event (event_id, tenant_id, type, request_id, at, data) VALUES (
        gen_random_uuid(), NEW.tenant_id,
        CASE NEW.state WHEN 'open' THEN 'finding.opened' WHEN 'repaired' THEN 'finding.repaired' ELSE 'finding.closed' END,
        CASE WHEN NEW.state = 'repaired' THEN (
            SELECT r.request_id FROM chamberlain.request r
            WHERE r.tenant_id = NEW.tenant_id AND r.request_id = NEW.repair_request_id AND r.state = 'running'
        ) END, now(),
        json_build_object(
            'finding', json_build_object(
                'id', NEW.finding_id, 'kind', NEW.kind, 'state', shown, 'property', NEW.property
            ),
            'subject', json_build_object(
                'type', NEW.subject_type, 'id', NEW.subject_id, 'displayName', chamberlain.short_name(NEW.subject_name)
            ),
            'policyId', NEW.policy_id,
            'changedBy', chamberlain.actor_of_event(editor)
        )
    );
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER event_of_insert AFTER INSERT ON chamberlain.finding
    FOR EACH ROW WHEN (NEW.state = 'open') EXECUTE FUNCTION chamberlain.event_of_finding();
CREATE OR REPLACE TRIGGER event_of_update AFTER UPDATE ON chamberlain.finding
    FOR EACH ROW WHEN (
        OLD.state <> NEW.state
        OR (NEW.state = 'accepted' AND (OLD.ignored_observed IS NULL) <> (NEW.ignored_observed IS NULL))
    ) EXECUTE FUNCTION chamberlain.event_of_finding();
