/** A problem of operation, with the sentence and the next step in every interface: tests cause each fault. */
export interface Fault {
  code: string;
  health: 'action-required' | 'retrying';
  /** When the fault is reported. Absent: at once. */
  known?: keyof typeof WHEN;
  /** `<…>` stands for a value that varies. */
  sentence: string;
  /** Null if no action is required. */
  next: string | null;
}

/** Faults of a clinic or of one part, by a short description of the problem: `test/e2e/faults.test.ts` causes them. */
export const FAULTS = {
  'the clinic connection has no sign-in': {
    code: 'not-connected',
    health: 'action-required',
    sentence: 'the connection is not set up: no one has signed in yet',
    next: 'clinic-mirror login clinic-1 clinic',
  },
  'the clinic refused the connection once': {
    code: 'login-refused-once',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the server refused the connection once: retrying to confirm the refusal',
    next: null,
  },
  'the clinic connection was revoked': {
    code: 'login-ended',
    known: 'asked-again',
    health: 'action-required',
    sentence: 'the connection has expired or was revoked: a new sign-in is required',
    next: 'clinic-mirror login clinic-1 clinic',
  },
  'a calendar connection was refused once': {
    code: 'login-refused-once',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the server refused the connection once: retrying to confirm the refusal',
    next: null,
  },
  'a calendar connection was revoked': {
    code: 'login-ended',
    known: 'asked-again',
    health: 'action-required',
    sentence: 'the connection has expired or was revoked: a new sign-in is required',
    next: 'clinic-mirror login clinic-1 doctor-1',
  },
  'a connection lacks a permission': {
    code: 'scope-missing',
    health: 'action-required',
    sentence:
      'permissions are missing: https://www.googleapis.com/auth/calendar.app.created https://www.googleapis.com/auth/calendar.calendarlist.readonly',
    next: 'clinic-mirror login clinic-1 doctor-1',
  },
  'an account is not confirmed': {
    code: 'account-unconfirmed',
    health: 'action-required',
    sentence: 'the account <account> is not confirmed',
    next: 'clinic-mirror accept-account clinic-1 doctor-1 <account>',
  },
  'the user left the clinic': {
    code: 'user-unknown',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'the user of the connection has no access to the clinic',
    next: 'clinic-mirror login clinic-1 clinic',
  },
  'a connection expires soon': {
    code: 'login-ending',
    health: 'action-required',
    sentence: 'the connection expires at a fixed time, even if the connection is in use',
    next: 'clinic-mirror login clinic-1 doctor-1',
  },
  'a connection cannot be renewed': {
    code: 'login-resting',
    health: 'action-required',
    sentence: 'the connection could not be renewed, and expires if the connection remains unused',
    next: 'clinic-mirror doctor clinic-1',
  },
  'a calendar was deleted': {
    code: 'calendar-gone',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'the calendar was deleted, or the connected account has no access to it',
    next: 'check the calendar id, and share the calendar with the connected account',
  },
  'a calendar is read-only': {
    code: 'calendar-forbidden',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'Google refused to change the calendar',
    next: 'give the connected account the permission to make changes to events in this calendar',
  },
  'a vendor asks to slow down': {
    code: 'rate-limited',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'Google limits the number of requests',
    next: null,
  },
  'the daily quota of a vendor is used up': {
    code: 'daily-limit',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the daily quota of the Google Cloud project is used up',
    next: 'wait until midnight Pacific time, or raise the quota of the project',
  },
  'a vendor is unreachable': {
    code: 'server-away',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the server does not answer, or fails each request: connection-failed',
    next: 'clinic-mirror retry <host>',
  },
  'a sign-in page answers instead of a vendor': {
    code: 'html-answer',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'Google returned an HTML page instead of an API response',
    next: null,
  },
  'a vendor answers with errors': {
    code: 'server-away',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the server does not answer, or fails each request: server-error, Google reports an internal error',
    next: 'clinic-mirror retry <host>',
  },
  'one event is refused': {
    code: 'writes-failed',
    known: 'next-cycle',
    health: 'retrying',
    sentence: '1 change refused or failed: retrying',
    next: 'clinic-mirror health clinic-1 doctor-1',
  },
  'a cycle would remove too much': {
    code: 'on-hold',
    known: 'next-cycle',
    health: 'action-required',
    sentence: '4 changes on hold until an operator decides',
    next: 'clinic-mirror holds list clinic-1',
  },
  'an event was edited by hand': {
    code: 'manual-changes',
    health: 'action-required',
    sentence: '1 change made by hand: review required',
    next: 'clinic-mirror audit clinic-1',
  },
  'a tenant file names an unknown agenda': {
    code: 'agenda-unknown',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'the clinic lists no agenda no-such-agenda',
    next: 'correct agendas of doctor-1 in tenants/clinic-1.yaml',
  },
  'the list of the clinic lacks records': {
    code: 'records-unlisted',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'the list of the clinic lacks <n> records that the clinic shows individually',
    next: 'check the filters and the paging of the list in the clinic system',
  },
  'a clinic record cannot be read': {
    code: 'records-unreadable',
    known: 'next-cycle',
    health: 'action-required',
    sentence: '<n> records of the clinic cannot be read: bad-time',
    next: 'clinic-mirror status clinic-1',
  },
  'the list of the clinic is incomplete': {
    code: 'read-failed',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the last cycle could not read all data that it requires',
    next: null,
  },
  'the clinic is unreachable': {
    code: 'server-away',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the server does not answer, or fails each request: connection-failed',
    next: 'clinic-mirror retry <host>',
  },
  'a sign-in page answers instead of the clinic': {
    code: 'html-answer',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'the last cycle failed: clinic.appointments.list: the answer is an HTML page instead of JSON',
    next: 'open the configured URL in a browser: a sign-in page, a proxy or a maintenance page answers the requests',
  },
  'the clinic answers with errors': {
    code: 'server-away',
    known: 'next-cycle',
    health: 'retrying',
    sentence:
      'the server does not answer, or fails each request: unavailable, the clinic is not able to answer, status 503',
    next: 'clinic-mirror retry <host>',
  },
  'the clinic does not know the URL': {
    code: 'not-found',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'the last cycle failed: clinic.userInfo.read: the clinic does not know this URL, status 404',
    next: 'check baseUrl of the clinic client in clinic-mirror.yaml, pathPrefix in profiles/documented.yaml, and the tenant’s clinic.tenantId',
  },
  'a tenant file has faults': {
    code: 'tenant-set-aside',
    health: 'action-required',
    sentence: 'the tenant does not run: 4 faults in the tenant file',
    next: 'clinic-mirror config check',
  },
  'a changed file is refused': {
    code: 'file-refused',
    health: 'action-required',
    sentence: 'a changed file is refused: the previous content stays active',
    next: 'clinic-mirror config check',
  },
  'a changed setting requires a restart': {
    code: 'restart-awaited',
    health: 'action-required',
    sentence: 'changed settings require a restart: redis',
    next: 'restart the daemon',
  },
  'an action requires approval by a second operator': {
    code: 'approval-awaited',
    health: 'action-required',
    sentence: 'forget requires approval by a second operator: ada requested the action',
    next: 'run the same command as another operator, or wait until the request expires',
  },
  'Redis may evict keys': {
    code: 'redis-evicts',
    health: 'action-required',
    sentence: 'Redis may evict keys when memory is short, and clinic-mirror would lose state',
    next: 'set "maxmemory-policy noeviction" in redis.conf, then run: redis-cli CONFIG SET maxmemory-policy noeviction',
  },
  'Redis does not write to disk': {
    code: 'redis-not-durable',
    health: 'action-required',
    sentence: 'Redis does not keep an append-only file: a restart of Redis would lose state',
    next: 'set "appendonly yes" in redis.conf, then run: redis-cli CONFIG SET appendonly yes',
  },
  'alerts cannot be delivered by webhook': {
    code: 'webhook-gone',
    health: 'action-required',
    sentence: 'alerts cannot be delivered',
    next: 'check "alerts" in clinic-mirror.yaml, and the server named there',
  },
  'a reminder channel is closed': {
    code: 'webhook-gone',
    health: 'action-required',
    sentence: 'the channel is closed: no messages are sent through the channel',
    next: 'fix the cause, then run: clinic-mirror reminders reopen clinic-1 hook',
  },
  'no message told a patient of an appointment': {
    code: 'patient-untold',
    health: 'action-required',
    sentence: 'no message by hook told the patient of the appointment: channel-gone',
    next: 'clinic-mirror reminders explain clinic-1 <appointment>',
  },
  'a trigger endpoint is closed': {
    code: 'webhook-gone',
    health: 'action-required',
    sentence: 'the endpoint is closed: no events are sent to the endpoint',
    next: 'fix the cause, then run: clinic-mirror triggers reopen clinic-1 portal',
  },
  'a certificate expires soon': {
    code: 'certificate-ending',
    health: 'action-required',
    sentence: 'the certificate expires soon',
    next: 'renew the certificate on the server, and check why automatic renewal failed',
  },
  'the request budget of a client is short': {
    code: 'quota-short',
    health: 'retrying',
    sentence: '263 % of the hourly request budget is used',
    next: 'raise "budget" up to the limit of the vendor; until then, cycles start late',
  },
  'the daily quota of an account is short': {
    code: 'daily-quota-short',
    health: 'action-required',
    sentence: '95 % of the daily request limit of the account is used',
    next: 'buy a higher limit from the vendor, or raise "everyMinutes" of the data that CRMs follow; no changes are lost, but changes are late',
  },
  'vendor notifications cannot be renewed': {
    code: 'notifications-ending',
    health: 'action-required',
    sentence: 'the vendor stops notifications of manual changes: only audits find such changes (forbidden)',
    next: 'fix the cause of forbidden, see docs/errors.md: the daemon retries by itself',
  },
  'a calendar server keeps no mark of an event': {
    code: 'events-not-kept',
    known: 'next-cycle',
    health: 'action-required',
    sentence:
      'the calendar does not show the first event that clinic-mirror wrote: the server changed its name and UID and dropped the marks, or did not store it; clinic-mirror writes no second event, because it would not recognise its own events',
    next: 'delete the event and choose a calendar on a server that keeps the names or UIDs of events; after a correction of the server, run: clinic-mirror sync clinic-1; if the server shows the event late, the daemon continues without help',
  },
  'changes arrive faster than clinic-mirror writes': {
    code: 'backlog-growing',
    health: 'retrying',
    sentence: 'changes arrive faster than clinic-mirror writes: the delay grows with each cycle',
    next: 'clinic-mirror health clinic-1 doctor-1',
  },
  'no daemon runs cycles': {
    code: 'no-cycles',
    health: 'action-required',
    sentence: 'cycles have stopped: no cycle finishes any more',
    next: 'check that a daemon with the role scheduler and a daemon with the role worker run, and read their logs',
  },
} as const satisfies Record<string, Fault>;

