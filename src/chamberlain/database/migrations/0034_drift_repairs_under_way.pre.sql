-- A repair was announced, and nobody has seen yet that the directory shows it. Before the first one of a property is made, repairs is 0.
ALTER TABLE chamberlain.drift_repair ADD COLUMN is_under_way boolean NOT NULL DEFAULT false;
