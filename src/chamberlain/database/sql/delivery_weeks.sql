-- SPDX-License-Identifier: Apache-2.0
-- Deliveries are kept in weeks (docs/decisions/0024), each a table of its own. Weeks begin on Monday, 0:00 UTC.

-- The lowest id of a delivery of this moment or later: ids of deliveries are UUIDs of version 7 (RFC 9562), which begin with the
-- milliseconds since 1970.
CREATE OR REPLACE FUNCTION chamberlain.lowest_delivery_id(moment timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT rpad(lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0'), 32, '0')::uuid
$$;

-- A new id for a delivery of this moment. The two bits change version 4, of random ids, to 7.
CREATE OR REPLACE FUNCTION chamberlain.new_delivery_id(moment timestamptz) RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT encode(set_bit(set_bit(overlay(
        uuid_send(gen_random_uuid()) PLACING substring(int8send((extract(epoch FROM moment) * 1000)::bigint) FROM 3) FROM 1 FOR 6
    ), 52, 1), 53, 1), 'hex')::uuid
$$;

-- Create the week of this moment and the next two, and remove the weeks that ended before `oldest`; returns the number of removed ones. For
-- the worker's role, which may neither create nor remove tables.
--
-- Each takes an exclusive lock for some milliseconds. It waits for half a second at most, while others wait behind it, and is retried
-- later. Until its week exists, a delivery goes to the default partition. A week stays until it has no pending deliveries. Both are swept
-- one by one.
CREATE OR REPLACE FUNCTION chamberlain.keep_delivery_weeks(moment timestamptz, oldest timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '500ms' AS $$
DECLARE
    monday timestamptz;
    part text;
    is_needed boolean;
    removed integer := 0;
BEGIN
    FOR monday, part IN
        SELECT w.monday, 'delivery_of_' || to_char(w.monday AT TIME ZONE 'UTC', 'YYYY_MM_DD')
        FROM (SELECT date_trunc('week', moment, 'UTC') + n * interval '168 hours' AS monday FROM generate_series(0, 2) n) w
    LOOP
        CONTINUE WHEN to_regclass('chamberlain.' || part) IS NOT NULL;
        BEGIN
            EXECUTE format(
                'CREATE TABLE chamberlain.%I PARTITION OF chamberlain.delivery FOR VALUES FROM (%L) TO (%L)',
                part, chamberlain.lowest_delivery_id(monday), chamberlain.lowest_delivery_id(monday + interval '168 hours')
            );
            EXECUTE format('ALTER TABLE chamberlain.%I ENABLE ROW LEVEL SECURITY', part);
        EXCEPTION
            WHEN check_violation THEN CONTINUE;
            WHEN lock_not_available THEN RETURN 0;
        END;
    END LOOP;

    FOR part IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'chamberlain.delivery'::regclass AND c.relname ~ '^delivery_of_\d{4}_\d\d_\d\d$'
        AND (to_date(right(c.relname, 10), 'YYYY_MM_DD') + 7)::timestamp AT TIME ZONE 'UTC' <= oldest
        ORDER BY c.relname
    LOOP
        BEGIN
            LOCK TABLE ONLY chamberlain.delivery IN ACCESS EXCLUSIVE MODE;
            EXECUTE format('SELECT EXISTS (SELECT FROM chamberlain.%I WHERE state = ''pending'' AND state <> ''succeeded'')', part)
                INTO is_needed;
            CONTINUE WHEN is_needed;
            EXECUTE format('DROP TABLE chamberlain.%I', part);
            removed := removed + 1;
        EXCEPTION WHEN lock_not_available THEN
            RETURN removed;
        END;
    END LOOP;
    RETURN removed;
END
$$;
REVOKE ALL ON FUNCTION chamberlain.keep_delivery_weeks(timestamptz, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION chamberlain.keep_delivery_weeks(timestamptz, timestamptz) TO chamberlain_worker;
