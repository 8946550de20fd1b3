-- Mailboxes are numbered in spans of 4,096 in the order in which they come in. Lists by prefix look one span up after another
-- (sql/mailbox_lists.sql). 4,096 balances two costs: the number of spans to look into, and the sort of one span.
--
-- Mailboxes that are there get the lowest number of all, which rewrites no row. 0040 numbers them.
CREATE SEQUENCE chamberlain.mailbox_places MINVALUE 0 START 0;
GRANT USAGE ON SEQUENCE chamberlain.mailbox_places TO chamberlain_application, chamberlain_worker;
ALTER TABLE chamberlain.mailbox ADD COLUMN span integer NOT NULL DEFAULT -2147483648;
ALTER TABLE chamberlain.mailbox ALTER COLUMN span SET DEFAULT (nextval('chamberlain.mailbox_places') / 4096)::integer;
