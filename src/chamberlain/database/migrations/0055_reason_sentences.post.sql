-- Rows keep code and values of a reason, and no sentence. All processes render the sentence of these codes. A version that
-- adds codes adds them here in its own post migration: older processes beside it show the sentence of the row.
CREATE FUNCTION chamberlain.is_rendered(code text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
SELECT coalesce(code = ANY (ARRAY[
    'addressDigitsFollow', 'addressFromRequest', 'addressNumberDrawn', 'assignmentCancelled', 'directoryBusy',
    'directoryNotAvailable', 'directoryNotReady', 'groupMadeNotShown', 'groupNotFoundById', 'groupNotShown',
    'groupNotVisible', 'guestNotRemoved', 'guestPolicyInactive', 'guestPolicyUnknown', 'guestRulesUnusable',
    'guestTemplateInactive', 'guestTemplateUnknown', 'guestsNotRemoved', 'heldForAdministrator', 'lastOwner',
    'mailboxMadeNotShown', 'mailboxNotFoundById', 'mailboxNotVisible', 'membersFollowRule', 'nameNumberDrawn',
    'noApprover', 'objectLeftBehind', 'peopleNotChecked', 'propertyHasNoEffect'
]), false)
$$;

CREATE OR REPLACE FUNCTION chamberlain.kept_wait(wait json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
SELECT CASE WHEN chamberlain.is_rendered(wait -> 'cause' ->> 'code')
    THEN jsonb_set(wait::jsonb, '{reason}', 'null')::json ELSE wait END
$$;

CREATE OR REPLACE FUNCTION chamberlain.kept_steps(steps json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
SELECT CASE WHEN strpos(steps::text, '"cause":{') = 0 THEN steps ELSE (
    SELECT json_agg(chamberlain.kept_wait(s.step) ORDER BY s.place)
    FROM json_array_elements(steps) WITH ORDINALITY AS s (step, place)
) END
$$;

CREATE OR REPLACE FUNCTION chamberlain.kept_entries(entries jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
SELECT coalesce(jsonb_agg(CASE
    WHEN chamberlain.is_rendered(e.entry #>> '{step,cause,code}') THEN jsonb_set(e.entry, '{step,reason}', 'null')
    WHEN chamberlain.is_rendered(e.entry #>> '{state,waiting,cause,code}')
        THEN jsonb_set(e.entry, '{state,waiting,reason}', 'null')
    ELSE e.entry END ORDER BY e.place), '[]')
FROM jsonb_array_elements(entries) WITH ORDINALITY AS e (entry, place)
$$;

-- Warnings without a rendered code keep their sentence. An empty list is none.
CREATE OR REPLACE FUNCTION chamberlain.kept_warnings(warnings json, causes json) RETURNS json LANGUAGE sql IMMUTABLE AS $$
SELECT CASE WHEN causes IS NULL THEN warnings ELSE (
    SELECT json_agg(w.sentence ORDER BY w.place)
    FROM json_array_elements_text(warnings) WITH ORDINALITY AS w (sentence, place)
    WHERE NOT EXISTS (
        SELECT FROM json_array_elements(causes) AS c (cause)
        WHERE c.cause ->> 'sentence' = w.sentence AND chamberlain.is_rendered(c.cause ->> 'code')
    )
) END
$$;
