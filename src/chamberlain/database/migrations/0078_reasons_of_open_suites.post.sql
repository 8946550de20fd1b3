-- All processes render the sentences of these codes too, so rows keep code and values alone (0055).
CREATE OR REPLACE FUNCTION chamberlain.is_rendered(code text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
SELECT coalesce(code = ANY (ARRAY[
    'addressDigitsFollow', 'addressDomainNotSet', 'addressFromRequest', 'addressNumberDrawn', 'assignmentCancelled',
    'budgetUsed', 'connectionBroken', 'credentialUnreadable', 'databaseUnknown', 'directoryBusy',
    'directoryNotAvailable', 'directoryNotReady', 'groupMadeNotShown', 'groupNotFoundById', 'groupNotShown',
    'groupNotVisible', 'guestDomainsNotEnforced', 'guestNotRemoved', 'guestPolicyInactive', 'guestPolicyUnknown',
    'guestRulesUnusable', 'guestTemplateInactive', 'guestTemplateUnknown', 'guestsNotRemoved', 'heldForAdministrator',
    'hostNotPermitted', 'labelNeedsDelegate', 'lastOwner', 'mailboxMadeNotShown', 'mailboxNotFoundById',
    'mailboxNotVisible', 'membersFollowRule', 'membershipRuleNotChecked', 'nameNumberDrawn', 'noApprover',
    'objectLeftBehind', 'partNotSet', 'passwordRefused', 'peopleNotChecked', 'privilegeMissing', 'propertyHasNoEffect',
    'quotaNotSet', 'schemaMissing', 'serverRefusesAccess', 'serverRefusesCredential', 'serverSettingsMissing',
    'suiteExtraMissing', 'suiteSettingsUnusable', 'teamLicenseNotChecked', 'tlsRefused'
]), false)
$$;
