-- SPDX-License-Identifier: Apache-2.0
-- Whether a time was written while the database's clock was behind, and the row may not count as old yet: it ages from the moment when the
-- clock was right again (docs/decisions/0037).
CREATE OR REPLACE FUNCTION chamberlain.is_of_clock_fault(moment timestamptz, cutoff timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM chamberlain.clock_fault f
        WHERE moment >= f.from_at AND moment <= coalesce(f.until_at, 'infinity') AND coalesce(f.resumed_at, 'infinity') >= cutoff
    )
$$;
