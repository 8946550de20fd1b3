-- The database's clock as processes have seen it, in one row. trusted_at never runs more than two days ahead of the reading before it
-- (docs/decisions/0037): what lies beyond waits for `chamberlain retention confirm`.
CREATE TABLE chamberlain.clock (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    seen_at timestamptz NOT NULL,
    trusted_at timestamptz NOT NULL,
    confirmed_at timestamptz,
    confirmed_by text
);

-- Times at which the database's clock was behind. Rows from then look older than they are: they age from resumed_at.
CREATE TABLE chamberlain.clock_fault (
    fault_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    from_at timestamptz NOT NULL,
    until_at timestamptz,
    resumed_at timestamptz
);

-- Processes whose clock differs from the database's by too much, for `chamberlain doctor`.
CREATE TABLE chamberlain.clock_report (
    process_id uuid PRIMARY KEY,
    host text NOT NULL,
    is_worker boolean NOT NULL,
    difference interval NOT NULL,
    reported_at timestamptz NOT NULL DEFAULT now()
);

GRANT SELECT, INSERT, UPDATE ON chamberlain.clock, chamberlain.clock_fault TO chamberlain_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.clock_report TO chamberlain_worker;