/** Faults that stop the whole installation, with the same description: `test/e2e/surfaces*.test.ts` cause them. */
export const INSTALLATION_FAULTS = {
  'Redis has no memory left': {
    code: 'redis-full',
    health: 'action-required',
    sentence: 'Redis has reached its memory limit and refuses every write',
    next: 'raise "maxmemory" in redis.conf, then run: redis-cli CONFIG SET maxmemory <bytes> (docs/redis.md)',
  },
  'Redis lacks replicas': {
    code: 'redis-no-replicas',
    health: 'action-required',
    sentence: 'Redis refuses every write, because too few replicas are connected',
    next: 'start the replicas of Redis; to see which are connected, run: redis-cli INFO replication',
  },
  'Redis is a replica': {
    code: 'redis-read-only',
    health: 'action-required',
    sentence: 'this Redis is a replica and refuses every write',
    next: 'run "redis-cli ROLE" on each server, and set the address of the master in "redis" in clinic-mirror.yaml',
  },
  'Redis cannot write to its disk': {
    code: 'redis-snapshot-failed',
    health: 'action-required',
    sentence: 'Redis refuses every write, because it could not save its data to disk',
    next: 'check space and permissions of the data folder of Redis, then run: redis-cli BGSAVE',
  },
  'Redis refuses a command': {
    code: 'redis-rights',
    health: 'action-required',
    sentence: 'Redis does not permit the user of clinic-mirror to run SET',
    next: 'give the user the rights in config/redis-users.acl (docs/redis.md#access-to-redis)',
  },
  'Redis refuses the login': {
    code: 'redis-login-refused',
    health: 'action-required',
    sentence: 'Redis does not accept the password of clinic-mirror',
    next: 'set user and password of Redis in redis.url of clinic-mirror.yaml (redis://user:password@host:port), or next to sentinels',
  },
  'Redis lacks the database': {
    code: 'redis-database-missing',
    health: 'action-required',
    sentence: 'Redis does not have the database number of redis.url',
    next: 'correct the number at the end of redis.url, or increase "databases" in the configuration of Redis and restart Redis',
  },
  'Redis went back to an older state': {
    code: 'state-went-back',
    health: 'action-required',
    sentence: 'Redis lost its data, and with it the logins: a backup contains them',
    next: 'restore a backup, or run: clinic-mirror accept-loss clinic-1',
  },
  'the clocks of the host and of Redis differ': {
    code: 'clock-differs',
    health: 'action-required',
    sentence: 'the clock of Redis and the clock of this host differ by <n> s',
    next: 'run timedatectl on this host and on the host of Redis, and correct the wrong clock with NTP',
  },
  'the data directory cannot be written to': {
    code: 'data-directory-failed',
    health: 'action-required',
    sentence: 'cannot store data outside Redis: "dataDirectory" is not writable (ENOTDIR)',
    next: 'set "dataDirectory" in clinic-mirror.yaml to a folder that the daemon may write to',
  },
  'no daemon runs': {
    code: 'daemon-not-running',
    known: 'two-intervals',
    health: 'action-required',
    sentence: 'no daemon has run since then',
    next: 'start the daemon (clinic-mirror run, or systemctl start clinic-mirror), and read its log',
  },
  'daemons run with different configurations': {
    code: 'configurations-differ',
    known: 'a-minute',
    health: 'action-required',
    sentence: 'daemons run with different configurations or releases: <daemons>',
    next: 'copy the same configuration files and the same release to every host; a running daemon reads changed files by itself',
  },
} as const satisfies Record<string, Fault>;

const WHEN = {
  'next-cycle': 'in the next cycle',
  'two-intervals': 'after two cycle intervals',
  'a-minute': 'after a minute',
  'asked-again': 'in the next cycle after `tokens.confirmRefusalAfterSeconds`',
};

/** Returns a Markdown table with one line per fault. */
export function renderFaults(faults: Readonly<Record<string, Fault>>): string {
  const rows = Object.entries(faults).map(([what, { code, health, known, sentence, next }]) => {
    const action =
      next === null
        ? health === 'retrying'
          ? 'none: the daemon retries'
          : 'see the code'
        : isCommand(next)
          ? `\`${next}\``
          : next;
    const when = known === undefined ? 'immediately' : WHEN[known];
    return `| ${what} | ${sentence.replaceAll(/https:\S+/g, '`$&`')} | \`${code}\` | ${when} | ${health === 'action-required' ? 'action required' : 'retrying'} | ${action} |`;
  });
  return ['| problem | message | code | reported | health | next step |', '|---|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

function isCommand(next: string): boolean {
  return next.startsWith('clinic-mirror ');
}
