-- SPDX-License-Identifier: Apache-2.0
-- Take calls from a budget that all processes share. A budget fills with `per_second` calls a second and holds `most` calls, usually those of
-- one second, so that idle time allows no burst. While several tenants want more than there is, the one that was served least is served first:
-- a start-time fair queue, in which a tenant that returns starts at the level of the others. `cost` is the smallest useful number of calls,
-- `asked` the wanted one; `returned` are calls of the last slice that were not used. `wait` is the time until a retry can succeed, zero if
-- something was granted. `at` is for tests; null is the present time.
CREATE OR REPLACE FUNCTION chamberlain.take_budget_calls(
    budget_name text, tenant uuid, per_second double precision, most double precision, cost double precision, asked double precision,
    returned double precision, at timestamptz, OUT granted double precision, OUT wait interval
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET synchronous_commit = off AS $$
DECLARE
    time timestamptz := coalesce(at, clock_timestamp());
    budget chamberlain.budget;
    own chamberlain.budget_share;
    rate double precision;
    capacity double precision;
    waiting bigint;
    least_served double precision;
    quantum double precision;
    allowed double precision;
BEGIN
    LOOP
        SELECT * INTO budget FROM chamberlain.budget b WHERE b.name = budget_name FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO chamberlain.budget (name, available, filled_at) VALUES (budget_name, greatest(most, cost), time)
        ON CONFLICT DO NOTHING;
        -- After an idle hour a budget is as good as new. Each team has one, so old ones make room for new ones.
        WITH idle AS (
            SELECT b.name FROM chamberlain.budget b WHERE greatest(b.filled_at, b.slowed_at) < time - interval '1 hour'
            LIMIT 100 FOR UPDATE SKIP LOCKED
        ), removed AS (DELETE FROM chamberlain.budget b USING idle WHERE b.name = idle.name RETURNING b.name)
        DELETE FROM chamberlain.budget_share s USING removed WHERE s.name = removed.name;
    END LOOP;
    -- A quiet minute doubles the rate of a slowed budget.
    rate := per_second * least(1, budget.factor * 2 ^ floor(greatest(0, extract(epoch FROM time - budget.slowed_at)) / 60));
    capacity := greatest(most * rate / per_second, cost);
    budget.available := least(
        capacity, budget.available + returned + rate * greatest(0, extract(epoch FROM time - budget.filled_at))::double precision
    );
    SELECT count(*), min(s.served) INTO waiting, least_served FROM chamberlain.budget_share s
    WHERE s.name = budget_name AND s.tenant_id <> tenant AND s.waits_until > time;
    SELECT * INTO own FROM chamberlain.budget_share s WHERE s.name = budget_name AND s.tenant_id = tenant;
    IF own.waits_until IS NULL OR own.waits_until <= time THEN
        own.served := greatest(coalesce(own.served, 0), coalesce(least_served, 0));
    END IF;
    own.served := own.served - returned;
    quantum := greatest(cost, capacity / (waiting + 1));
    allowed := CASE WHEN waiting = 0 THEN budget.available
        ELSE least(budget.available, least_served + quantum - own.served) END;
    granted := least(asked, allowed);
    IF granted < cost THEN
        granted := 0;
    END IF;
    wait := CASE WHEN granted > 0 THEN interval '0'
        ELSE make_interval(secs => greatest(cost - budget.available, CASE WHEN waiting > 0 THEN quantum ELSE 0 END) / rate) END;
    UPDATE chamberlain.budget b SET available = budget.available - granted, filled_at = greatest(time, b.filled_at)
    WHERE b.name = budget_name;
    INSERT INTO chamberlain.budget_share (name, tenant_id, served, waits_until)
    VALUES (budget_name, tenant, own.served + granted, CASE WHEN granted < asked THEN time + wait + interval '2 s' ELSE time END)
    ON CONFLICT (name, tenant_id) DO UPDATE SET served = excluded.served, waits_until = excluded.waits_until;
END
$$;

-- Halve the rate of a budget, at most once a second: the other side has asked to slow down, or soon will.
CREATE OR REPLACE FUNCTION chamberlain.slow_budget(budget_name text, per_second double precision, at timestamptz) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET synchronous_commit = off AS $$
    INSERT INTO chamberlain.budget AS b (name, available, filled_at, factor, slowed_at)
    VALUES (budget_name, 0, coalesce(at, clock_timestamp()), 0.5, coalesce(at, clock_timestamp()))
    ON CONFLICT (name) DO UPDATE SET
        factor = greatest(1.0 / 64, 0.5 * least(
            1, b.factor * 2 ^ floor(greatest(0, extract(epoch FROM excluded.slowed_at - b.slowed_at)) / 60)
        )),
        available = least(b.available, per_second / 2), slowed_at = excluded.slowed_at
    WHERE b.slowed_at <= excluded.slowed_at - interval '1 s'
$$;

REVOKE ALL ON FUNCTION chamberlain.take_budget_calls, chamberlain.slow_budget FROM PUBLIC;
GRANT EXECUTE ON FUNCTION chamberlain.take_budget_calls, chamberlain.slow_budget TO chamberlain_application, chamberlain_worker;
