-- Events are read in the order in which they were committed. Which that is nobody knows while they are written: an event gets its place in
-- the feed when somebody reads up to it (sql/events.sql), and those that have none yet stand behind all others in this index.
ALTER TABLE chamberlain.event ADD COLUMN position bigint;
CREATE INDEX event_position ON chamberlain.event (tenant_id, position, sequence);

-- Places are given out by the thousand, never twice, and never lower than before, also when all events of a tenant have gone.
CREATE SEQUENCE chamberlain.event_places INCREMENT BY 1000;
GRANT USAGE ON SEQUENCE chamberlain.event_places TO chamberlain_application, chamberlain_worker;

-- Events only grow: this is all of an event that may change.
GRANT UPDATE (position) ON chamberlain.event TO chamberlain_application;
