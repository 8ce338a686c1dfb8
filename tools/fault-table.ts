/** What an operator may meet, and the sentence and the next action that every surface then shows: `test/e2e/faults.test.ts` makes each of them happen. */
export interface Fault {
  code: string;
  health: 'action-required' | 'retrying';
  /** When: a cycle finds it, or one that asks again after `tokens.confirmRefusalAfterSeconds`. Absent: whoever looks. */
  known?: 'next-cycle' | 'asked-again';
  /** `<…>` stands for what is another one each time. */
  sentence: string;
  /** Null where nothing is to be done. */
  next: string | null;
}

/** Each fault by what happened, as a person would tell it. */
export const FAULTS = {
  'nobody logged in to the clinic': {
    code: 'not-connected',
    health: 'action-required',
    sentence: 'the connection is not set up: no one has signed in yet',
    next: 'clinic-mirror login clinic-1 clinic',
  },
  'the clinic refused its login once': {
    code: 'login-refused-once',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the server refused the connection once: retrying to confirm the refusal',
    next: null,
  },
  'the clinic login was revoked': {
    code: 'login-ended',
    known: 'asked-again',
    health: 'action-required',
    sentence: 'the connection has expired or was revoked: a new sign-in is required',
    next: 'clinic-mirror login clinic-1 clinic',
  },
  'a calendar login was refused once': {
    code: 'login-refused-once',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the server refused the connection once: retrying to confirm the refusal',
    next: null,
  },
  'a calendar login was revoked': {
    code: 'login-ended',
    known: 'asked-again',
    health: 'action-required',
    sentence: 'the connection has expired or was revoked: a new sign-in is required',
    next: 'clinic-mirror login clinic-1 doctor-1',
  },
  'a login lacks a permission': {
    code: 'scope-missing',
    health: 'action-required',
    sentence:
      'permissions are missing: https://www.googleapis.com/auth/calendar.app.created https://www.googleapis.com/auth/calendar.calendarlist.readonly',
    next: 'clinic-mirror login clinic-1 doctor-1',
  },
  'nobody said that the account is the right one': {
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
  'a login will end': {
    code: 'login-ending',
    health: 'action-required',
    sentence: 'the connection expires at a fixed time, even if the connection is in use',
    next: 'clinic-mirror login clinic-1 doctor-1',
  },
  'a login rests for too long': {
    code: 'login-resting',
    health: 'action-required',
    sentence: 'the connection could not be renewed, and expires if the connection remains unused',
    next: 'clinic-mirror doctor clinic-1',
  },
  'a calendar was deleted': {
    code: 'calendar-gone',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'the calendar is gone, or the connected account cannot see it',
    next: 'check the calendar id, and that the calendar is shared with the connected account',
  },
  'a calendar may no longer be written': {
    code: 'calendar-forbidden',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'Google does not allow this in the calendar',
    next: 'give the connected account the right to make changes to events in this calendar',
  },
  'a vendor asks to slow down': {
    code: 'rate-limited',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'Google asks for fewer requests',
    next: null,
  },
  "a vendor's quota of the day is used up": {
    code: 'daily-limit',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the daily quota of the Google Cloud project is spent',
    next: 'wait until midnight Pacific time, or raise the quota of the project',
  },
  'a vendor can not be reached': {
    code: 'server-away',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the server does not answer, or fails each request: connection-failed',
    next: 'clinic-mirror retry <host>',
  },
  'a login page stands before a vendor': {
    code: 'html-answer',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'an HTML page came in place of an answer of Google',
    next: null,
  },
  'a vendor fails': {
    code: 'server-away',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the server does not answer, or fails each request: server-error',
    next: 'clinic-mirror retry <host>',
  },
  'one entry is refused': {
    code: 'failing',
    known: 'next-cycle',
    health: 'retrying',
    sentence: '1 change refused or failed: retrying',
    next: 'clinic-mirror health clinic-1 doctor-1',
  },
  'too much would be removed': {
    code: 'held',
    known: 'next-cycle',
    health: 'action-required',
    sentence: '4 changes on hold until an operator decides',
    next: 'clinic-mirror holds list clinic-1',
  },
  'somebody edited an entry by hand': {
    code: 'drifted',
    health: 'action-required',
    sentence: '1 change made by hand: review required',
    next: 'clinic-mirror audit clinic-1',
  },
  'a file names an agenda that is not there': {
    code: 'agenda-unknown',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'the clinic lists no agenda no-such-agenda',
    next: 'correct agendas of doctor-1 in tenants/clinic-1.yaml',
  },
  'a list of the clinic lacks records': {
    code: 'records-unlisted',
    known: 'next-cycle',
    health: 'action-required',
    sentence: "the list of the clinic lacks <n> records that the clinic shows individually",
    next: 'check the filters and the paging of the list in the clinic system',
  },
  'a row of the clinic cannot be read': {
    code: 'rows-unread',
    known: 'next-cycle',
    health: 'action-required',
    sentence: "<n> records of the clinic cannot be read: bad-time",
    next: 'clinic-mirror status clinic-1',
  },
  'the clinic shows a part of its list': {
    code: 'stale',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the last cycle could not read all data that it requires',
    next: null,
  },
  'the clinic can not be reached': {
    code: 'server-away',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the server does not answer, or fails each request: connection-failed',
    next: 'clinic-mirror retry <host>',
  },
  'a login page stands before the clinic': {
    code: 'html-answer',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'the last cycle failed: clinic.appointments.list: the answer is an HTML page instead of JSON',
    next: 'open the configured URL in a browser: a sign-in page, a proxy or a maintenance page answers the requests',
  },
  'the clinic fails': {
    code: 'server-away',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the server does not answer, or fails each request: unavailable',
    next: 'clinic-mirror retry <host>',
  },
  'the clinic does not know the address': {
    code: 'not-found',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'the last cycle failed: clinic.userInfo.read: the clinic does not know this URL, status 404',
    next: 'check baseUrl of the clinic client in clinic-mirror.yaml, pathPrefix in profiles/documented.yaml, and the tenant’s clinic.tenantId',
  },
  "a tenant's file has faults": {
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
  'a changed setting needs a restart': {
    code: 'restart-awaited',
    health: 'action-required',
    sentence: 'changed settings require a restart: redis',
    next: 'restart the daemon',
  },
  'an act waits for a second person': {
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
  'Redis keeps nothing on its disk': {
    code: 'redis-not-durable',
    health: 'action-required',
    sentence: 'Redis does not keep an append-only file: a restart of Redis would lose state',
    next: 'set "appendonly yes" in redis.conf, then run: redis-cli CONFIG SET appendonly yes',
  },
  'nobody can be told by webhook': {
    code: 'webhook-gone',
    health: 'action-required',
    sentence: 'alerts cannot be delivered',
    next: 'check "alerts" in clinic-mirror.yaml, and the server named there',
  },
  'a channel of reminders is closed': {
    code: 'webhook-gone',
    health: 'action-required',
    sentence: 'the channel is closed: no messages are sent through the channel',
    next: 'fix the cause, then run: clinic-mirror reminders reopen clinic-1 hook',
  },
  'a receiver of triggers is closed': {
    code: 'webhook-gone',
    health: 'action-required',
    sentence: 'the endpoint is closed: no events are sent to the endpoint',
    next: 'fix the cause, then run: clinic-mirror triggers reopen clinic-1 portal',
  },
  'a certificate ends': {
    code: 'certificate-ending',
    health: 'action-required',
    sentence: 'the certificate expires soon',
    next: 'renew the certificate on the server, and check why automatic renewal failed',
  },
  'the budget of a client is short': {
    code: 'quota-short',
    health: 'retrying',
    sentence: '263 % of the hourly request budget is used',
    next: 'raise "budget" up to the limit of the vendor; until then, cycles start late',
  },
  "an account's quota of the day is short": {
    code: 'daily-quota-short',
    health: 'action-required',
    sentence: '95 % of the daily request limit of the account is used',
    next: 'buy a higher limit from the vendor, or raise "everyMinutes" of the data that CRMs follow; no changes are lost, but changes are late',
  },
  'notifications can not be prolonged': {
    code: 'notifications-ending',
    health: 'action-required',
    sentence: 'the vendor stops notifications of manual changes: only audits find such changes (forbidden)',
    next: 'clinic-mirror doctor clinic-1',
  },
  'changes pile up': {
    code: 'backlog-growing',
    health: 'retrying',
    sentence: 'changes arrive faster than clinic-mirror writes: the delay grows with each cycle',
    next: 'clinic-mirror health clinic-1 doctor-1',
  },
  'nobody works for the clinics': {
    code: 'no-cycles',
    health: 'action-required',
    sentence: 'no cycle has finished since then',
    next: 'check that a daemon with the role scheduler and a daemon with the role worker run, and read their logs',
  },
} as const satisfies Record<string, Fault>;

const WHEN = {
  'next-cycle': 'in the next cycle',
  'asked-again': 'in the next cycle after `tokens.confirmRefusalAfterSeconds`',
};

/** A Markdown table with a row for each fault. */
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
    return `| ${what} | ${sentence} | \`${code}\` | ${when} | ${health === 'action-required' ? 'action required' : 'retrying'} | ${action} |`;
  });
  return ['| problem | message | code | reported | health | next step |', '|---|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

function isCommand(next: string): boolean {
  return next.startsWith('clinic-mirror ');
}
