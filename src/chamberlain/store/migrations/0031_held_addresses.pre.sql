-- They are put in with other arguments.
DROP FUNCTION IF EXISTS chamberlain.accept_requests;
DROP FUNCTION IF EXISTS chamberlain.explain_refused;
