-- What a group or site was when something was assigned to it last: a group that has got a site since then does not share yet as it should.
-- Of assignments of before that is not known.
ALTER TABLE chamberlain.subject ADD COLUMN assigned_type text CHECK (assigned_type IN ('group', 'site'));
-- It returns a column more; the function that takes its place is put in with the others.
DROP FUNCTION IF EXISTS chamberlain.find_assignments(uuid[], uuid[], uuid[], uuid[]);
