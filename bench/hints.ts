import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startDaemon } from '../demo/daemon.ts';
import { type FaultProxy, startFaultProxy } from '../sandbox/kit/fault-proxy.ts';
import { SECOND_MS } from '../src/core/model/time.ts';
import { renderTable } from '../src/operator/cli/table.ts';
import type { SmallTarget } from '../test/e2e/support/small-configuration.ts';
import type { Family } from '../test/e2e/support/small-targets.ts';
import { type SmallWorld, startSmallWorld } from '../test/e2e/support/small-world.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { freePort } from '../tools/free-port.ts';
import { startRedis } from '../tools/redis.ts';
import { secondsSince } from './appointments.ts';
import { type CalendarHands, googleHands, outlookHands } from './calendar-hands.ts';

const USAGE = `npm run hints -- [--edits 40] [--settle 1000] [--json]

A separate daemon synchronises a Google calendar and an Outlook calendar. Both vendors notify the daemon of changes, and the daemon does not
poll during the trial. Events are edited by hand one after the other, each when no server receives other requests.
Figures go to standard output, progress to standard error. The exit code is 0 if every edit was restored. --settle is
notifications.settleMs.`;

const FAMILIES = ['google-calendar', 'outlook-calendar'] as const;
const NAMES: Partial<Record<Family, string>> = { 'google-calendar': 'Google', 'outlook-calendar': 'Outlook' };
/** The steps of an edit's way, each in milliseconds. */
const STEPS = ['edit to hint', "hint to clinic's answer", "clinic's answer to write", 'edit to write'] as const;
const BY_HAND = 'Written by hand';
const NO_POLLING = { pullEverySeconds: 86_400, auditEverySeconds: 604_800, subscriptionCheckEverySeconds: 10 };
/** A write to a calendar, alone or within a batch of Google's or of Graph's. */
const WRITE = /^(PUT|PATCH|POST|DELETE) \/calendar|"method":"(PUT|PATCH|POST|DELETE)"/m;
const DEADLINE_MS = 30 * SECOND_MS;
const QUIET_MS = 300;

type Step = (typeof STEPS)[number];
type Edit = { family: Family; restored: boolean } & Record<Step, number>;

/** When something passed a proxy, in milliseconds of `performance.now()`. */
interface Passed {
  at: number;
  method: string;
  url: string;
  body: string;
}

interface Watched {
  requests: Passed[];
  /** By the moment of the answer. */
  answers: Passed[];
}

