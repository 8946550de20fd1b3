-- SPDX-License-Identifier: Apache-2.0
-- Many groups that were asked for and made, as copies of one that the service has made itself: so their rows have the shape that
-- the service gives to rows. Those of the audit trail and of events are left out: sealing and placing them would be at work
-- while something else is measured.
CREATE SCHEMA IF NOT EXISTS bench;
CREATE TABLE bench.copied (
    n bigint PRIMARY KEY, request_id uuid NOT NULL DEFAULT gen_random_uuid(), group_id uuid NOT NULL DEFAULT gen_random_uuid()
);

-- One column of a copy: ids and names of the model are exchanged in the columns that have them, all else is taken as it is.
CREATE FUNCTION bench.copied_column(name name, type text, model text, ids text[]) RETURNS text
LANGUAGE sql AS $$
    SELECT CASE WHEN model ~* ('opied.0000000|' || array_to_string(ids, '|')) THEN
        format($text$replace(replace(replace(replace(model.%1$I::text, %2$L, new_request::text), %3$L, new_group::text),
            'opied 0000000', 'opied ' || lpad(n::text, 7, '0')), 'opied-0000000', 'opied-' || lpad(n::text, 7, '0'))::%4$s$text$,
            name, ids[1], ids[2], type)
    ELSE format('model.%I', name) END
$$;

-- Copy the rows of one table. A time that is named in `moved` is a millisecond later with each copy.
CREATE FUNCTION bench.copy_rows(
    place regclass, which text, ids text[], first bigint, last bigint, moved text DEFAULT ''
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    model jsonb;
    names text;
    columns text;
BEGIN
    EXECUTE format('SELECT to_jsonb(model) FROM %s AS model WHERE %s', place, which) INTO STRICT model;
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum),
        string_agg(bench.copied_column(attname, format_type(atttypid, atttypmod), model ->> attname, ids)
            || CASE WHEN attname = moved THEN ' + n * interval ''1 ms''' ELSE '' END, ', ' ORDER BY attnum)
    INTO names, columns
    FROM pg_attribute
    WHERE attrelid = place AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attidentity = '';
    EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', place);
    EXECUTE format(
        'INSERT INTO %1$s (%2$s) SELECT %3$s '
        'FROM (SELECT n, request_id AS new_request, group_id AS new_group FROM bench.copied) AS copied, '
        '(SELECT * FROM %1$s WHERE %4$s OFFSET 0) AS model '
        'WHERE n BETWEEN %5$s AND %6$s ORDER BY n', place, names, columns, which, first, last);
    EXECUTE format('ALTER TABLE %s ENABLE TRIGGER USER', place);
END
$$;

-- Copy the group of this request, from the first to the last number.
CREATE FUNCTION bench.fill(model_request uuid, first bigint, last bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    model_group uuid := (SELECT (result ->> 'id')::uuid FROM chamberlain.request WHERE request_id = model_request);
    ids text[] := ARRAY[model_request::text, model_group::text];
    by_request text := format('request_id = %L', model_request);
    by_group text := format('group_id = %L', model_group);
BEGIN
    INSERT INTO bench.copied (n) SELECT generate_series(first, last);
    PERFORM bench.copy_rows('chamberlain.request', by_request, ids, first, last, 'created_at');
    PERFORM bench.copy_rows('chamberlain.reservation', by_request, ids, first, last);
    PERFORM bench.copy_rows('chamberlain.subject', by_request, ids, first, last);
    PERFORM bench.copy_rows('directory.groups', format('id = %L', model_group), ids, first, last, 'created_at');
    PERFORM bench.copy_rows('directory.addresses', format('holder_id = %L', model_group), ids, first, last);
    PERFORM bench.copy_rows('directory.memberships', by_group, ids, first, last);
    PERFORM bench.copy_rows('directory.extension_values', by_group, ids, first, last);
END
$$;
