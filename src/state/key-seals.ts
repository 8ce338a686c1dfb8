import type { keys } from './keys.ts';

/**
 * What stands against one way of writing into Redis. `held`: what refuses it; `free`: why nothing need; `left`: what it does all the same.
 * A key without a statement does not compile.
 */
type Stand = { held: string } | { free: string } | { left: string };

/** What stands against whoever writes into Redis, of one key. */
export interface KeySeal {
  /** Another value, or one of another place. */
  change: Stand;
  /** A value of before, at its own place. */
  rollback: Stand;
  /** The test that tries it, below `test/`; null where nothing refuses anything. */
  test: string | null;
}

const RECORDS = 'attacks/who-writes-redis-records.test.ts';
const WRITES = 'attacks/who-writes-redis.test.ts';
const TAKES = 'attacks/who-takes-from-redis.test.ts';
const TENANTS = 'attacks/who-writes-redis-tenants.test.ts';
const ALERTS = 'attacks/who-writes-redis-alerts.test.ts';
const WALK = 'state/key-seals.test.ts';

/** Decides of no content, and of no effect outside. */
const free = (why: string): KeySeal => ({ change: { free: why }, rollback: { free: why }, test: null });
const open = (does: string): KeySeal => ({ change: { left: does }, rollback: { left: does }, test: null });
const held = (how: string, rollback: Stand, test: string): KeySeal => ({ change: { held: how }, rollback, test });

const LOOKS = free('names and times to look at: something is looked at, tried or repaired sooner, later or once more');
const COUNTS = free('numbers that are shown');
const PACE = open('limits of a minute or an hour begin anew, or are used up; nothing else');
const BRIEF = free('ends within minutes, and is good for one use of somebody who has its secret');
const SAFEGUARDS: Stand = {
  held: 'a sealed record of number and keyed sum, with a version that each process and `dataDirectory` know',
};
const SHOWN = open('texts and times that `status`, pages and alerts show');

