/**
 * What a change or a restoration of each key in Redis achieves, for a user who can write to Redis. `test/state/keys.test.ts` drives each
 * refused value, and the type requires an entry for each declared key.
 */
import type { ALL_KEYS } from '../src/daemon/key-tables.ts';

/** Effect of a value that the daemon did not write: refused, without effect, or what remains. */
interface Effect {
  kind: 'refused' | 'harmless' | 'remains';
  text: string;
}

/** Effects of a changed and of an older value of one key. */
interface KeyProtection {
  changed: Effect;
  older: Effect;
  /** Test that tries the refused value, below `test/`; null if no value is refused. */
  test: string | null;
}

const refused = (text: string): Effect => ({ kind: 'refused', text });
const harmless = (text: string): Effect => ({ kind: 'harmless', text });
const remains = (text: string): Effect => ({ kind: 'remains', text });
const ORDER = harmless('holds only names and times; a check, retry or repair runs earlier, later or again');
const DISPLAY = harmless('displayed numbers only');
const LIMIT = remains('limits per minute or hour start again, or are used up');
const SUMMED = refused(
  'an encrypted record of number and keyed sum, with a version that each process and `dataDirectory` store',
);

const same = (effect: Effect): KeyProtection => ({ changed: effect, older: effect, test: null });
const unprotected = (changed: Effect, older: Effect): KeyProtection => ({ changed, older, test: null });
const protectedBy = (test: string, changed: Effect, older: Effect): KeyProtection => ({ changed, older, test });

