import { setTimeout as pause } from 'node:timers/promises';
import { tenantVariable } from '../../src/settings/tenant-secrets.ts';
import { atMost, type Figure, shareOf } from '../figure.ts';
import { type Group, openWorld, type World } from './world.ts';

const GOAL = 1.2;
const PULL_EVERY_SECONDS = 20;
const SMALL_APPOINTMENTS = 50;
/** A clinic that answers so late ends just before the HTTP client's time limit. */
const SLOW_MS = 25_000;
const SLOW_CLINICS = 5;
/** Awaited changes of each tenant, one after the other. */
const CHANGES = 3;
/** All reminders are due at one moment, so long after the world was made. */
const DUE_AFTER_MS = 240_000;
const REMINDER_GOAL_SECONDS = 1;
const REMINDED = 5;

/** How large the measurement is. */
export interface FairSize {
  /** Small tenants. */
  small: number;
  /** Appointments of the large first sync. */
  first: number;
}

/**
 * Measures the time from a change at a small clinic to its write request: without load, and with competing tenants. The wait for the next
 * cycle is included, as an operator sees it.
 */
export async function measureFair(size: FairSize, say: (text: string) => void): Promise<Figure[]> {
  const alone = await lagsOf({ ...size, crowded: false }, say);
  const crowded = await lagsOf({ ...size, crowded: true }, say);
  const [floor, ours] = [shareOf(alone.changes, 0.95), shareOf(crowded.changes, 0.95)];
  const value = ours / floor;
  say(
    `fair: p50 ${shareOf(alone.changes, 0.5).toFixed(1)} s alone, ${shareOf(crowded.changes, 0.5).toFixed(1)} s with the others`,
  );
  const late = shareOf(crowded.reminders, 0.95);
  return [
    { name: 'fair', ...atMost(GOAL, value), floor, ours, unit: 's', n: crowded.changes.length },
    {
      ...{ name: 'fair reminders', ...atMost(REMINDER_GOAL_SECONDS, late) },
      ...{ floor: shareOf(alone.reminders, 0.95), ours: late, unit: 's', n: crowded.reminders.length },
    },
  ];
}

function crowd(appointments: number, dueAt: number): Group[] {
  return [
    { name: 'large', tenants: 1, appointments, targets: 20, sink: 'good' },
    { name: 'eighty', tenants: 1, appointments: 1_600, targets: 80, ownConnections: true, sink: 'silent' },
    { name: 'throttled', tenants: 1, appointments: 1_000, targets: 20, sink: 'throttled' },
    {
      name: 'dead',
      tenants: 1,
      appointments: 2_000,
      sink: 'good',
      reminders: (url, tenant) => remindersDue(url, tenant, dueAt),
    },
  ];
}

/** Seconds from changes to their writes, and from the due time of reminders to the first delivery of each clinic. */
interface Lags {
  changes: number[];
  reminders: number[];
}

async function lagsOf(
  { small, first, crowded }: FairSize & { crowded: boolean },
  say: (text: string) => void,
): Promise<Lags> {
  say(`fair: ${small} small tenants ${crowded ? 'with the others' : 'alone'} …`);
  const slow = crowded ? SLOW_CLINICS : 0;
  const dueAt = Math.ceil((Date.now() + DUE_AFTER_MS) / 60_000) * 60_000;
  await using world = await openWorld({
    groups: [
      // Under one client of their clinic system with the slow ones.
      {
        ...{ name: 'small', tenants: small + slow, appointments: SMALL_APPOINTMENTS, sink: 'good' },
        slow: { tenants: slow, latencyMs: SLOW_MS },
      },
      {
        ...{ name: 'reminded', tenants: REMINDED, appointments: 500, sink: 'other' },
        reminders: (url, tenant) => remindersDue(url, tenant, dueAt),
      },
      ...(crowded ? crowd(first, dueAt) : []),
    ],
    sinks: {
      ...{
        good: { latencyMs: 50 },
        other: { latencyMs: 50 },
        throttled: { retryAfterSeconds: 1 },
        silent: { latencyMs: SLOW_MS },
      },
      ...{ reminded: { latencyMs: 0 }, dead: 'dead' },
    },
    settings: { schedule: { pullEverySeconds: PULL_EVERY_SECONDS, auditEverySeconds: 604_800 } },
  });
  const names = world.tenantsOf('small').slice(0, small);
  world.slow();
  // Before the daemon runs: on a slow host the reminders are due before every small tenant is written.
  const reminders = world
    .tenantsOf('reminded')
    .map(async (name) => ((await world.sink.nextReminder(name)) - dueAt) / 1_000);
  await using _daemon = await world.startDaemon();
  if (Date.now() >= dueAt) throw new Error('the host is too slow: the reminders were due before the daemon ran');
  while (!names.every((name) => world.sink.writes.has(name))) await pause(100);
  say('fair: every small tenant is written; measuring …');
  const changes = await Promise.all(names.map((name) => lagsOfOne(world, name)));
  return { changes: changes.flat(), reminders: await Promise.all(reminders) };
}

/** Seconds from each change until it is written, the next change at a moment by chance. */
async function lagsOfOne(world: World, name: string): Promise<number[]> {
  const lags: number[] = [];
  for (let change = 0; change < CHANGES; change += 1) {
    await pause(Math.random() * PULL_EVERY_SECONDS * 1_000);
    const written = world.sink.nextWrite(name);
    await world.book(name);
    const bookedAt = Date.now();
    lags.push(((await written) - bookedAt) / 1_000);
  }
  return lags;
}

/** All that a clinic has booked for the next ten days is reminded of at one moment. */
function remindersDue(url: string, tenant: string, dueAt: number): object {
  const zone = { timeZone: 'Europe/Rome', hour: '2-digit', minute: '2-digit' } as const;
  const time = new Date(dueAt).toLocaleTimeString('en-GB', zone);
  const days = Array.from({ length: 10 }, (_, day) => day + 1);
  const secrets = [{ env: tenantVariable(tenant, 'HOOK') }];
  const hook = { kind: 'webhook', settings: { url, secrets } };
  return {
    ...{ quietHours: { from: '00:00', to: '00:00' }, minimumLeadMinutes: 0, maxPerHour: 100_000 },
    channels: { hook },
    rules: Object.fromEntries(days.map((day) => [`day-${day}`, { at: { daysBefore: day, time }, channels: ['hook'] }])),
  };
}
