-- Store the metadata of groups that were created before 0052, as far as their requests still exist. Deleted groups are left out.
DO $$
BEGIN
    PERFORM chamberlain.record_group_metadata(r.tenant_id, coalesce(r.result, r.made), r.body) FROM chamberlain.request r
    WHERE r.kind IN ('group', 'team') AND (r.result IS NOT NULL OR r.made IS NOT NULL)
    AND (strpos(r.body::text, '"metadata"') > 0 OR strpos(r.body::text, '\u') > 0)
    AND EXISTS (
        SELECT FROM chamberlain.subject s
        WHERE s.tenant_id = r.tenant_id AND s.subject_id = (chamberlain.clean(coalesce(r.result, r.made)) ->> 'id')::uuid
    );
END
$$;

-- Delete what is left of groups whose deletion a process of the previous version has discovered. New groups are discovered within a minute.
DELETE FROM chamberlain.group_metadata m WHERE m.recorded_at < now() - interval '1 day' AND NOT EXISTS (
    SELECT FROM chamberlain.subject s WHERE s.tenant_id = m.tenant_id AND s.subject_id = m.subject_id
);
