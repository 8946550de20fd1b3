-- A day of a substitution has 24 hours. The interval of 60 days that was added to a time followed the clock of the time zone of the session:
-- where summer time begins in these days, it was an hour shorter than 60 days.
ALTER TABLE chamberlain.substitute
    DROP CONSTRAINT substitute_check1,
    ADD CONSTRAINT substitute_days CHECK (until > created_at AND until - created_at <= interval '60 days');
-- For retention.
CREATE INDEX substitute_until ON chamberlain.substitute (until);
