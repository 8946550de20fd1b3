-- SPDX-License-Identifier: Apache-2.0
-- Notifies caches of users and labels about changes. New users and labels need no notification, because missing ones are
-- not cached. A licence is a separate row, so a new licence is a change of its user.
--
-- NOTIFY locks the whole cluster until the end of its transaction. Users change rarely enough for that.

CREATE OR REPLACE FUNCTION directory.tell_of_people() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('directory_people', '');
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER tell_of_changed_users AFTER UPDATE ON directory.users FOR EACH ROW WHEN (
    (OLD.display_name, OLD.mail, OLD.user_principal_name, OLD.user_type, OLD.properties)
    IS DISTINCT FROM (NEW.display_name, NEW.mail, NEW.user_principal_name, NEW.user_type, NEW.properties)
) EXECUTE FUNCTION directory.tell_of_people();
CREATE OR REPLACE TRIGGER tell_of_lost_users AFTER DELETE ON directory.users
    FOR EACH ROW EXECUTE FUNCTION directory.tell_of_people();
CREATE OR REPLACE TRIGGER tell_of_licenses AFTER INSERT OR UPDATE OR DELETE ON directory.service_plans
    FOR EACH ROW EXECUTE FUNCTION directory.tell_of_people();
CREATE OR REPLACE TRIGGER tell_of_labels AFTER DELETE ON directory.labels
    FOR EACH ROW EXECUTE FUNCTION directory.tell_of_people();
