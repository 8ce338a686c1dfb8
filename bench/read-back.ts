import { parseArgs } from 'node:util';
import type { DriftReport } from '../src/core/model/run-schemas.ts';
import { renderTable } from '../src/operator/cli/table.ts';
import { auditNow } from '../src/operator/control/audit.ts';
import type { Installation } from '../src/operator/control/installation.ts';
import { tenantVariable } from '../src/settings/tenant-secrets.ts';
import { FAMILIES, type Family, RADICALE_USERS } from '../test/e2e/support/small-targets.ts';
import { type SmallWorld, startSmallWorld } from '../test/e2e/support/small-world.ts';
import type { PrivateDavServer } from '../tools/dav-server.ts';
import { startRadicale } from '../tools/radicale.ts';
import { startRedis } from '../tools/redis.ts';
import { book, only, secondsSince } from './appointments.ts';
import { type CalendarHands, caldavHands, googleHands, type HandledEvent, outlookHands } from './calendar-hands.ts';

const USAGE = `npm run read-back -- [--events 1000] [--edited 100] [--removed 100] [--json]

Fills a calendar of each family, changes it by hand, and runs one audit and one cycle under each policy. Then the calendar is
read and compared with the policy. Figures go to standard output, progress to standard error. The exit code is 0 if every
calendar matches its policy. Google's quotas are disabled, so that the times are those of the product.`;

const POLICIES = ['repair', 'keep', 'report'] as const;
/** In the table, which has to fit a terminal. */
const SHORT = { 'google-calendar': 'Google', 'outlook-calendar': 'Outlook', caldav: 'CalDAV' } as const;
type Policy = (typeof POLICIES)[number];

/** A user's own events in the same calendar. */
const FOREIGN = 20;
/** Of the edited and of the removed each, so many appointments are moved in the clinic at last. */
const MOVED_SHARE = 0.1;
const HALF_HOUR_MS = 1_800_000;
const BY_HAND = 'Written by hand';
const NEVER = new AbortController().signal;

interface Size {
  events: number;
  edited: number;
  removed: number;
}

/** A step's cost: requests of the product to the calendar, and time. */
interface Cost {
  httpRequests: number;
  seconds: number;
}

/** What the calendar held, read past the product and compared with what it held before anybody changed it. */
interface Held {
  asWritten: number;
  editedByHand: number;
  missing: number;
  foreignUntouched: boolean;
}