/** Of each key of `keys.ts`. */
export const KEY_SEALS: Readonly<Record<keyof typeof keys, KeySeal>> = {
  linksMeta: LOOKS,
  linksBucket: held(
    'where an object is is proved with the identity key, unless it follows from the record',
    { left: 'an older link of the same record: its object is looked for by its key, a change waits until the audit' },
    RECORDS,
  ),
  drifted: LOOKS,
  unseen: LOOKS,
  unanswered: LOOKS,
  takenOut: LOOKS,
  outbox: held(
    'each entry is sealed over its place and what was decided',
    { left: 'an older entry of the same record is written; the next plan corrects it' },
    WRITES,
  ),
  outboxDue: LOOKS,
  outboxFailing: LOOKS,
  target: held(
    'calendar, approval of the first run, what left it and its pins are one sealed value; why it stands still, what of it is not known and the host that it waits for are each sealed at their place; times and counters are shown alone',
    { left: 'an older proof, with the counts of its time; an older failure of its own is told until the next try' },
    RECORDS,
  ),
  misses: held('each is sealed', { left: 'a record is missed once less before it counts' }, RECORDS),
  restorations: LOOKS,
  configuration: open('what was begun of a changed configuration is begun once more, or not: calendars are read anew'),
  removed: open('something is released later, or sooner by what is left of `removed.keepDays`'),
  holds: held('sealed with its id', { left: 'an approval of before counts until its expiry' }, WRITES),
  clinicTenant: held('sealed with the identity key', { left: 'a binding of before' }, WALK),
  runs: held(
    'each is sealed; in place of a newest one that is not ours the one before is told, as `record-forged`',
    { left: 'a report of before is shown until the next cycle' },
    ALERTS,
  ),
  journal: held(
    'each line is sealed over run, place and what it says',
    { free: 'lines are only added' },
    'control/undo.test.ts',
  ),
  journals: LOOKS,
  pins: held('one sealed value', { held: "the target's sealed record names it by a digest" }, RECORDS),
  credential: held(
    'sealed under tenant, connection and version',
    { left: 'an older login, which its provider may know no more: then a person logs in again' },
    'state/credentials.test.ts',
  ),
  subscriptions: held(
    'sealed',
    { left: 'an older subscription is ended or prolonged; another one is opened' },
    RECORDS,
  ),
  subscription: held('sealed under its id', { left: 'notifications of an ended one are read once more' }, RECORDS),
  login: held('sealed under its key', BRIEF.rollback, WALK),
  loginLinks: held(
    'sealed at its place',
    { left: 'one that was opened or withdrawn, for who has its address, until its end' },
    WALK,
  ),
  loginLink: held('sealed under its key', { left: 'as `login-links`, where both are put back' }, WALK),
  reminder: held(
    'its id is worked out again with the identity key',
    { left: 'a settled one is sent a second time' },
    WRITES,
  ),
  reminderClaim: LOOKS,
  remindersOpen: LOOKS,
  remindersSettled: LOOKS,
  remindersOf: LOOKS,
  remindersTold: open('a patient is told of a correction once more, or not'),
  remindersOrder: COUNTS,
  remindersWrong: held(
    'each is sealed under its field',
    { left: 'who held wrong information before is told of until the next cycle' },
    ALERTS,
  ),
  reminderCounts: COUNTS,
  remindersHour: PACE,
  reminderReport: SHOWN,
  reminderChannelClosed: open(
    'a channel of reminders stays closed, or is tried again; of why, only a code is believed',
  ),
  answerLink: held('its token is worked out again with the identity key', { free: 'it says the same as ever' }, WRITES),
  answerClaim: LOOKS,
  answersMinute: PACE,
  tombstones: held('a keyed sum of all entries in a sealed record', SAFEGUARDS, TAKES),
  receipts: held('as tombstones', SAFEGUARDS, TAKES),
  triggerReadings: open('a receiver of triggers is told twice, or not; why an event is off, which is sent, is sealed'),
  triggersKnown: open('a receiver of triggers is told twice, or not'),
  triggersAppointments: held('sealed', { left: 'a receiver is told twice, or not' }, WALK),
  triggersWaiting: held('sealed under its id', { left: 'a receiver is told twice' }, WALK),
  triggerEndpoint: open('a receiver rests or stays closed, or is tried again; of why, only a code is believed'),
  triggerCounts: COUNTS,
  feed: held('each entry is sealed under target and key', { left: 'an older entry, until the next audit' }, WALK),
  feedAccess: held(
    'a proof of target and token with the identity key',
    { left: 'an address that was withdrawn opens again, for who has it' },
    'e2e/feeds.test.ts',
  ),
  feedToken: free('leads to a feed, whose own record has to know the token'),
  feedMinute: PACE,
  optIn: open('an opt-in whose signed message somebody has is taken a second time'),
  optOuts: held('as tombstones', SAFEGUARDS, TAKES),
  protection: held('sealed with the identity key', SAFEGUARDS, TAKES),
  epoch: open('a lower counter puts all tenants in doubt; a higher one hides a loss from who has no `dataDirectory`'),
  writes: open('as `epoch`'),
  removedTenants: open('as `removed`'),
  alerts: held(
    'sealed with the identity key',
    {
      held: 'a process refuses one older than it saw; after a restart one that nobody wrote for two hours counts as absent, and problems are told again',
    },
    ALERTS,
  ),
  certificates: held(
    'each is sealed under its server',
    { left: 'an end of before is told until the next look' },
    ALERTS,
  ),
  processes: open('a lease is taken from a living process, or kept for a dead one: fences keep its writes out'),
  reloads: held(
    'each is sealed under its process; what is not counts as silence, and is said again within 20 seconds',
    { free: 'one of more than a minute ago counts as silence' },
    ALERTS,
  ),
  managedTenants: held(
    'each is sealed under its id, and has to have the revision that the head names',
    { held: 'the same' },
    TENANTS,
  ),
  managedRevisions: held(
    'a sealed head names all of them',
    {
      held: 'its counter, which each process and `dataDirectory` know, also where all of it is gone; without both, all of before is believed',
    },
    TENANTS,
  ),
  auditLog: held(
    'a MAC over the end of the chain',
    { held: 'it has to be the end of the files in `dataDirectory`: who changes both cuts off the last entries' },
    'state/audit-log.test.ts',
  ),
  session: held(
    'sealed under its key',
    { left: 'one that a person ended by signing out, for who has its cookie, until its longest time' },
    WALK,
  ),
  sessionsEra: open('sessions that a person ended everywhere are good again, for who has their cookies'),
  signInLink: held('sealed under its key', { left: 'one that was used, for who has its address, until its end' }, WALK),
  signInAttempts: PACE,
  requests: PACE,
  passphrase: held('sealed with the identity key', { left: 'the passphrase of before, for who knows it' }, WALK),
  knownAccounts: held(
    'sealed at its place',
    { left: 'gives an address to the account that had it earlier; taken away, to the next that signs in with it' },
    WALK,
  ),
  accessTokens: held('sealed under its name', { left: 'a token that was revoked, until its end' }, WALK),
  approvals: held('a MAC with the identity key', { left: 'a first person counts again, until its end' }, WALK),
  document: held('sealed under kind and id', { left: 'a plan of the last hour' }, WALK),
  documents: LOOKS,
  lease: open('work stops, or two do it at once: fences keep the writes of the older one out'),
  leaseWaiting: LOOKS,
  fence: open('with the lease, two processes do one work at once'),
  outage: open('calls to a host wait, or are tried sooner; the name of the host, which is shown, is sealed'),
  outages: open('an outage is not told, or one of before is told again'),
  budget: PACE,
};
