-- SPDX-License-Identifier: Apache-2.0
-- Notices are written in the transaction of their cause: with the event, or, for the approval of the last level, which has no event, with
-- the change of the request. Each transaction has to enable notices (database/transactions.py); otherwise nothing is written here.

CREATE OR REPLACE FUNCTION chamberlain.queue_notice(
    tenant uuid, notice uuid, kind text, request uuid, level integer, at timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- The lane of notices is that of their tenant.
    INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, lane)
    SELECT tenant, 'noticeSend', notice, r.trace_id, tenant FROM chamberlain.request r
    WHERE r.tenant_id = tenant AND r.request_id = request;
    IF FOUND THEN
        INSERT INTO chamberlain.notice (tenant_id, notice_id, kind, request_id, level, at)
        VALUES (tenant, notice, kind, request, level, at);
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION chamberlain.notice_of_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM chamberlain.queue_notice(
        NEW.tenant_id, NEW.event_id, split_part(NEW.type, '.', 2), NEW.request_id, (NEW.data ->> 'level')::integer, NEW.at
    );
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER notice_of_event AFTER INSERT ON chamberlain.event
    FOR EACH ROW WHEN (
        NEW.type IN ('request.approvalRequired', 'request.rejected', 'request.expired', 'request.failed')
        AND NEW.request_id IS NOT NULL AND current_setting('chamberlain.notices', true) = 'on'
        -- A blocked level notifies no one. Otherwise pending mail would be sent again when the level opens.
        AND NOT (NEW.type = 'request.approvalRequired' AND NEW.data -> 'approvers' ->> 0 IS NULL)
    ) EXECUTE FUNCTION chamberlain.notice_of_event();

CREATE OR REPLACE FUNCTION chamberlain.notice_of_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM chamberlain.queue_notice(NEW.tenant_id, gen_random_uuid(), 'approved', NEW.request_id, NULL, NEW.updated_at);
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER notice_of_approval AFTER UPDATE OF state ON chamberlain.request
    FOR EACH ROW WHEN (
        OLD.state = 'pendingApproval' AND NEW.state = 'queued' AND current_setting('chamberlain.notices', true) = 'on'
    ) EXECUTE FUNCTION chamberlain.notice_of_approval();