const { values } = parseArgs({
  options: {
    edits: { type: 'string', default: '40' },
    settle: { type: 'string', default: '1000' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

async function main(): Promise<number> {
  const [count, settleMs] = [Number(values.edits), Number(values.settle)];
  if (values.help || !Number.isInteger(count) || count < 2 || !Number.isInteger(settleMs) || settleMs < 0) {
    process.stderr.write(`${USAGE}\n`);
    return values.help ? 0 : 2;
  }
  const startedAt = performance.now();
  const edits = await runTrial(count, settleMs);
  const steps = Object.fromEntries(STEPS.map((step) => [step, figuresOf(edits, step)]));
  const families = FAMILIES.map((family) => {
    const own = edits.filter((edit) => edit.family === family);
    return { family, edits: own.length, steps: Object.fromEntries(STEPS.map((step) => [step, figuresOf(own, step)])) };
  });
  const ok = edits.length === count && edits.every(({ restored }) => restored);
  const result = { edits: count, settleMs, milliseconds: steps, families, seconds: secondsSince(startedAt), ok };
  process.stdout.write(`${values.json ? JSON.stringify(result) : render(edits, result)}\n`);
  return ok ? 0 : 1;
}

/** Runs a daemon between the sandboxes, with all connections authorised and push notifications from both vendors. */
async function runTrial(count: number, settleMs: number): Promise<Edit[]> {
  await using open = new AsyncDisposableStack();
  const redis = await startRedis();
  open.defer(() => redis.stop());
  const port = await freePort();
  const receiver = await startFaultProxy(`http://127.0.0.1:${port}`);
  open.defer(() => receiver.close());
  const world = await startSmallWorld({
    redisUrl: redis.url,
    targets: FAMILIES,
    appointments: 0,
    google: { quotaPerUserPerMinute: 1_000_000, quotaPerProjectPerMinute: 1_000_000 },
    settings: { http: { port }, notifications: { url: receiver.url, settleMs }, schedule: NO_POLLING },
  });
  open.defer(() => world.close());
  const perTarget = Math.ceil(count / world.targets.length);
  const booked = new Map(world.targets.map((target) => [target.target, book(world, target, perTarget)]));
  await world.logIn();
  process.stderr.write(`${perTarget} appointments for each of ${world.targets.length} calendars …\n`);
  await world.cycle();
  const daemon = startDaemon(world);
  open.defer(async () => void (await daemon.stop()));
  await waitFor(() => world.google.channels().length === 1 && world.graph.subscriptions().length === 1, {
    what: 'notification channels at both vendors',
    timeoutMs: DEADLINE_MS,
  });
  const seen = { hints: watch(receiver), clinic: watch(world.clinicProxy) };
  const targets = world.targets.map((target) => ({
    target,
    calendar: watch(target.proxy),
    hands: handsOf(world, target),
  }));
  const composition = world.open();
  const edits: Edit[] = [];
  for (let index = 0; index < count; index += 1) {
    const { target, calendar, hands } = targets[index % targets.length] as (typeof targets)[number];
    const identity = composition.composed.get(target.tenant)?.tenant.targets.get(target.target)?.identity;
    const recordId = booked.get(target.target)?.[Math.floor(index / targets.length)];
    if (identity === undefined || recordId === undefined) throw new Error('there is nothing to edit');
    await quiet([seen.hints, seen.clinic, ...targets.map((each) => each.calendar)], settleMs);
    const eventId = hands.idOf(identity, recordId);
    edits.push({ family: target.family, ...(await edit(hands, eventId, { ...seen, calendar })) });
    process.stderr.write(`\r${edits.length} of ${count} edits`);
  }
  process.stderr.write('\n');
  return edits;
}

/** One edit by hand, followed until the calendar says again what the clinic says. */
async function edit(
  hands: CalendarHands,
  id: string,
  seen: { hints: Watched; clinic: Watched; calendar: Watched },
): Promise<Omit<Edit, 'family'>> {
  const title = async () => (await hands.events()).find((event) => event.id === id)?.title;
  const before = await title();
  const editedAt = performance.now();
  await hands.retitle(id, BY_HAND);
  const isWrite = ({ at, method, body }: Passed) =>
    at > editedAt && (WRITE.test(body) || method === 'PATCH' || method === 'PUT');
  const written = await waitFor(() => seen.calendar.answers.find(isWrite), {
    what: 'the write that restores it',
    timeoutMs: DEADLINE_MS,
  }).catch(() => null);
  const writeAt = seen.calendar.requests.find(isWrite)?.at ?? Number.NaN;
  const hintAt = seen.hints.requests.find(({ at }) => at > editedAt)?.at ?? Number.NaN;
  const answeredAt = seen.clinic.answers.filter(({ at }) => at > editedAt && at < writeAt).at(-1)?.at ?? Number.NaN;
  return {
    restored: written !== null && (await title()) === before,
    'edit to hint': hintAt - editedAt,
    "hint to clinic's answer": answeredAt - hintAt,
    "clinic's answer to write": writeAt - answeredAt,
    'edit to write': writeAt - editedAt,
  };
}

/** Keeps the moments of all that passes a proxy. */
function watch(proxy: FaultProxy): Watched {
  const watched: Watched = { requests: [], answers: [] };
  proxy.add({
    times: Number.POSITIVE_INFINITY,
    fault: {
      kind: 'rewrite',
      request(request) {
        watched.requests.push({ at: performance.now(), ...request });
        return request;
      },
      answer(answer, request) {
        watched.answers.push({ at: performance.now(), ...request });
        return answer;
      },
    },
  });
  return watched;
}

/** Waits until nothing has passed any proxy for longer than hints settle. */
async function quiet(all: readonly Watched[], settleMs: number): Promise<void> {
  const lastAt = () => Math.max(...all.flatMap(({ requests }) => requests.at(-1)?.at ?? 0));
  while (performance.now() - lastAt() < settleMs + QUIET_MS) await delay(QUIET_MS / 6);
}

function handsOf(world: SmallWorld, { family, account }: SmallTarget): CalendarHands {
  return family === 'google-calendar' ? googleHands(world.google, account) : outlookHands(world.graph, account);
}

/** Appointments of half an hour in a target's agenda, one after the other from tomorrow on. @returns their ids */
function book(world: SmallWorld, { agendaIds }: SmallTarget, count: number): string[] {
  const [tenant] = world.tenants;
  const tomorrowAt = Math.ceil(world.clinic.clock() / 86_400_000) * 86_400_000;
  return Array.from({ length: count }, (_, index) => {
    const slot = { agendaId: agendaIds[0] ?? '', start: tomorrowAt + index * 1_800_000 };
    return world.clinic.book(tenant?.clinicId ?? '', slot).id;
  });
}

interface Figures {
  p50: number;
  p95: number;
  most: number;
}

/** Figures of completed edits, in whole milliseconds; nearest rank. */
function figuresOf(edits: readonly Edit[], step: Step): Figures {
  const sorted = edits
    .map((each) => each[step])
    .filter((each) => !Number.isNaN(each))
    .sort((one, other) => one - other);
  const at = (share: number) => Math.round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN);
  return { p50: at(0.5), p95: at(0.95), most: at(1) };
}

function render(edits: readonly Edit[], { settleMs, seconds, ok }: { settleMs: number; seconds: number; ok: boolean }) {
  const columns = [
    'milliseconds',
    ...['p50', 'p95', 'most'].map((heading) => ({ heading, right: true })),
    ...FAMILIES.flatMap((family) =>
      ['p50', 'p95'].map((each) => ({ heading: `${NAMES[family]} ${each}`, right: true })),
    ),
  ];
  const rows = STEPS.map((step) => {
    const all = figuresOf(edits, step);
    const each = FAMILIES.flatMap((family) => {
      const { p50, p95 } = figuresOf(
        edits.filter((edit) => edit.family === family),
        step,
      );
      return [p50, p95];
    });
    return [step, ...[all.p50, all.p95, all.most, ...each].map(String)];
  });
  return [
    renderTable(columns, rows),
    '',
    `A target is looked at ${settleMs} ms after the first hint (notifications.settleMs): a part of "hint to clinic's answer".`,
    `${edits.filter(({ restored }) => restored).length} of ${edits.length} edits restored, ${seconds} seconds.`,
    ...(ok ? [] : ['NOT as it should be.']),
  ].join('\n');
}

process.exitCode = await main();
