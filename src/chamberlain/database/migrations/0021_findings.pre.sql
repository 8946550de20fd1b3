-- Findings that somebody lets stand: who, why, and until when. Then they are open again.
ALTER TABLE chamberlain.finding ADD COLUMN accepted_at timestamptz;
ALTER TABLE chamberlain.finding ADD COLUMN accepted_by json;
ALTER TABLE chamberlain.finding ADD COLUMN accepted_reason text;
ALTER TABLE chamberlain.finding ADD COLUMN accepted_until timestamptz;
-- Findings are kept, and few of them are open: those are counted time and again.
CREATE INDEX finding_open ON chamberlain.finding (kind) WHERE state = 'open';
