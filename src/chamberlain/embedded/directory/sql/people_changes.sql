-- Whoever remembers users and labels is told when they may be other ones. Only of what was there already: what is not there is not
-- remembered. A licence is a row of its own, so that a new one changes its user.
--
-- NOTIFY takes a lock of the whole cluster until the end of its transaction; users change seldom enough for that.

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
