import { parseArgs } from 'node:util';
import type { FaultRule } from '../sandbox/graph/index.ts';
import { renderTable } from '../src/cli/table.ts';
import { type SmallWorld, startSmallWorld } from '../test/e2e/support/small-world.ts';
import { startRedis } from '../tools/redis.ts';
import { book, only, secondsSince } from './appointments.ts';
import { outlookHands } from './calendar-hands.ts';

const USAGE = `npm run creates -- [--events 1000] [--latency 10] [--json]

Fills an empty Outlook mailbox with first creates and counts what Graph saw: undisturbed, then with 429 for one in five of the
requests within batches, then for one in five of the batches. Figures go to standard output, progress to standard error; the
exit code is 0 when every event was there once, never more than four requests ran at the mailbox at once, and the
undisturbed run took no more requests than it had to. With fewer than some hundred events no batch may be refused, which
fails the run too. --latency is what each request takes at Graph, in milliseconds.`;

/** Requests in one batch (learn.microsoft.com/graph/json-batching). */
const BATCH_SIZE = 20;
/** Requests at one mailbox at once (learn.microsoft.com/graph/throttling-limits#outlook-service-limits). */
const MOST_AT_ONCE = 4;
/** Requests of a first sync beside full batches: look for the calendar, make it, look again, read what is in it. */
const OTHER_REQUESTS = 4;
/** Cycles that a disturbed run may take until nothing waits. */
const MOST_CYCLES = 20;

const TOO_MANY = {
  kind: 'status',
  status: 429,
  headers: { 'Retry-After': '1' },
  body: { error: { code: 'ApplicationThrottled', message: 'Application is over its request limit.' } },
} as const;

/** What stands in the way of each run. */
const TRIALS: Record<string, FaultRule[]> = {
  undisturbed: [],
  '429 for parts': [{ match: { method: 'POST', path: '/events$' }, rate: 0.2, fault: TOO_MANY }],
  '429 for batches': [{ match: { path: '/\\$batch$' }, rate: 0.2, fault: TOO_MANY }],
};

/** One run, as the Graph sandbox counted it. */
interface Trial {
  trial: string;
  /** Events in the calendar that carry our mark. */
  events: number;
  /** Appointments without an event. */
  missing: number;
  /** Events of an appointment that has another one. */
  duplicates: number;
  httpRequests: number;
  batches: number;
  /** Requests within batches. */
  innerRequests: number;
  /** Requests that were answered 429, within batches or as a whole. */
  refused: number;
  /** Most requests that ran at the mailbox at once, those within batches one by one. */
  atOnce: number;
  cycles: number;
  seconds: number;
  ok: boolean;
}

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1000' },
    latency: { type: 'string', default: '10' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

async function main(): Promise<number> {
  const [events, latencyMs] = [Number(values.events), Number(values.latency)];
  const usable = Number.isInteger(events) && events > 0 && Number.isInteger(latencyMs) && latencyMs >= 0;
  if (values.help || !usable) {
    process.stderr.write(`${USAGE}\n`);
    return values.help ? 0 : 2;
  }
  const trials: Trial[] = [];
  for (const [trial, faults] of Object.entries(TRIALS)) {
    process.stderr.write(`${trial}: ${events} events …\n`);
    trials.push(await runTrial(trial, faults, events, latencyMs));
  }
  const result = { events, latencyMs, allowedRequests: allowedFor(events), trials, ok: trials.every(({ ok }) => ok) };
  process.stdout.write(`${values.json ? JSON.stringify(result) : render(result)}\n`);
  return result.ok ? 0 : 1;
}

async function runTrial(name: string, faults: FaultRule[], events: number, latencyMs: number): Promise<Trial> {
  const redis = await startRedis();
  const world = await startSmallWorld({
    redisUrl: redis.url,
    targets: ['outlook-calendar'],
    appointments: 0,
    graph: { latencyMs },
  });
  try {
    book(world, events);
    await world.logIn();
    world.graph.faults.add(...faults);
    world.graph.counts.reset();
    const startedAt = performance.now();
    const cycles = await cycleUntilInSync(world);
    const seconds = secondsSince(startedAt);
    const trial = { trial: name, ...(await observe(world, events)), cycles, seconds, ok: false };
    return { ...trial, ok: isAsPromised(trial, events, faults.length === 0) };
  } finally {
    await world.close();
    await redis.stop();
  }
}

async function cycleUntilInSync(world: SmallWorld): Promise<number> {
  for (let cycles = 1; cycles <= MOST_CYCLES; cycles += 1) {
    const { targets } = await world.cycle();
    if (targets.every(({ state }) => state === 'in-sync')) return cycles;
  }
  return MOST_CYCLES;
}

async function observe({ graph, targets }: SmallWorld, expected: number) {
  const { account } = only(targets);
  const { counts } = graph;
  // Before anything else is asked of Graph.
  const { httpRequests, batchRequests: batches, innerCalls: innerRequests } = counts;
  const atOnce = counts.maxConcurrency(account);
  const refused = graph.faults.list().reduce((sum, { applied }) => sum + applied, counts.concurrencyRefusals);
  const own = (await outlookHands(graph, account).events()).filter((event) => event.own);
  // Ids are the appointments': two events of one appointment share theirs.
  const appointments = new Set(own.map(({ id }) => id)).size;
  return {
    events: own.length,
    missing: expected - appointments,
    duplicates: own.length - appointments,
    ...{ httpRequests, batches, innerRequests, refused, atOnce },
  };
}

function isAsPromised(trial: Trial, events: number, isUndisturbed: boolean): boolean {
  const isExact = trial.events === events && trial.missing === 0 && trial.duplicates === 0;
  const isCheap = trial.httpRequests <= allowedFor(events) && trial.refused === 0;
  return isExact && trial.atOnce <= MOST_AT_ONCE && (isUndisturbed ? isCheap : trial.refused > 0);
}

function allowedFor(events: number): number {
  return Math.ceil(events / BATCH_SIZE) + OTHER_REQUESTS;
}

interface Result {
  events: number;
  latencyMs: number;
  allowedRequests: number;
  trials: readonly Trial[];
  ok: boolean;
}

function render({ events, latencyMs, allowedRequests, trials, ok }: Result): string {
  const headings = ['events', 'missing', 'doubles', 'HTTP', 'batches', 'within', 'refused', 'at once', 'seconds'];
  const columns = [{ heading: 'Outlook' }, ...headings.map((heading) => ({ heading, right: true }))];
  const rows = trials.map((each) => [
    `${each.trial}${each.ok ? '' : ' !'}`,
    ...[each.events, each.missing, each.duplicates, each.httpRequests, each.batches].map(String),
    ...[each.innerRequests, each.refused, each.atOnce, each.seconds].map(String),
  ]);
  return [
    renderTable(columns, rows),
    '',
    `First creates of ${events} events in one mailbox, ${latencyMs} ms a request. HTTP: at most ${allowedRequests} when undisturbed.`,
    'Within: requests inside batches. At once: most requests that ran at the mailbox, those within one by one.',
    ok ? 'All as it should be.' : 'NOT as it should be.',
  ].join('\n');
}

process.exitCode = await main();
