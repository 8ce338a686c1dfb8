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
    sentence: 'nobody has logged in yet',
    next: 'clinic-mirror login clinic-1 clinic',
  },
  'the clinic refused its login once': {
    code: 'login-refused-once',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the provider refused the login once: retrying before that is believed',
    next: null,
  },
  'the clinic login was revoked': {
    code: 'login-ended',
    known: 'asked-again',
    health: 'action-required',
    sentence: 'the login has ended and a person must log in again',
    next: 'clinic-mirror login clinic-1 clinic',
  },
  'a calendar login was refused once': {
    code: 'login-refused-once',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the provider refused the login once: retrying before that is believed',
    next: null,
  },
  'a calendar login was revoked': {
    code: 'login-ended',
    known: 'asked-again',
    health: 'action-required',
    sentence: 'the login has ended and a person must log in again',
    next: 'clinic-mirror login clinic-1 doctor-1',
  },
  'a login lacks a permission': {
    code: 'scope-missing',
    health: 'action-required',
    sentence:
      'it was not granted https://www.googleapis.com/auth/calendar.app.created https://www.googleapis.com/auth/calendar.calendarlist.readonly',
    next: 'clinic-mirror login clinic-1 doctor-1',
  },
  'nobody said that the account is the right one': {
    code: 'account-unconfirmed',
    health: 'action-required',
    sentence: 'nobody has said that <account> is the right account',
    next: 'clinic-mirror accept-account clinic-1 doctor-1 <account>',
  },
  'the user left the clinic': {
    code: 'user-unknown',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'the user of this login may not work in the clinic',
    next: 'clinic-mirror login clinic-1 clinic',
  },
  'a login will end': {
    code: 'login-ending',
    health: 'action-required',
    sentence: 'the login ends at a time that using it does not put off',
    next: 'clinic-mirror login clinic-1 doctor-1',
  },
  'a login rests for too long': {
    code: 'login-resting',
    health: 'action-required',
    sentence: 'the login could not be kept alive, and ends when it rests for longer',
    next: 'clinic-mirror doctor clinic-1',
  },
  'a calendar was deleted': {
    code: 'calendar-gone',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'the calendar was deleted, or the connected account has no access to it',
    next: 'check the calendar id, and share the calendar with the connected account',
  },
  'a calendar may no longer be written': {
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
  "a vendor's quota of the day is used up": {
    code: 'daily-limit',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the daily quota of the Google Cloud project is used up',
    next: 'wait until midnight Pacific time, or raise the quota of the project',
  },
  'a vendor can not be reached': {
    code: 'server-away',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'it does not answer, or fails each request: connection-failed',
    next: 'clinic-mirror retry <host>',
  },
  'a login page stands before a vendor': {
    code: 'html-answer',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'Google returned an HTML page instead of an API response',
    next: null,
  },
  'a vendor fails': {
    code: 'server-away',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'it does not answer, or fails each request: server-error',
    next: 'clinic-mirror retry <host>',
  },
  'one entry is refused': {
    code: 'failing',
    known: 'next-cycle',
    health: 'retrying',
    sentence: '1 change refused or failed, and tried again',
    next: 'clinic-mirror health clinic-1 doctor-1',
  },
  'too much would be removed': {
    code: 'held',
    known: 'next-cycle',
    health: 'action-required',
    sentence: '4 changes held back until a person decides',
    next: 'clinic-mirror holds list clinic-1',
  },
  'somebody edited an entry by hand': {
    code: 'drifted',
    health: 'action-required',
    sentence: '1 change by hand left for a person to look at',
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
    sentence: "the clinic's list lacks <n> records that the clinic shows one by one",
    next: 'check the list in the clinic system, its filters and its paging',
  },
  'a row of the clinic can not be read': {
    code: 'rows-unread',
    known: 'next-cycle',
    health: 'action-required',
    sentence: "<n> rows of the clinic can't be read: bad-time",
    next: 'clinic-mirror status clinic-1',
  },
  'the clinic shows a part of its list': {
    code: 'stale',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'the last cycle could not read all that it follows',
    next: null,
  },
  'the clinic can not be reached': {
    code: 'server-away',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'it does not answer, or fails each request: connection-failed',
    next: 'clinic-mirror retry <host>',
  },
  'a login page stands before the clinic': {
    code: 'html-answer',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'the last cycle failed: clinic.appointments.list: an HTML page came instead of JSON',
    next: 'open the configured address in a browser: a login page, a proxy or maintenance stands before it',
  },
  'the clinic fails': {
    code: 'server-away',
    known: 'next-cycle',
    health: 'retrying',
    sentence: 'it does not answer, or fails each request: unavailable',
    next: 'clinic-mirror retry <host>',
  },
  'the clinic does not know the address': {
    code: 'not-found',
    known: 'next-cycle',
    health: 'action-required',
    sentence: 'the last cycle failed: clinic.userInfo.read: the clinic knows no such address, status 404',
    next: 'check baseUrl of the clinic client in clinic-mirror.yaml, pathPrefix in profiles/documented.yaml, and the tenant’s clinic.tenantId',
  },
  "a tenant's file has faults": {
    code: 'tenant-set-aside',
    health: 'action-required',
    sentence: 'it is not run: 4 faults in its file',
    next: 'clinic-mirror config check',
  },
  'a changed file is refused': {
    code: 'file-refused',
    health: 'action-required',
    sentence: 'a changed file is refused, and what it held before goes on',
    next: 'clinic-mirror config check',
  },
  'a changed setting needs a restart': {
    code: 'restart-awaited',
    health: 'action-required',
    sentence: 'changed settings wait for a restart: redis',
    next: 'restart the daemon',
  },
  'an act waits for a second person': {
    code: 'approval-awaited',
    health: 'action-required',
    sentence: 'forget waits for a second person: ada wants it',
    next: 'somebody else gives the same command, or lets it expire',
  },
  'Redis may evict keys': {
    code: 'redis-evicts',
    health: 'action-required',
    sentence: 'Redis may evict keys when memory is short, which would lose state',
    next: 'set "maxmemory-policy noeviction" in redis.conf, and at once: redis-cli CONFIG SET maxmemory-policy noeviction',
  },
  'Redis keeps nothing on its disk': {
    code: 'redis-not-durable',
    health: 'action-required',
    sentence: 'Redis does not keep an append-only file, so a restart would lose state',
    next: 'set "appendonly yes" in redis.conf, and at once: redis-cli CONFIG SET appendonly yes',
  },
  'nobody can be told by webhook': {
    code: 'webhook-gone',
    health: 'action-required',
    sentence: 'nobody can be told of problems',
    next: 'check "alerts" in clinic-mirror.yaml, and the server that it names',
  },
  'a channel of reminders is closed': {
    code: 'webhook-gone',
    health: 'action-required',
    sentence: 'closed: nothing is sent by it',
    next: 'mend that, then: clinic-mirror reminders reopen clinic-1 hook',
  },
  'a receiver of triggers is closed': {
    code: 'webhook-gone',
    health: 'action-required',
    sentence: 'closed: nothing is sent to it',
    next: 'mend that, then: clinic-mirror triggers reopen clinic-1 portal',
  },
  'a certificate ends': {
    code: 'certificate-ending',
    health: 'action-required',
    sentence: 'its certificate ends soon',
    next: 'renew it on that server, and look why that was not done by itself',
  },
  'the budget of a client is short': {
    code: 'quota-short',
    health: 'retrying',
    sentence: '263 % of what its budget gives in an hour is used',
    next: 'raise its "budget" as far as the other side allows; until then cycles come late',
  },
  "an account's quota of the day is short": {
    code: 'daily-quota-short',
    health: 'action-required',
    sentence: '95 % of what the other side allows its account in a day is used',
    next: 'buy more there, or raise "everyMinutes" of what CRMs follow; nothing is lost, and changes wait',
  },
  'notifications can not be prolonged': {
    code: 'notifications-ending',
    health: 'action-required',
    sentence: 'the vendor will no longer tell of changes by hand, and audits alone find them (forbidden)',
    next: 'clinic-mirror doctor clinic-1',
  },
  'changes pile up': {
    code: 'backlog-growing',
    health: 'retrying',
    sentence: 'more changes come than are written, so they wait longer with each cycle',
    next: 'clinic-mirror health clinic-1 doctor-1',
  },
  'nobody works for the clinics': {
    code: 'no-cycles',
    health: 'action-required',
    sentence: 'no cycle has ended since then',
    next: 'see whether a daemon runs with the role scheduler and one with the role worker, and their logs',
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
