-- The levels of a request's approval, as far as they are known: null where nobody has to agree.
ALTER TABLE chamberlain.request ADD COLUMN approvals json;

-- It is put in with two arguments more.
DROP FUNCTION IF EXISTS chamberlain.accept_requests;
