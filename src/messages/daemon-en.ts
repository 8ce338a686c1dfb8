/** English sentences about the daemon, by code: its API and ports, steps of its work, events, and results of reads. */
export const DAEMON_EN = {
  'patient-untold': 'no message by {channels} told the patient of the appointment: {reasons}',
  'patients-replied': '{count:reply|replies} of patients to read',
  'api.unknown-caller': 'the caller is not authenticated',
  'api.not-allowed': 'the caller has no permission for this request',
  'api.no-route': 'the URL does not exist',
  'api.too-many-requests': 'too many requests in a minute: try again after Retry-After',
  'api.refused': 'the request was refused',
  'api.request-invalid': 'the request does not match the schema of the route',
  'api.request-too-large': 'the body is larger than the route accepts',
  'api.body-invalid': 'the body is not valid JSON',
  'api.faults': 'the configuration has {count:fault|faults}',
  'api.faults.remedy': 'correct each of "faults"',
  'port.taken': 'is taken by another process',
  'port.forbidden': 'is reserved for users with more rights',
  'port.elsewhere': 'is not an IP address of this host',
  'port.no-feed': 'no one can fetch a feed',
  'port.no-work': 'a process of the role http would have nothing to do',
  'start.checked': 'starting: {checked} of {total} are checked',
  'start.sign-in': 'No one can sign in yet. Choose the owner passphrase here, within an hour, once:',
  'redis.connection': 'the connection is {status}',
  'redis.no-answer': 'no answer for {seconds} s',
  'redis-full': 'Redis has reached its memory limit and refuses every write',
  'redis-full.remedy':
    'raise "maxmemory" in redis.conf, then run: redis-cli CONFIG SET maxmemory <bytes> (docs/redis.md)',
  storage: 'memory in Redis: {used} MiB of at most {limit} MiB',
  'storage.unknown': 'memory in Redis: unknown, not counted yet or without the permission memory|usage',
  'tenant-too-large':
    'the data of the tenant in Redis needs {used} MiB of at most {limit} MiB: {count:change|changes} left out, and no new objects are created',
  'tenant-too-large.target': '{count:change|changes} left out, because the tenant uses too much memory in Redis',
  'tenant-too-large.remedy':
    'compare the links of the targets in "status --json"; reduce windows or targets in {place}, or raise limits.tenantMebibytes in clinic-mirror.yaml',
  'redis-read-only': 'this Redis is a replica and refuses every write',
  'redis-read-only.remedy':
    'run "redis-cli ROLE" on each server, and set the address of the master in "redis" in clinic-mirror.yaml',
  'redis-no-replicas': 'Redis refuses every write, because too few replicas are connected',
  'redis-no-replicas.remedy':
    'start the replicas of Redis; to see which are connected, run: redis-cli INFO replication',
  'redis-snapshot-failed': 'Redis refuses every write, because it could not save its data to disk',
  'redis-snapshot-failed.remedy': 'check space and permissions of the data folder of Redis, then run: redis-cli BGSAVE',
  'redis-loading': 'Redis is still loading its data',
  'redis-loading.remedy': 'wait until Redis is ready; to see the progress, run: redis-cli INFO persistence',
  'redis-busy': 'a long script blocks Redis',
  'redis-busy.remedy': 'run: redis-cli SCRIPT KILL',
  'redis-database-missing': 'Redis does not have the database number of redis.url',
  'redis-database-missing.remedy':
    'correct the number at the end of redis.url, or increase "databases" in the configuration of Redis and restart Redis',
  'redis-cluster-down': 'Redis has no reachable master for a part of the data',
  'redis-cluster-down.remedy': 'run "redis-cli CLUSTER INFO" or "redis-cli ROLE", and start the missing servers',
  'daemon-not-running': 'no daemon has run since then',
  'daemon-not-running.remedy':
    'start the daemon (clinic-mirror run, or systemctl start clinic-mirror), and read its log',
  'redis-rights.some': 'use every required command and key',
  'redis.managed-lost': 'Redis lost the tenants: the tenants continue until this process ends',

  'step.wait': 'waiting for {work} in progress',
  'step.wait.cycle': 'a cycle',
  'step.wait.patients': 'a fetch of patients',
  'step.wait.triggers': 'a fetch for webhooks',
  'step.wait.target': 'the work on target {target}',
  'step.absent-records': 'fetching each absent record',
  'step.next-days': 'planning the next two days',
  'step.past': 'fetching past appointments',

  'event.busy': 'Busy',
  'event.appointment': 'Appointment',
  'event.status': 'Status',
  'event.page': 'In the clinic system',
  'event.video-visit': 'Video visit',

  'ids-or-similar': '{ids}; similar names: {similar}',
  'rows-counted': '{count:record|records}',
  'records-unconfirmable':
    '{count:record|records} missing from the list of the clinic cannot be read individually: {codes}',
  'records-unconfirmable.id':
    'if the clinic writes ids in another case, set idCase: ignored in the clinic profile; otherwise report the error to the clinic',
  'records-unconfirmable.merged':
    'if the clinic merged the patients, set patients.merged in the clinic profile; otherwise report the error to the clinic',
  'records-unconfirmable.remedy': 'correct the fields of the clinic profile, or report the error to the clinic',
  'remark.date-order':
    '{list}: {field} in {rows} can be two dates, such as 03/12/2026; set dateOrder in the clinic profile',
  'remark.more-told':
    '{list}: {path} in the response announces more records than {rows}, so the list is partial; set paging for {list} in the clinic profile, or add {path} to paging.ignoredPaths if it has another meaning',
  'remark.path-empty':
    '{list}.fields.{field}: the path {path} found nothing in {rows}; correct the path in the clinic profile',
  'remark.several-values':
    '{list}.fields.{field}: {path} contains several values in {rows}, and only the first is used; write a path to the one value meant in the clinic profile, or set each: [{field}] if the record belongs to each value',
  'values-unused': '{count:record|records} with several values in a field, of which only the first is used: {fields}',
  'values-unused.remedy':
    'write a path to the one value meant, such as agendas.0, in the clinic profile, or set each: [{fields}] if the record belongs to each value',
  'decision.several-patients':
    'the target has a record for each of the patients; to explain one, add ~patient: and the id of the patient to this id',
  'decision.several-values':
    'the clinic names several agendas, and the profile uses only the first: the target stays unchanged',
  'remark.zone-fixed':
    '{list}: {path} names the zone {zones} in {rows}, which has no daylight saving time; if the clinic’s clocks change, write {usual} in the clinic system',
  'remark.zone-fixed.profile':
    'the clinic profile has the zone {zone}, which has no daylight saving time; if the clinic’s clocks change, set zone: {usual}',
  'remark.zone-unread':
    '{list}: {path} names the zone {zones} in {rows}, but clinic-mirror reads local times in another zone; if {path} is their zone, add {path} to {list}.fields.zone in the clinic profile',
  'sync-health.in-sync': 'in sync',
  'sync-health.behind': 'behind',
  'sync-health.on-hold': 'on hold',
  'sync-health.unknown': 'unknown',
  'sync-health.ok': 'ok',
  'sync-health.retrying': 'retrying',
  'sync-health.action-required': 'action required',
  'first-sync.written': 'behind, first sync: {written} of {of} written',
  'match-file.contacts': '{count} contacts for this patient',
  'match-file.patients': '{count} patients for this contact',
  'on-hold.manual-changes':
    '{count:change|changes} on hold until an operator decides. manual-changes: {restorations} objects removed by hand, above the limit for automatic restoration (more than {limit} and {share} %, or half of a small target)',
  'notifications-ending.remedy': 'fix the cause of {reason}, see docs/errors.md: the daemon retries by itself',
  'events-not-kept':
    'the calendar does not show the first event that clinic-mirror wrote: the server changed its name and UID and dropped the marks, or did not store it; clinic-mirror writes no second event, because it would not recognise its own events',
  'events-not-kept.remedy':
    'delete the event and choose a calendar on a server that keeps the names or UIDs of events; after a correction of the server, run: clinic-mirror sync {tenant}; if the server shows the event late, the daemon continues without help',
  'key-not-kept':
    'the CRM does not show the key property of the first object that clinic-mirror wrote; clinic-mirror writes no second object, because it would not recognise its own objects',
  'key-not-kept.remedy':
    'delete the object in the CRM, let the user of the connection write the key property, then run: clinic-mirror sync {tenant}; if the CRM shows the object late, the daemon continues without help',
  'marks-dropped':
    'the server drops the marks of clinic-mirror; clinic-mirror recognises its objects by name, UID or key, so no action is required',
  'write-policy':
    'policy {name}: {notRemoved} objects remain although their records left the target, and {notUpdated} objects are not updated',
  'logins-lost': 'Redis lost its data, and with it the logins: a backup contains them',
  'restore-or.each': 'restore a backup, or run for each of these clinics: {command}',
  'configurations-differ':
    'daemons run with different configurations or releases: {newest} since then, {older} with an older one',
  'configurations-differ.remedy':
    'copy the same configuration files and the same release to every host; a running daemon reads changed files by itself',
  'connection.refused': 'the server refuses the connection',
  'connection.no-route': 'the network has no route to the server',
  'connection.name-unknown': 'the DNS does not know the server',
  'connection.without-tls': 'the server does not answer in TLS at this port',
  'connection.without-tls.remedy':
    'correct scheme and port of the URL: https:// needs a port with TLS; http:// is allowed only on this host',
  'connection.slow': 'the server opens no connection in time',
  'connection.certificate-expired': 'the certificate of the server has expired',
  'connection.certificate-refused': 'the certificate of the server is not accepted',
  'value-too-long': 'another server sent a {kind} with more than {most} characters, which clinic-mirror does not store',
  'value-too-long.remedy': 'report the length to the operator of that server; other objects are not affected',
  'clinic.too-many-records': '{label}: the list has more than {most} records and counts as not read',
  'clinic.too-many-records.raise':
    'ask the clinic why the list is so long; if all its records are needed, raise limits.maxRecords in {file}',
  'server-away.cause': 'the server does not answer, or fails each request: {code}, {cause}',
  'passphrase-guessable': 'the passphrase is easy to guess',
  'passphrase-guessable.remedy': 'choose four random words, without names, dates, repetitions and rows of the keyboard',
  'sign-in-again': 'the last sign-in is too old for this action',
  'sign-in-again.remedy': 'sign in again, then repeat the action',
  'sign-in-too-weak': 'the provider did not confirm the demanded sign-in: claim {claim}',
  'sign-in-too-weak.remedy':
    'correct acrValues, amr or maxAgeMinutes in operator.access.oidc, or the rules of the provider for this client',
  'contact-unknown': 'no patient and no message has this address or number',
  'contact-unknown.remedy': "check the spelling, or give the patient's id in the clinic system",
  'contact-ambiguous': 'several patients have this address or number',
  'contact-ambiguous.remedy': 'list their ids without --yes (API: forget/preview), then give the id of one patient',
  'forget.one-of': "give one of: the patient's id, an e-mail address, a telephone number",
} as const;
