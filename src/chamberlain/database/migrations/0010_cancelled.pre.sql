-- What exists of a request in the directory while it has not succeeded: type, id there, display name and mail address. When it is cancelled,
-- it has to say what it leaves behind.
ALTER TABLE chamberlain.request ADD COLUMN made json;
