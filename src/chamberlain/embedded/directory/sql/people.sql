-- SPDX-License-Identifier: Apache-2.0
-- The users of a tenant as a JSON array. A team licence is a valid licence with an active service plan for teams.

CREATE OR REPLACE FUNCTION directory.people_of(this_tenant uuid, users uuid[]) RETURNS text
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF cardinality(users) = 0 THEN
        RETURN '[]';
    END IF;
    RETURN (
        SELECT coalesce(json_agg(json_build_object(
            'id', u.id, 'displayName', u.display_name, 'mail', u.mail, 'userPrincipalName', u.user_principal_name,
            'userType', u.user_type, 'properties', u.properties,
            'hasTeamLicense', EXISTS (
                SELECT FROM directory.service_plans p
                WHERE p.tenant_id = this_tenant AND p.user_id = u.id AND p.service_plan_name = 'TEAMS1'
                    AND p.provisioning_status = 'Success')
        )), '[]')::text
        FROM directory.users u
        WHERE u.tenant_id = this_tenant AND u.id = ANY (users));
END
$$;
