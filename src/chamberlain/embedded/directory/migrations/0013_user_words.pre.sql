-- SPDX-License-Identifier: Apache-2.0
-- The words by which people are found (sql/find_people.sql writes them). Only users who can sign in have words, so that a mailbox costs
-- nothing here. All columns of a search are in the key: it reads no other table before its limit.
CREATE TABLE directory.user_words (
    tenant_id uuid NOT NULL,
    word text COLLATE "C" NOT NULL,
    sorted_name text COLLATE "C" NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, word, sorted_name, user_id)
);
CREATE INDEX user_words_of ON directory.user_words (tenant_id, user_id);

ALTER TABLE directory.user_words ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON directory.user_words TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON directory.user_words TO chamberlain_worker USING (true) WITH CHECK (true);
GRANT SELECT ON directory.user_words TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON directory.user_words TO chamberlain_worker;