/** One family under one policy. */
interface Trial {
  family: Family;
  policy: Policy;
  events: number;
  found: Pick<DriftReport, 'checked' | 'edited' | 'removed' | 'unlinked' | 'churning' | 'fields'>;
  audit: Cost;
  cycle: Cost;
  /** Edited events with clinic-mirror's content again, and removed events that exist again. */
  restored: { edited: number; removed: number };
  heldAfterCycle: Held;
  /** A second audit and cycle, nothing having happened since. */
  again: { edited: number; removed: number; cycle: Cost };
  /** Edited by hand, then moved in the clinic: all follow the clinic, under every policy. */
  moved: { appointments: number; followed: number };
  ok: boolean;
}

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1000' },
    edited: { type: 'string', default: '100' },
    removed: { type: 'string', default: '100' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

async function main(): Promise<number> {
  const size: Size = {
    events: Number(values.events),
    edited: Number(values.edited),
    removed: Number(values.removed),
  };
  const usable = Object.values(size).every((each) => Number.isInteger(each) && each > 0);
  if (values.help || !usable || size.edited + size.removed > size.events) {
    process.stderr.write(`${USAGE}\n`);
    return values.help ? 0 : 2;
  }
  const say = (text: string) => process.stderr.write(`${text}\n`);
  const startedAt = performance.now();
  const started = await startRadicale({ users: RADICALE_USERS });
  const radicale = 'unavailable' in started ? null : started;
  if ('unavailable' in started)
    say(`No CalDAV server is available, and its trials are skipped: ${started.unavailable}`);
  const trials: Trial[] = [];
  try {
    for (const family of FAMILIES) {
      if (family === 'caldav' && radicale === null) continue;
      for (const policy of POLICIES) {
        say(`${family}, ${policy}: ${size.events} events …`);
        trials.push(await runTrial({ family, policy, size, radicale }));
      }
    }
  } finally {
    await radicale?.stop();
  }
  const ok = trials.every((trial) => trial.ok) && (process.env.CI !== 'true' || radicale !== null);
  const result = { ...size, foreign: FOREIGN, trials, seconds: secondsSince(startedAt), ok };
  process.stdout.write(`${values.json ? JSON.stringify(result) : render(result)}\n`);
  return ok ? 0 : 1;
}

interface TrialChoice {
  family: Family;
  policy: Policy;
  size: Size;
  radicale: PrivateDavServer | null;
}

async function runTrial(choice: TrialChoice): Promise<Trial> {
  const { family, policy, radicale } = choice;
  const redis = await startRedis();
  const world = await startSmallWorld({
    redisUrl: redis.url,
    targets: [family],
    appointments: 0,
    target: { audit: { drift: policy } },
    google: { quotaPerUserPerMinute: 1_000_000, quotaPerProjectPerMinute: 1_000_000 },
    ...(radicale === null ? {} : { radicale }),
  });
  try {
    return await observe(world, handsOf(world, choice), choice);
  } finally {
    await world.close();
    await redis.stop();
  }
}

function handsOf(world: SmallWorld, { family, radicale }: TrialChoice): CalendarHands {
  const { tenant, account } = only(world.targets);
  if (family === 'google-calendar') return googleHands(world.google, account);
  if (family === 'outlook-calendar') return outlookHands(world.graph, account);
  return caldavHands(`${radicale?.url}/${tenant}/`, {
    username: tenant,
    password: world.env[tenantVariable(tenant, 'DAV_PASSWORD')] ?? '',
  });
}

async function observe(world: SmallWorld, hands: CalendarHands, { family, policy, size }: TrialChoice): Promise<Trial> {
  const { composed, installation } = world.open();
  const target = only([...only([...composed.values()]).tenant.targets.values()]);
  const readBack = () => auditOnce(installation, world);
  const ids = book(world, size.events);
  await world.logIn();
  await world.cycle();
  const eventOf = (recordId: string) => hands.idOf(target.identity, recordId);
  const edited = ids.slice(0, size.edited).map(eventOf);
  const removed = ids.slice(size.edited, size.edited + size.removed).map(eventOf);
  for (let index = 0; index < FOREIGN; index += 1) await hands.add(`Foreign ${index}`);
  const before = await hands.events();
  for (const id of edited) await hands.retitle(id, BY_HAND);
  for (const id of removed) await hands.remove(id);

  const audit = await costOf(world, readBack);
  const { checked, unlinked, churning, fields, ...found } = audit.value;
  const cycle = await costOf(world, () => world.cycle());
  const after = await hands.events();
  const second = await readBack();
  const quiet = await costOf(world, () => world.cycle());

  const someOf = (from: number, count: number) =>
    ids
      .slice(from, from + Math.ceil(count * MOVED_SHARE))
      .map((recordId) => ({ recordId, eventId: eventOf(recordId) }));
  const toMove = [...someOf(0, size.edited), ...someOf(size.edited, size.removed)];
  const trial: Trial = {
    family,
    policy,
    events: before.filter(({ own }) => own).length,
    found: { checked, edited: found.edited, removed: found.removed, unlinked, churning, fields },
    audit: audit.cost,
    cycle: cycle.cost,
    restored: { edited: sameIn(before, after, edited), removed: sameIn(before, after, removed) },
    heldAfterCycle: held(before, after),
    again: { edited: second.edited, removed: second.removed, cycle: quiet.cost },
    moved: await moveSome(world, hands, before, toMove),
    ok: false,
  };
  return { ...trial, ok: isAsPromised(trial, size) };
}

/** As `clinic-mirror audit` does it. */
async function auditOnce(installation: Installation, world: SmallWorld): Promise<DriftReport> {
  const { drift } = only((await auditNow(installation, only(world.tenants).id, () => {}, NEVER)).targets);
  if (drift === null) throw new Error('the target could not be audited');
  return drift;
}

/** Moves appointments behind all others and lets a cycle follow. */
async function moveSome(
  world: SmallWorld,
  hands: CalendarHands,
  before: readonly HandledEvent[],
  toMove: readonly { recordId: string; eventId: string }[],
): Promise<Trial['moved']> {
  const { clinicId } = only(world.tenants);
  const lastAt = Math.max(...[...world.clinic.appointments(clinicId)].map(({ end }) => end));
  for (const [index, { recordId }] of toMove.entries()) {
    world.clinic.move(clinicId, recordId, { start: lastAt + index * HALF_HOUR_MS });
  }
  await world.cycle();
  const titles = new Map(before.map(({ id, title }) => [id, title]));
  const contents = new Map(before.map(({ id, content }) => [id, content]));
  const events = new Map((await hands.events()).map((event) => [event.id, event]));
  const followed = toMove.filter(({ eventId }) => {
    const event = events.get(eventId);
    return event !== undefined && event.title === titles.get(eventId) && event.content !== contents.get(eventId);
  });
  return { appointments: toMove.length, followed: followed.length };
}

async function costOf<Value>(world: SmallWorld, work: () => Promise<Value>): Promise<{ value: Value; cost: Cost }> {
  const { proxy } = only(world.targets);
  proxy.forget();
  const startedAt = performance.now();
  const value = await work();
  return { value, cost: { httpRequests: proxy.requests.length, seconds: secondsSince(startedAt) } };
}

function sameIn(before: readonly HandledEvent[], after: readonly HandledEvent[], ids: readonly string[]): number {
  const contents = new Map(before.map(({ id, content }) => [id, content]));
  const wanted = new Set(ids);
  return after.filter(({ id, content }) => wanted.has(id) && contents.get(id) === content).length;
}

function held(before: readonly HandledEvent[], after: readonly HandledEvent[]): Held {
  const own = before.filter(({ own: ours }) => ours);
  const foreign = before.filter(({ own: ours }) => !ours);
  const ids = new Set(after.map(({ id }) => id));
  return {
    asWritten: sameIn(
      own,
      after,
      own.map(({ id }) => id),
    ),
    editedByHand: after.filter(({ title }) => title === BY_HAND).length,
    missing: own.filter(({ id }) => !ids.has(id)).length,
    foreignUntouched:
      sameIn(
        foreign,
        after,
        foreign.map(({ id }) => id),
      ) === FOREIGN && after.filter(({ own: ours }) => !ours).length === FOREIGN,
  };
}

/** Whether the audit found every change, the calendar matches the policy, and all moved events follow the clinic. */
function isAsPromised(trial: Trial, { events, edited, removed }: Size): boolean {
  const { policy, found, restored, heldAfterCycle, again, moved } = trial;
  const repairs = policy === 'repair';
  const sawAll = found.checked === events && found.edited === edited && found.removed === removed;
  const isHeld =
    heldAfterCycle.asWritten === (repairs ? events : events - edited - removed) &&
    heldAfterCycle.editedByHand === (repairs ? 0 : edited) &&
    heldAfterCycle.missing === (repairs ? 0 : removed) &&
    heldAfterCycle.foreignUntouched;
  const isRestored = restored.edited === (repairs ? edited : 0) && restored.removed === (repairs ? removed : 0);
  const isQuiet =
    again.edited === (repairs ? 0 : edited) &&
    again.removed === (repairs ? 0 : removed) &&
    again.cycle.httpRequests === 0;
  return sawAll && isHeld && isRestored && isQuiet && moved.followed === moved.appointments;
}

function render(result: Size & { trials: readonly Trial[]; seconds: number; ok: boolean }): string {
  const headings = ['read', 'edited', 'removed', 'restored', 'by hand', 'missing', 'HTTP', 'seconds', 'followed'];
  const columns = ['calendar', ...headings.map((heading) => ({ heading, right: true }))];
  const rows = result.trials.map(({ family, policy, found, restored, heldAfterCycle, audit, cycle, moved, ok }) => [
    `${SHORT[family]} ${policy}${ok ? '' : ' !'}`,
    ...[found.checked, found.edited, found.removed, restored.edited + restored.removed].map(String),
    ...[heldAfterCycle.editedByHand, heldAfterCycle.missing].map(String),
    `${audit.httpRequests} + ${cycle.httpRequests}`,
    `${audit.seconds} + ${cycle.seconds}`,
    `${moved.followed} of ${moved.appointments}`,
  ]);
  return [
    renderTable(columns, rows),
    '',
    'HTTP and seconds: the audit + the cycle after it. By hand, missing: read from the calendar after both.',
    `${result.ok ? 'All as it should be' : 'NOT as it should be'}, ${result.seconds} seconds.`,
  ].join('\n');
}

process.exitCode = await main();