/** The protection of each key, by its name in the tables of keys. */
export const KEY_PROTECTIONS: Readonly<Record<keyof typeof ALL_KEYS, KeyProtection>> = {
  linksMeta: same(ORDER),
  linksBucket: protectedBy(
    'attacks/who-writes-redis-records.test.ts',
    refused("the object's location has a proof with the identity key, unless it follows from the record"),
    remains(
      'an older link of the same record: the daemon searches the object by key, and a change waits until the audit',
    ),
  ),
  drifted: same(ORDER),
  unseen: same(ORDER),
  unanswered: same(ORDER),
  takenOut: same(ORDER),
  recentObjects: protectedBy(
    'state/keys.test.ts',
    refused('each event is encrypted with its record'),
    remains("an older event: users' additions to a removed event are taken over again, each once"),
  ),
  outbox: protectedBy(
    'attacks/who-writes-redis.test.ts',
    refused('each change is encrypted with its position and decision'),
    remains('an older change of the same record is written; the next plan corrects the object'),
  ),
  outboxDue: same(ORDER),
  outboxFailing: same(ORDER),
  target: protectedBy(
    'attacks/who-writes-redis-records.test.ts',
    refused(
      'calendar, approval of the first run, removals and pins are one encrypted value; the reason of a stop, unknown parts and the host of an outage are encrypted separately; times and counters are only displayed',
    ),
    remains('an older value with its counters; an older failure is reported until the next attempt'),
  ),
  misses: protectedBy(
    'attacks/who-writes-redis-records.test.ts',
    refused('each is encrypted'),
    remains('one confirmation of absence is lost'),
  ),
  restorations: same(ORDER),
  configuration: same(
    remains('work after a configuration change starts again, or is omitted: calendars are read again'),
  ),
  removed: same(remains('removed state is deleted later, or before the end of `removed.keepDays`')),
  storage: same(
    remains('a tenant exceeds its limit of memory, or gets no new objects, until the next count within an hour'),
  ),
  upkeep: same(remains('the retention page shows a wrong time or count')),
  history: same(remains('charts and counts of the page *History* are wrong; no decision uses them')),
  pastOutages: same(remains('the page *History* shows a wrong outage, or lacks one')),
  holds: protectedBy(
    'attacks/who-writes-redis.test.ts',
    refused('encrypted with its id'),
    remains('an older approval is valid until it expires'),
  ),
  clinicTenant: protectedBy(
    'state/keys.test.ts',
    refused('encrypted with the identity key'),
    remains('an older binding'),
  ),
  runs: protectedBy(
    'attacks/who-writes-redis-alerts.test.ts',
    refused('each is encrypted; if the newest is invalid, the previous one is shown, with the problem `state-damaged`'),
    remains('an older report is displayed until the next cycle'),
  ),
  journal: protectedBy(
    'features/undo/undo.test.ts',
    refused('each line is encrypted with run, position, content and times'),
    harmless('lines are only appended'),
  ),
  journals: same(ORDER),
  pins: protectedBy(
    'attacks/who-writes-redis-records.test.ts',
    refused('one encrypted value'),
    refused("the target's encrypted record contains its digest"),
  ),
  credential: protectedBy(
    'daemon/credentials.test.ts',
    refused('encrypted under tenant, connection and version'),
    remains('an older token, which the vendor may refuse: then an administrator connects again'),
  ),
  subscriptions: protectedBy(
    'attacks/who-writes-redis-records.test.ts',
    refused('encrypted'),
    remains('an older subscription is ended or renewed; a new one is opened'),
  ),
  subscription: protectedBy(
    'attacks/who-writes-redis-records.test.ts',
    refused('encrypted under its id'),
    remains('notifications of an expired subscription are accepted again'),
  ),
  login: protectedBy(
    'state/keys.test.ts',
    refused('encrypted under its key'),
    harmless('expires within minutes, and works once, with its secret'),
  ),
  loginLinks: protectedBy(
    'state/keys.test.ts',
    refused('encrypted with its key name'),
    remains('a used or revoked link works for holders of its URL until it expires'),
  ),
  loginLink: protectedBy(
    'state/keys.test.ts',
    refused('encrypted under its key'),
    remains('as `loginLinks`, if both are restored'),
  ),
  reminder: protectedBy(
    'attacks/who-writes-redis.test.ts',
    refused('its id is computed again with the identity key'),
    remains('a finished reminder is sent a second time'),
  ),
  reminderClaim: same(ORDER),
  remindersOpen: same(ORDER),
  remindersSettled: same(ORDER),
  remindersOf: same(ORDER),
  remindersTold: same(remains('a patient receives a correction twice, or not at all')),
  remindersRecipient: unprotected(
    remains(
      'a recipient receives several messages for visits of one number; the numbers of visits in one message are compared again',
    ),
    remains('a recipient receives several messages for visits of one number'),
  ),
  remindersCorrected: same(LIMIT),
  remindersKnown: unprotected(
    remains('a patient receives a message about a move to another own visit, or a cancellation instead of a move'),
    remains('a patient receives a cancellation instead of a move'),
  ),
  remindersOrder: same(DISPLAY),
  remindersWrong: protectedBy(
    'attacks/who-writes-redis-alerts.test.ts',
    refused('each is encrypted under its field'),
    remains('older wrong information is reported until the next cycle'),
  ),
  reminderReplies: protectedBy(
    'features/reminders/callbacks.test.ts',
    refused('each is encrypted under its field'),
    remains('a reply that was read or deleted is shown again for up to three days'),
  ),
  reminderCounts: same(DISPLAY),
  remindersHour: same(LIMIT),
  reminderReport: same(remains('texts and times in `status`, pages and alerts')),
  reminderChannelClosed: same(
    remains('a reminder channel stays closed, or is used again; only a code of the reason is accepted'),
  ),
  answerLink: protectedBy(
    'attacks/who-writes-redis.test.ts',
    refused('its token is computed again with the identity key'),
    harmless('its content never changes'),
  ),
  answerClaim: same(ORDER),
  answersMinute: same(LIMIT),
  tombstones: protectedBy(
    'attacks/who-takes-from-redis.test.ts',
    refused('a keyed sum of all values in an encrypted record'),
    SUMMED,
  ),
  receipts: protectedBy('attacks/who-takes-from-redis.test.ts', refused('as tombstones'), SUMMED),
  triggerReadings: same(
    remains('a receiver gets a trigger twice, or not at all; the reason of a disabled event is encrypted'),
  ),
  triggersKnown: same(remains('a receiver gets a trigger twice, or not at all')),
  triggersAppointments: protectedBy(
    'state/keys.test.ts',
    refused('encrypted'),
    remains('a receiver gets a trigger twice, or not at all'),
  ),
  triggersWaiting: protectedBy(
    'state/keys.test.ts',
    refused('encrypted under its id'),
    remains('a receiver gets a trigger twice'),
  ),
  triggerEndpoint: same(
    remains('a receiver pauses or stays closed, or is used again; only a code of the reason is accepted'),
  ),
  triggerCounts: same(DISPLAY),
  feed: protectedBy(
    'state/keys.test.ts',
    refused('each event is encrypted under target and key'),
    remains('an older event, until the next audit'),
  ),
  feedAccess: protectedBy(
    'features/feeds/feeds.test.ts',
    refused('a proof of target and token with the identity key'),
    remains('a revoked feed URL works again for its holders'),
  ),
  feedToken: same(harmless('leads to a feed, whose record must contain the token')),
  feedMinute: same(LIMIT),
  optIn: same(remains('a signed opt-in message is accepted a second time')),
  optOuts: protectedBy('attacks/who-takes-from-redis.test.ts', refused('as tombstones'), SUMMED),
  protection: protectedBy('attacks/who-takes-from-redis.test.ts', refused('encrypted with the identity key'), SUMMED),
  epoch: same(
    remains('a lower counter marks all tenants as uncertain; a higher one hides a loss, without `dataDirectory`'),
  ),
  writes: same(remains('as `epoch`')),
  removedTenants: same(remains('as `removed`')),
  damaged: same(
    remains('a problem `state-damaged` of a known kind is shown wrongly, or not at all; log and metric remain'),
  ),
  alerts: protectedBy(
    'attacks/who-writes-redis-alerts.test.ts',
    refused('encrypted with the identity key'),
    refused(
      'a process refuses a value older than the last one; after a restart, a value older than two hours is ignored, and problems are reported again',
    ),
  ),
  certificates: protectedBy(
    'attacks/who-writes-redis-alerts.test.ts',
    refused('each is encrypted under its server'),
    remains('an older expiry is reported until the next check'),
  ),
  probe: same(harmless('the value is never read')),
  daemonSeen: unprotected(
    remains('`daemon-not-running` is reported wrongly, or late'),
    remains('`daemon-not-running` is reported late'),
  ),
  processes: same(remains('a running process loses a lease, or an ended one keeps it: fencing refuses old writes')),
  reloads: protectedBy(
    'attacks/who-writes-redis-alerts.test.ts',
    refused(
      'each is encrypted under its process; an invalid value is ignored, and the process writes a new one within 20 seconds',
    ),
    harmless('a value older than a minute is ignored'),
  ),
  managedTenants: protectedBy(
    'attacks/who-writes-redis-tenants.test.ts',
    refused('each is encrypted under its id, and must have the revision in the head'),
    refused('each is encrypted under its id, and must have the revision in the head'),
  ),
  managedRevisions: protectedBy(
    'attacks/who-writes-redis-tenants.test.ts',
    refused('an encrypted head contains all revisions'),
    refused(
      'its counter, which each process and `dataDirectory` store, also after a total loss; without both, all older values are accepted',
    ),
  ),
  auditLog: protectedBy(
    'operator/control/audit-log.test.ts',
    refused('a MAC over the end of the chain'),
    refused('it must match the end of the files in `dataDirectory`; a change of both can remove the last records'),
  ),
  session: protectedBy(
    'state/keys.test.ts',
    refused('encrypted under its key'),
    remains('a signed-out session works for the holder of its cookie until it expires'),
  ),
  sessionsOf: unprotected(
    remains(
      "a session is missing in its user's list; other users' sessions are never listed, and *sign out everywhere* ends all",
    ),
    remains("a session is missing in its user's list"),
  ),
  sessionsEra: same(remains('sessions that were ended everywhere work again for the holders of their cookies')),
  signInLink: protectedBy(
    'state/keys.test.ts',
    refused('encrypted under its key'),
    remains('a used link works for holders of its URL until it expires'),
  ),
  signInAttempts: same(LIMIT),
  requests: same(LIMIT),
  passphrase: protectedBy(
    'state/keys.test.ts',
    refused('encrypted with the identity key'),
    remains('the previous passphrase works again'),
  ),
  knownAccounts: protectedBy(
    'state/keys.test.ts',
    refused('encrypted with its key name'),
    remains(
      'an email address belongs to its previous account again; without the value, to the next account that signs in with it',
    ),
  ),
  accessTokens: protectedBy(
    'state/keys.test.ts',
    refused('encrypted under its name'),
    remains('a revoked token works until it expires'),
  ),
  approvals: protectedBy(
    'state/keys.test.ts',
    refused('encrypted with the identity key under its id'),
    remains('a first approval is valid again until it expires'),
  ),
  document: protectedBy(
    'state/keys.test.ts',
    refused('encrypted under kind and id'),
    remains('a plan of the last hour is displayed'),
  ),
  documents: same(ORDER),
  lease: same(remains('work stops, or two workers run at once: fencing refuses the writes of the older one')),
  leaseWaiting: same(ORDER),
  fence: same(remains('together with the lease, two workers run at once')),
  outage: same(remains('calls to a host wait, or are retried earlier; the displayed host name is encrypted')),
  outages: same(remains('an outage is not reported, or an older one is reported again')),
  budget: same(LIMIT),
};

/** Writes the protected keys in a table, and the other keys by their effect. */
export function renderKeyProtections(protections: Readonly<Record<string, KeyProtection>>): string {
  const all = Object.entries(protections);
  const rows = all
    .filter(([, { test }]) => test !== null)
    .map(([name, { changed, older, test }]) => `| \`${name}\` | ${cellOf(changed)} | ${cellOf(older)} | \`${test}\` |`);
  const open = Map.groupBy(
    all.filter(([, { test }]) => test === null),
    ([, { changed, older }]) =>
      changed.text === older.text ? cellOf(changed) : `${cellOf(changed)} Older value: ${older.text}.`,
  );
  const list = [...open].map(([effect, of]) => `- ${of.map(([name]) => `\`${name}\``).join(', ')}: ${effect}`);
  const head = ['| key | changed value | older value | test |', '|---|---|---|---|'];
  return [...head, ...rows, '', 'Values that nothing refuses:', '', ...list].join('\n');
}

function cellOf({ kind, text }: Effect): string {
  return `**${kind}:** ${text}.`;
}
