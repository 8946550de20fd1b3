-- The request without which it would not be found, so that a finding ends with it. None in what was found before, and where there is none.
ALTER TABLE chamberlain.finding ADD COLUMN request_id uuid;
