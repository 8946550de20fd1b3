-- When a guest was last active, as far as it is known. It changes often and says nothing of a group, so that nothing is noted there.
ALTER TABLE directory.users ADD COLUMN last_seen_at timestamptz;
