import type { CodeGroup } from './code-group.ts';

/**
 * Codes outside connectors, by the part that reports them, with meaning and remedy in Markdown; links lead from `docs/`. `why` prints these
 * texts, and the tables of `docs/errors.md` are generated from them. Connectors describe their codes in `connectors/`.
 */
export const CODE_GROUPS = {
  start: {
    title: 'Configuration and start',
    codes: {
      actionRequired: {
        configuration: 'The configuration has faults. Run `clinic-mirror config check`.',
        'http-port-unavailable':
          'The port is in use or not allowed. Choose another host or port in `http` or `operator`, or stop the process that uses the port.',
        'no-public-port':
          'Sign-in links and the role `http` require a public port. Set `http.port` and `http.publicUrl`, or connect without `--link`.',
        'login-port-unavailable':
          '`http.loginPort` is in use. Stop the process that uses the port, or set another port and register the new redirect URL with the client.',
        'state-damaged':
          'A stored value does not open: another program changed or moved it, or it belongs to another key or tenant. It has no effect. Most data is created again; a clinic whose safeguards or document are damaged waits for an operator; people and connections sign in again. Check write access to Redis, see [Access to Redis](redis.md#access-to-redis). If nothing opens, restore the previous key. For a backup, use the file of this tenant.',
        'redis-unreachable':
          'Redis does not answer. Check that Redis runs and that `redis` in the settings is correct. During a failover the daemon waits for the replica.',
        'redis-login-refused':
          'Redis refuses the password. Correct user and password in `redis.url`, or in `redis.username` and `redis.password`.',
        'redis-rights':
          'The Redis user lacks the permission in the message. Grant the permissions of [`config/redis-users.acl`](../config/redis-users.acl); see [Access to Redis](redis.md#access-to-redis).',
        'redis-full':
          'Redis has reached `maxmemory` and refuses writes. Raise `maxmemory`; see [Redis refuses writes](runbook.md#redis-refuses-writes).',
        'redis-read-only':
          'The daemon is connected to a replica. The daemon reconnects without help; if the problem remains, set the address of the master in `redis`.',
        'redis-no-replicas':
          'Redis requires more replicas (`min-replicas-to-write`) than are connected. Start the replicas.',
        'redis-snapshot-failed':
          'Redis could not save its data to disk and refuses writes. Check space and permissions of its folder, then run `redis-cli BGSAVE`.',
        'redis-busy': 'A script of another program blocks Redis. Run `redis-cli SCRIPT KILL`.',
        'redis-database-missing':
          'Redis does not have the database number in `redis.url`. No command is sent to another database. Correct the number, or increase `databases` in the configuration of Redis.',
        'redis-cluster-down':
          'A part of the data has no reachable master. During a failover the daemon waits; otherwise start the missing servers.',
        'redis-too-old': 'Use Redis 7 or newer, or Valkey.',
        'redis-not-durable': 'Redis does not save every write. Set `appendonly yes`.',
        'redis-evicts': 'Redis can delete keys if memory is full. Set `maxmemory-policy noeviction`.',
        'redis-open':
          'Redis accepts clients without a password. Write `user default off` into the ACL file, or set `requirepass`; see [Access to Redis](redis.md#access-to-redis).',
        'state-not-durable':
          'Redis did not confirm within 5 seconds that a decision is on disk or on the replicas. Check disk and replicas. Reminders retry after 30 seconds; repeat a command manually.',
        'value-too-long':
          'A server sent an id, a token or the URL of a calendar above the limit for stored values. Only this object, connection or target is affected. Report the length to the operator of that server.',
        'state-went-back':
          'Redis contains older data than before; see [Loss of Redis data](backup.md#when-redis-lost-data).',
        'state-lost': 'Redis is empty; see [Loss of Redis data](backup.md#when-redis-lost-data).',
        'data-directory-unusable':
          'The daemon cannot write to `dataDirectory`. Correct the permissions. Until then clinic-mirror refuses to remove a tombstone or an opt-out, because the old copy would restore the record.',
        'erasures-wait':
          'Forgotten patients are not erased yet. In a paused tenant nothing is erased: set `paused: false`. In a paused target the daemon erases, and retries until the target is reachable.',
        'identity-key-changed':
          'The identity key differs from the key of the state, backup or calendar. Restore the previous key; a different key would write everything a second time.',
        'calendar-changed':
          'The tenant file names a different calendar than the target uses. `clinic-mirror doctor` shows both. Run `clinic-mirror sync <tenant>`, or correct the setting.',
        'calendar-replaced':
          'The calendar was deleted, and clinic-mirror created and filled a new calendar. Share the new calendar with the users of the old one. The notice remains for three days. With `firstRun: plan` the daemon first waits for approval.',
        'calendar-not-found':
          'The calendar lost the owner tag, the line `[clinic-mirror …]` in the description. clinic-mirror creates no replacement. Restore the line, or name the calendar in the tenant file; see [Problems after an upgrade](upgrade.md#problems-after-an-upgrade).',
        'events-not-kept':
          'The calendar does not show the first event that clinic-mirror wrote. The server changed its name and UID and dropped the marks, or did not store it. The target stops before a second event. Delete the event and choose a calendar on another server, or correct the server and run `clinic-mirror sync <tenant>`. If the server shows events late, the daemon continues without help.',
        'key-not-kept':
          'The CRM does not show the key property of the first object that clinic-mirror wrote. The target stops before a second object. Delete the object, let the user of the connection write the property, then run `clinic-mirror sync <tenant>`.',
        'no-sealing-key': 'Configure `secrets.sealingKeys`.',
        'sealing-key-unknown': 'Add the named key again, after the active key.',
      },
      retrying: {
        'redis-loading': 'Redis loads its data after a start. The daemon waits.',
        'redis-failed': 'A write to Redis failed. If the error remains, check memory and disk of Redis.',
      },
      none: {
        'marks-dropped':
          'The server drops the marks of clinic-mirror (properties that begin with `X-`; in a CRM the stamp). Names, UIDs or keys identify the objects. `doctor` shows a warning; no action is required.',
      },
    },
  },
  commands: {
    title: 'Commands',
    codes: {
      actionRequired: {
        'no-such-tenant': 'The tenant does not exist. The message lists the tenants.',
        'configuration-superseded':
          'Another process has a newer configuration. Give this process the same files; see [Changing the configuration](runbook.md#changing-the-configuration).',
        'tenant-in-file': 'A file configures the tenant. Edit the file, or run `clinic-mirror tenants adopt <tenant>`.',
        'tenant-exists':
          'A managed tenant with this id exists. Run `clinic-mirror tenants export <tenant>`, edit the output, then use `replace`.',
        'revision-changed': 'Another user changed the tenant. Read the tenant again and repeat the change.',
        'revision-missing':
          'Name the revision: `If-Match` with the ETag, `--revision`, or the first line of an export.',
        'managed-tenants-lost':
          'Redis is empty. The daemon continues with the known [managed tenants](managed-tenants.md). Run `clinic-mirror restore --all <file>`.',
        'not-allowed': 'Only an owner of all tenants can run this action.',
        'tenant-too-large':
          'The data of the tenant in Redis exceeds `limits.tenantMebibytes`. The daemon creates no more objects for this tenant, and above twice the limit it changes none and adds no reminder or trigger; deletions continue, existing objects stay, and other tenants are unaffected. `status --json` shows the links of each target. Reduce windows or targets, or raise the limit. The daemon counts again within five minutes; the changes then follow.',
        'tenant-set-aside':
          "The tenant's configuration has faults, so the daemon skips the tenant. `clinic-mirror doctor` shows the first fault. After the correction run `clinic-mirror config check`.",
        'tenant-paused': 'To run the tenant, set `paused: false`.',
        'no-such-login': 'The connection does not exist. The message lists the connections.',
        'login-not-used': 'No target uses the connection. Add the target to the tenant file, then connect.',
        'no-such-code':
          'The code does not exist. The message names a similar code. Messages contain the code in brackets; the log contains the code as `code`.',
        'no-such-hold': 'The hold does not exist. Run `clinic-mirror holds list`.',
        'hold-changed': 'The hold changed after you read it. Run `clinic-mirror holds list` again.',
        'hold-decided': 'Another user has decided the hold.',
        'hold-whole-only': 'This kind of hold concerns the whole target or the clinic. Decide without `--only`.',
        'no-such-plan': 'Plans are kept for one hour. Run `clinic-mirror plan <tenant> --save`.',
        'document-too-large':
          'A plan of more than about 60,000 lines cannot be saved. Read the output of `clinic-mirror plan`, then run `sync`.',
        'plan-drifted':
          'A cycle would now make other changes, listed in the message. Nothing was written. Create, read and apply a new plan.',
        'no-such-target': 'Name a target of the tenant file.',
        'match-not-possible':
          'The target is paused or unreadable, or the list of forgotten patients is unavailable. Check `health` and `status`, then repeat the command.',
        'match-file-unusable':
          'The message lists the faulty lines. Correct the lines or create the file again. Nothing was written.',
        'no-such-run': '`clinic-mirror runs` lists the runs that you can undo.',
        'no-reminders': 'Add `reminders` to the tenant file.',
        'no-triggers': 'Add `triggers` to the tenant file.',
        'no-such-feed': 'The message lists the feeds.',
        'no-such-endpoint': 'The message lists the endpoints.',
        'audit-log-unwritable':
          'The audit log cannot be written, so the action was refused. Give this user write permission for `dataDirectory`, on a disk with free space and hard links.',
        'audit-log-cut':
          'The end of the audit log differs from the record in Redis. Run `clinic-mirror audit-log verify`. The log continues in a new chain.',
        'no-audit-log': 'Set `dataDirectory`.',
        'record-needs-tenant': 'Add `--tenant` to `--record`; in the API, add the parameter `tenant`.',
        'reason-missing': 'Add `--reason`.',
        'reason-unusable':
          'Write a ticket number or at most 200 characters in one line, without e-mail addresses and secrets.',
        'second-person-needed':
          'A second operator must run the same command in time; see [Dual control](audit-log.md#dual-control).',
        'second-person-same': 'A different operator must run the command.',
        'second-person-unknown':
          'A token or the passphrase does not identify an operator. Sign in with your own account, or run the command on the host.',
        'second-person-other-way':
          'The second operator must use the same method as the first: sign-in, or a command on the host.',
        'name-missing': 'Add your name with `--as`.',
        'bad-day': 'Write the day as `2026-11-30`.',
        'answers-unusable':
          'The file of `init --answers` is not valid YAML; see [Answers from a file](quickstart.md#answers-from-a-file).',
        'answer-missing': 'Add the answer in the message to the file of `init --answers`.',
        'answer-refused': 'Correct the answer in the message in the file of `init --answers`.',
        'init-ended': 'Run the same command again. `init` continues with the written files.',
        'init-not-empty':
          'The file was not created by `init` and remains unchanged. Choose another directory or tenant, or edit the file manually.',
        'value-refused':
          'A server refused a value given to `init`. Correct the answer in the message and run the same command again. The value was not written.',
        'value-unusable':
          'The configuration does not accept the URL given to `init`. The message shows the accepted form.',
        'no-terminal': 'Run `init` in a terminal, or with `--answers`.',
        'no-agendas':
          "The clinic returns no agenda. Check the user's permissions and the clinic's responses with `clinic-mirror clinic probe <tenant>`.",
        'backup-unknown': 'Name a file created by `clinic-mirror backup --all`, with the same or an older version.',
        'backup-damaged': 'The file was changed or truncated. Use another copy. Nothing was restored.',
        'not-in-backup': 'The file does not contain the tenant in `restore --only`.',
        'file-unusable': 'Name a readable file; for output, name a new file.',
        'certificates-unchecked':
          'Unset `NODE_TLS_REJECT_UNAUTHORIZED`. For your own certificate authority, set `NODE_EXTRA_CA_CERTS`.',
        'bad-data':
          'Give `--data` a JSON object as `@file`, or `-` for standard input. Several reimbursements are a list.',
        'data-in-arguments':
          'Other users of the host can read arguments. Give data in a file (`--data @file`, `--params @file`) or on standard input (`--data -`, `--params -`).',
        'value-needed': 'Add the value in the message to `--data`.',
        'not-taken': 'Remove the value in the message, which the operation does not accept.',
        'no-such-operation': 'The message lists the resources or operations.',
        'no-such-field': 'The message lists the fields.',
        'unknown-filter-value':
          'The clinic has no agenda, location, treatment, status or patient with this value. Read the list in the message.',
        'filter-ignored':
          "The clinic ignores the filter in the message. Use the clinic's parameter name, or remove the filter.",
        'no-such-record': 'The clinic has no record with this id.',
        'spec-unreadable': 'The document is neither valid JSON nor valid YAML.',
        'spec-not-openapi': 'Use an OpenAPI document, version 2.0 or 3.x.',
        'spec-too-large': 'Remove the examples. The limit is 20 million characters.',
        'probe-empty': 'The period contains too few appointments. Use `check-spec`.',
        'probe-refused':
          'The clinic refused every request for appointments. Set the required parameters in the profile (`appointments.filters`, `appointments.query`) and probe again.',
        'record-file-unreadable': "Give `--records` the clinic's JSON response to `GET …/appointments`.",
        'probe-exhausted': 'The probe reached the request limit. Use `check-spec`.',
        'bad-address': 'Give an e-mail address, or a mobile number with the international prefix.',
        'contact-unknown': "Check the address or number, or give the patient's id.",
        'contact-ambiguous':
          'List the ids with `clinic-mirror forget <tenant> --email <address>`, then repeat with the id of one patient.',
        'run-ambiguous': 'Add `--tenant`.',
      },
      retrying: {
        'tenant-unchecked':
          'The daemon [is starting](runbook.md#starting-the-daemon). Repeat the command after some seconds.',
        'value-unanswered':
          'The server did not answer within 10 seconds. Check the server and the URL, then run the same command again.',
        'lease-busy':
          'Another process works on the same object. Repeat the command. `sync`, `undo`, `forget` and `triggers reopen` wait automatically.',
      },
    },
  },
  signIn: {
    title: 'Signing in to pages and API',
    codes: {
      actionRequired: {
        'sign-in-not-allowed':
          'An owner must add the account to `operator.access.oidc`; see [OpenID Connect](access.md#with-a-provider-openid-connect).',
        'account-changed':
          'A different account of the provider first used this e-mail address. If the user has a new account, run `clinic-mirror access release-account <address>`.',
        'address-unclaimed':
          'No account has signed in with this e-mail address. Use an address from `operator.access.oidc.people`.',
        'sign-in-too-often': 'Wait 15 minutes, or run `clinic-mirror access sign-in` on the host.',
        'sign-in-too-weak':
          'The provider must confirm `acrValues`, `amr` and `maxAgeMinutes` of `operator.access.oidc`; see [Demanded sign-in](access.md#demanded-sign-in).',
        'sign-in-again': 'Sign in again, then repeat the action; see [Sensitive actions](access.md#sensitive-actions).',
        'passphrase-wrong': 'Enter the passphrase again, or run `clinic-mirror access sign-in` on the host.',
        'passphrase-unusable': 'Choose 15 to 256 characters.',
        'passphrase-guessable': 'Choose four random words, without names, dates, repetitions and rows of the keyboard.',
        'passphrase-off': 'Set `operator.access`, with `passphrase: true` if `oidc` is set.',
        'oidc-off': 'Set `operator.access.oidc` and `operator.publicUrl`.',
        'no-operator-address': 'Set `operator.publicUrl`.',
        'token-name-taken': 'Choose another name, or revoke the token with this name.',
        'no-such-session': '`clinic-mirror sessions` shows the open sessions with their ids.',
        'no-such-token': '`clinic-mirror access token list` shows the valid tokens.',
      },
    },
  },
  api: {
    title: 'The API',
    codes: {
      actionRequired: {
        'request-invalid':
          '`about` names the invalid part of the request. For valid requests, see `/api/v1/openapi.json`.',
        'request-too-large': 'Send smaller requests.',
        'cursor-unusable': 'Send the unchanged `next` of the previous page; for the first page send no cursor.',
        'no-such-task': 'Tasks are kept for one hour. For results, see the runs and the audit log.',
      },
      retrying: {
        'cursor-expired': 'The list was rebuilt. Start again with the first page.',
        'not-in-time': 'No response within ten seconds. The clinic may be slow.',
        'too-many-tasks': 'Five tasks of the tenant are in progress. Repeat the request when one has finished.',
      },
    },
  },
  connections: {
    title: 'Connections',
    codes: {
      actionRequired: {
        'not-connected': 'No account is connected. Connect the account.',
        'login-ended': 'The grant was revoked, expired or replaced by the provider. Connect again.',
        'refresh-answer-lost': 'A refresh was interrupted after the provider replaced the token. Connect again.',
        'interaction-required': 'The provider requires a confirmation. Connect again.',
        'login-refused':
          'Connect again and allow access. For CalDAV, correct the password; many servers require an app password.',
        'missing-scopes': 'Connect again and keep every checkbox selected. `status` lists the missing scopes.',
        'no-refresh-token': 'Connect again and allow offline access. The client must be registered for refresh tokens.',
        'password-refused':
          'Correct `username` in the tenant file, or the password in the file or variable in the message.',
        'username-invalid': 'A user name for basic authentication must not contain a colon.',
        'login-unknown': 'The link was used, has expired, or the connection was changed. Start again.',
        'no-such-link': 'The link was used, withdrawn or has expired. Run `clinic-mirror logins links list`.',
        'link-too-long': 'Choose at most 168 hours.',
        'login-other-browser': 'Finish in the browser in which you pressed the button. Start again with a new link.',
        'id-token-rejected':
          "The provider's id_token was invalid for this request. Start again. If the error remains, check the host's clock, the issuer and the client.",
        'wrong-account': 'Connect with the account in `account` of the tenant file, or correct `account`.',
        'account-unknown':
          'The provider did not return the account. Start again. If the provider never returns the account, remove `account` from the tenant file.',
        'account-unconfirmed':
          'Check the connected account in `status`, then run `clinic-mirror accept-account`, or connect with the correct account; see [Confirming an account](runbook.md#confirming-an-account).',
        'account-differs':
          '`status` shows the connected account. If the account is correct, name this account in the command.',
        'login-overtaken':
          'Another grant for the same connection was stored at the same time. Check `status`; if necessary, start again.',
        'login-code-refused': 'Start again.',
        'login-answer-rejected':
          'The response was from a different server. Start again. If the error remains, check issuer and redirect URL.',
        'device-code-expired': 'No one confirmed in time. Start again.',
        'device-answer-refused':
          'The server returned no https page, or a code with invalid characters. Connect without `--device`.',
        'device-code-unknown': 'Start again.',
        'account-inactive': 'An administrator of the organisation must activate the user. Then connect again.',
        'address-restricted':
          "An administrator must allow the daemon's IP address at all hours, for the user and the app. Then connect again.",
        'application-not-approved': 'An administrator must approve the app for the user. Then connect again.',
        'instance-unknown': "The grant does not contain the URL of the organisation's API. Connect again.",
        'key-refused':
          'Create a new token or key with the vendor and write the value into the file or variable in the message.',
        'client-rejected': 'Check `clientId`, `clientSecret` and the registration.',
        'client-not-allowed': 'Check the registered grants, redirect URLs and scopes of the client.',
        'scope-rejected': 'The provider does not know a scope. Check the registration and `scopePrefix`.',
        'discovery-failed':
          'Check the URL of the authorization server. For CalDAV, configure the URL of the calendar or of the calendar home.',
        'endpoint-unknown': 'The authorization server has no such endpoint. Connect without `--device`.',
        'issuer-mismatch':
          "Write the URL exactly as the server's `issuer`, or check for a different server at this URL.",
        'insecure-address':
          'Use an `https://` URL. If a discovery document contains the URL, contact the provider. Public documents must not refer to a private network.',
        'service-account-key': 'Refer to the JSON key file from Google.',
        'service-account-refused': 'Check the key, the account in `subject`, and the clock.',
        'delegation-missing':
          "The organisation's administrator must grant the scopes in the message to the service account.",
        'client-proof-missing': 'Set `clientSecret` or, for Microsoft, `certificate`.',
        'client-certificate': 'Refer to one PEM file with the RSA private key and the certificate.',
        'application-not-allowed':
          'An administrator must grant consent to the app (Microsoft), or approve the app for an active user (Salesforce).',
        'token-answer-unreadable': 'The response is not an OAuth response. Check for a proxy.',
        'token-error-unknown': 'The server returned an unknown error, shown in the message. Report the message.',
      },
      retrying: {
        'provider-failed': 'The provider returned an error. Connect again after a few minutes.',
        'token-endpoint-unavailable':
          'The authorization server is unavailable. The daemon uses the current token until expiry.',
      },
    },
  },
  clinic: {
    title: 'The clinic',
    codes: {
      actionRequired: {
        'token-refused': 'Connect to the clinic again.',
        'missing-claim': 'Connect again and grant every scope.',
        'insufficient-permissions': 'The clinic must give the connected user the permission.',
        forbidden: 'Check the scopes of the connection and the permissions of the user.',
        'user-unknown': 'The clinic must add the user, or another user must connect.',
        'tenant-choice': 'Set `clinic.tenantId` to an id in the message.',
        'tenant-not-allowed': 'The user has no access to `clinic.tenantId`.',
        'tenant-gone':
          'The user lost access to the previous tenant, and `clinic.tenantId` is not set. Request access from the clinic, connect as another user, or set `clinic.tenantId`. clinic-mirror never selects another tenant automatically.',
        'not-found': 'Check `baseUrl`, `pathPrefix` in the profile, and the tenant id.',
        redirected: 'Check `baseUrl`. clinic-mirror does not follow redirects.',
        'unasked-not-modified': 'The clinic answered 304 twice without a condition. Check for a cache or proxy.',
        'rule-refused':
          "A rule of the clinic refuses the call. Only the user who ran the command sees the clinic's text.",
        'call-refused': 'Check parameter names, date format and `maxDays` in the profile.',
        'history-partial':
          'Past appointments could not be read completely. Contacts remain unchanged. Check `paging` in the profile, or lower `crm.derived.historyDays`.',
        'history-shrunk':
          'The clinic returns far fewer past appointments (at least a fifth and more than ten are missing). Derived properties wait. Check the clinic. The daemon accepts the new number after one day, or after a restart.',
        'incomplete-list': 'The end of a catalogue could not be confirmed. Check `paging` in the profile.',
        'too-many-records':
          'A list of the clinic has more records than `limits.maxRecords` of the profile. It counts as not read, so nothing is changed or deleted. Ask the clinic why the list is so long, or raise the limit.',
        'not-a-list': 'Set `listPath` in the profile, in general or for this list.',
        'not-a-record': 'Set `recordPath` in the profile, in general or for this list.',
        'write-unshown':
          'The clinic accepted the write but does not return the record. Check the clinic before you repeat the command.',
        'status-unmapped': "Use a status of the profile, or add the clinic's value to `appointments.statusWords`.",
        'field-unmapped': 'Add a path for the field to the profile, or remove the field.',
        'word-unmapped':
          "Add the clinic's value to `words` of the resource in the profile, or use a value of clinic-mirror.",
        'bad-value': 'The value has the wrong type for the field.',
        'bad-record': 'Correct the fields of the resource in the profile.',
        'file-needed': 'Name the file to send.',
        'file-too-large': "The PDF exceeds `medicalReports.upload.maxBytes` or the clinic's limit. Nothing was saved.",
        'file-changed': 'The file changed during the upload. Send the file again.',
        'not-a-pdf': 'The file is not a PDF. Check the file, and check for a portal page.',
        'fate-unknown': 'The invoice or some reimbursements may exist. Check the clinic before you send again.',
        'wrong-record':
          'The clinic returned a different record. If only the case of the id differs, set `idCase: ignored` in the profile; otherwise report the error to the clinic.',
        'record-of-another':
          'The record belongs to another tenant and remains unchanged. If the record is correct, set `tenantId` of the list in the profile.',
        'tenants-not-found':
          'The UserInfo response has no tenants at `tenants.path`. The message lists the available fields. Set `tenants` in the profile.',
        'bad-tenants':
          'The tenants have no id at `tenants.fields.id`. The message lists the available fields. Set `tenants` in the profile.',
        'bad-id': 'The id contains characters that a URL cannot contain.',
        'foreign-link':
          'The link to the next page leads to another host. Set the base URL that the clinic uses in links.',
      },
      retrying: {
        'rate-limited': 'The clinic or a vendor limits requests. If this happens often, lower the budget.',
        'budget-exhausted':
          'The configured budget is used up, and a user would wait longer than 30 seconds. If the vendor allows more, raise `budget`.',
        'budget-paused':
          'The server requested a pause for the tenant or the client. The daemon retries with one request within 15 minutes. If this happens often, lower `budget`.',
        unavailable: 'The clinic cannot answer.',
        conflict: "The clinic's state does not allow the call, or changed in the meantime.",
        'file-cut-short': 'The length of the PDF differs from the announced length. Repeat the download.',
        'out-of-sequence':
          "The invoice is not the next of the section. Send no number, and a date not earlier than the section's last invoice.",
      },
      ok: {
        'transition-refused': 'The clinic does not allow this change of status. The message names both statuses.',
        'record-gone': 'The record was deleted in the clinic in the meantime.',
      },
    },
  },
  incompleteTargets: {
    title: 'Incomplete targets',
    effect:
      'A part of the data of the clinic is missing for a target. The known part stays in sync, the other events stay unchanged, and `in sync as of` does not advance. The problem ends with the next cycle that reads everything.',
    codes: {
      none: {
        'records-unreadable': 'Skipped records may belong to the target; see [Skipped records](#skipped-records).',
        'records-unconfirmable':
          'For three cycles, records missing from the list could not be read individually: the codes and fields are in the problem, for example `wrong-record id` (set `idCase: ignored` if only the case differs). Their events stay.',
        'records-unlisted':
          "The clinic's list lacks records that a separate read returns as active and unmoved. The list is `partial`: nothing is removed, `in sync as of` does not advance, and new bookings may be missing. Check the list, the filters and the paging of the clinic system.",
        'values-unused':
          'Records name an agenda of the target, or several patients, in a list of which only the first value is used. Written events stay until the clinic cancels the appointment; see [Several agendas or patients](clinic-profile.md#several-agendas-or-patients).',
        'agenda-unknown':
          'The clinic has no agenda with the id in the target or reminder rule. Correct `agendas`; the message suggests similar ids.',
        'treatment-unknown':
          'The clinic has no treatment with the id in the target or reminder rule. Correct `treatments`.',
        'egress-stopped':
          'The content would reveal more about patients than the target allows, so the event remains unchanged. Report this defect of clinic-mirror with the codes (`egress-first-name`, `egress-last-name`, `egress-email`, `egress-phone`, `egress-tax-code`, `egress-birth-date`, `egress-address`) and without names; see [Egress check](privacy.md#the-check-on-the-way-out).',
        'agenda-unconfirmed':
          'The catalogue is not readable and no record contains the id, so clinic-mirror cannot check the id.',
        'treatment-unconfirmed':
          'The catalogue is not readable and no record contains the id, so clinic-mirror cannot check the id.',
      },
    },
  },
  skippedRecords: {
    title: 'Skipped records',
    effect:
      'The daemon cannot use a record of the clinic, and uses all other records. An event that was already written stays unchanged.',
    codes: {
      none: {
        'missing-id': 'The id is missing.',
        'missing-field': 'A required field is missing.',
        'wrong-type':
          'A field has the wrong type, such as an object for an id. An optional field becomes empty instead and is counted in `status`.',
        'bad-time': 'A time is invalid, such as 30 February, or ambiguous, such as 01/02/2026.',
        'end-before-start': 'The end is before the start.',
        'absurd-duration': 'The appointment is longer than `longestDays` in the profile.',
        'ambiguous-date': 'A date such as `03/12/2026` can be two dates, and the profile has no `dateOrder`.',
        'unknown-zone':
          'A local time has a zone of the record, agenda or location that is neither an IANA zone nor a Windows zone.',
        'incomplete-record':
          'A patient that only a single answer shows has no name there, although the list gives names. The contact stays; see [Records read individually](crm.md#records-read-individually).',
        'merged-into-absent':
          'The patient was merged into a patient that the clinic does not show. The contact stays; see [Merged patients](clinic-profile.md#merged-patients).',
        'wrong-tenant':
          'The record belongs to another tenant. If the records use another id for tenants, set `tenantId: []` in the profile; see [Records of another tenant](clinic-profile.md#records-of-another-tenant).',
        tombstone:
          'Not a fault and not counted: the record is cancelled, deleted or without a scheduled start, and the daemon removes the record from targets; see [Deleted records](clinic-profile.md#deleted-records).',
      },
    },
  },
  profileRemarks: {
    title: 'Skipped records',
    effect: 'No record is skipped.',
    codes: {
      none: {
        'zone-unread':
          'A field contains a time zone that differs from the zone of local times, and the profile does not use the field.',
        'zone-fixed':
          "The zone is `EST`, `MST` or `HST`, which has no daylight saving time. If the clinic's clocks change, use `America/New_York` or another zone of a region.",
        'date-order': 'A date such as `03/12/2026` can be two dates. Set `dateOrder` in the profile.',
        'more-told':
          "A field outside the records announces more records than the profile's paging reads: the list is `partial`.",
        'several-values':
          'A list contains several agendas or patients, and only the first is used; see [Several agendas or patients](clinic-profile.md#several-agendas-or-patients).',
        'path-empty':
          'No record of a full read has the field at any of its paths in the profile (`status`, `plan`, `health`, `doctor`).',
      },
    },
  },
  targets: {
    title: 'Targets',
    codes: {
      actionRequired: {
        'keys-exhausted':
          'The target refuses every name for a record. Check for an event or object of another program with the same name.',
        'outcome-missing':
          'The connector returned no result for an operation. The daemon repeats the operation. Report the error.',
      },
      retrying: {
        'lease-lost': 'Another worker took over. Nothing was written.',
        'backing-off': "The daemon retries the target later, after an error or at the vendor's request.",
      },
    },
  },
  reminders: {
    title: 'Reminders handed over',
    codes: {
      actionRequired: {
        'webhook-unauthorized': 'The receiver refuses the signature. Configure the same signing secret on both sides.',
        'webhook-gone':
          'The receiver answered 410 and accepts no more messages. Remove the channel, or configure the receiver again, then run `clinic-mirror reminders reopen` or `clinic-mirror triggers reopen`.',
        'webhook-refused': "The receiver refuses the message (4xx). Check the receiver's log.",
        'webhook-redirected': 'The receiver redirects. Configure the new URL; clinic-mirror does not follow redirects.',
        'payload-too-large': 'The message exceeds 20 kB. Remove `fields`.',
        'too-many-at-once':
          'One read found more changes than `triggers.mostAtOnce`. `clinic-mirror triggers reopen` sends the messages; with `--skip` the messages are never sent.',
        'first-list-partial':
          'The first list of reports or invoices was partial. If the error remains, check paging in the profile.',
        'document-unusable': 'The record of a document is invalid. The daemon reads the record again.',
        'address-invalid': "The clinic's record contains no valid e-mail address of the patient.",
        'smtp-utf8-missing':
          "The patient's address has letters other than ASCII before the `@`, and the mail server does not support this (SMTPUTF8). Ask the patient for another address.",
        'recipient-refused': 'The mail server reports that the mailbox does not exist or is refused.',
        'mail-refused': 'The mail server refuses the content of the mail.',
        'smtp-login-refused': 'Correct user and password of the mail server.',
        'smtp-sender-refused': 'The mail server refuses this sender address, or requires authentication.',
        'smtp-tls-failed':
          'The certificate or encryption of the mail server is not accepted. Correct `host`, `port` or `security`, or set `certificateAuthority`.',
        'no-phone': 'The patient has no phone number that receives messages.',
        'text-too-long': 'The text exceeds `maximumSegments`. clinic-mirror never cuts a text.',
        'number-unreachable': 'The number does not exist or receives no messages.',
        'region-not-enabled': "Allow the number's country in the gateway's account.",
        'sms-refused': "The gateway refuses the message. The gateway's console shows the reason.",
        'sms-login-refused': 'Correct `accountSid` and `authToken`.',
        'sms-sender-refused': 'Correct `from` or `messagingServiceSid`.',
      },
      retrying: {
        throttled: 'The receiver or gateway limits requests.',
        'webhook-unavailable': 'The receiver is unavailable (5xx).',
        'smtp-busy': 'The mail server is unavailable or limits requests.',
      },
      ok: {
        'smtp-answer-lost':
          'The connection ended after the mail was sent. The mail may have arrived and is not sent again.',
        'sms-opted-out': 'The patient answered STOP. The gateway sends no message until the patient answers START.',
        'sms-failed': 'The gateway accepted the message but could not deliver the message.',
        'sms-answer-unclear':
          'The response is not from the gateway. The message may have been sent and is not sent again.',
      },
    },
  },
  problems: {
    title: 'Problems that are no errors',
    codes: {
      actionRequired: {
        'approval-awaited':
          'A second operator must run the same command before expiry; see [Dual control](audit-log.md#dual-control).',
        'on-hold': 'Run `clinic-mirror holds list <tenant>`, then approve or reject.',
        'manual-changes':
          'Users changed or deleted objects. Run `clinic-mirror audit <tenant>`; see [Changes by hand](runbook.md#changes-by-hand).',
        'first-sync-slow': 'The first sync takes more than six hours. Run `clinic-mirror health <tenant> <target>`.',
        'scope-missing':
          'The connection lacks permissions. Connect again and keep every permission selected. `status` lists the missing scopes.',
        'corrections-held':
          "Many appointments changed after reminders were sent. Check the time zone and the clinic's list, then [approve or reject the hold](reminders.md#many-corrections-at-once).",
        'patients-replied':
          'Patients replied to reminders. Read the replies with `clinic-mirror reminders replies <tenant>`, and delete each; see [Replies](reminders.md#replies).',
        'patient-untold':
          'Call the patient; see [Patients to call](reminders.md#patients-who-hold-wrong-information). The problem ends when a message is sent, or the appointment begins, is cancelled or moved.',
        'patient-misinformed':
          'If no correction is sent, call the patient; see [Corrections](reminders.md#when-it-is-no-longer-true). The problem ends automatically if a correction is due.',
        'file-refused':
          'The changed file has faults, and the previous version remains active. Run `clinic-mirror config check`.',
        'server-not-away': 'Give the name of an unavailable server from `clinic-mirror status --problems`.',
        'restart-awaited': 'Restart the daemon to apply the settings that `status` lists.',
        'redis-slow': 'Move Redis and the daemon closer together. One cycle sends about eighty requests to Redis.',
        'secret-readable':
          "Warning: other users can read a secret file. Run `chmod 600` on the file. The daemon's user must be the owner.",
        'proxy-not-trusted':
          "All clients of a reverse proxy share one limit. Add the proxy's network to `http.trustedProxies`; see [Behind a reverse proxy](access.md#behind-a-reverse-proxy).",
        'name-unknown': "The host name cannot be resolved. Correct the URL in the setting, or check the host's DNS.",
        'daemon-not-running':
          'No daemon has run for two cycle intervals. Start it: `systemctl start clinic-mirror`. `status` exits with 1.',
        'configurations-differ':
          "Daemons run with different files or releases. Copy the same files and the same release to every host. The older daemon's `/readyz` returns 503.",
        'clock-differs': 'Set the clocks of both hosts with NTP.',
        'clinic-twice':
          'Two tenants are connected to the same clinic. Keep one file with all targets, or connect the second tenant to another clinic.',
        'no-data-directory':
          'Set `dataDirectory`. Without the directory clinic-mirror detects fewer losses; see [Loss of Redis data](backup.md#when-redis-lost-data).',
        'data-directory-failed': 'Set `dataDirectory` to a directory that the daemon can write to.',
        'login-ending':
          'The connection expires soon. Connect again. For Google, publish the app: the consent screen has the status "Testing".',
        'login-resting':
          'The daemon could not refresh the connection. `clinic-mirror doctor <tenant>` shows the reason.',
        'notifications-ending':
          "The vendor's notifications cannot be renewed. Audits find manual changes in the meantime.",
        'certificate-ending': 'Renew the certificate of the server in the message.',
        'secret-ending':
          'Create a new secret with the vendor and update the secret and `clientSecretEndsOn` in the settings.',
        'daily-quota-short': 'Buy more quota from the vendor, or increase `everyMinutes`.',
        'no-cycles': "Check that a daemon runs with the roles `scheduler` and `worker`, and read the daemon's log.",
      },
      retrying: {
        'writes-failed':
          'The last attempt of some changes failed. After one hour action is required: run `clinic-mirror health <tenant> <target>`.',
        'read-failed':
          'The last cycle could not read all data, so the target shows older data. Read the line `last cycle` of `clinic-mirror status <tenant>`.',
        'server-away':
          'A [server is unavailable](runbook.md#a-server-is-unavailable). The problem names the last cause, and its remedy if only an operator can remove it. To retry now, run `clinic-mirror retry <server>`.',
        'redis-late':
          'Redis did not confirm in time that a decision is on disk. Reminders wait. If the problem remains, check the disk of Redis.',
        'quota-short':
          '80 % of a `budget` were used in one hour. If the vendor allows more, raise the budget; otherwise cycles start late.',
        'rate-limited':
          'Of the clinic or a connection: the server limits requests of this clinic. The daemon retries at the shown time. If this happens often, lower `budget`.',
        'client-rate-limited':
          'The server limits several clinics with this client. The daemon retries at the shown time. If this happens often, lower `budget`.',
        'login-refused-once':
          'The provider refused a connection that worked. The daemon retries at the shown time, before a new sign-in is required.',
        'backlog-growing':
          'Changes have been waiting for more than one hour without errors. After six hours, run `clinic-mirror health <tenant> <target>`.',
      },
    },
  },
  anywhere: {
    title: 'Anywhere',
    codes: {
      actionRequired: {
        'address-not-allowed':
          'The host or IP address is not allowed. Use an https URL on the public internet, or add your network to [`outbound`](configuration.md#outbound) for the purpose in the message. Link-local and metadata addresses are never allowed.',
        'html-answer':
          'The response is an HTML page of a proxy, a portal or a maintenance page. Open the configured URL in a browser. The daemon retries.',
        'empty-answer': 'The response is empty instead of JSON. Report the error to the operator of the server.',
        'not-json': 'The response is not JSON, or is truncated. Report the error to the operator of the server.',
        'not-utf8': 'The response is not UTF-8 text. Report the error to the operator of the server.',
        'answer-too-large':
          'The response exceeds the limit of size, values, names or depth. For the clinic, use smaller pages or raise `limits.maxAnswerBytes`.',
        unexpected: 'A defect of clinic-mirror. Report the error with the log line.',
      },
      retrying: {
        timeout: 'No response in time.',
        'connection-failed':
          'The connection failed. The sentence names the cause: a refused connection, an unknown host name, no route, a slow server or a certificate.',
        aborted: 'The daemon stopped, or the user cancelled.',
      },
    },
  },
} as const satisfies Readonly<Record<string, CodeGroup>>;
