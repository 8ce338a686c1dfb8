import { setTimeout as pause } from 'node:timers/promises';
import { openWorld } from './fair/world.ts';
import { atMost, type Figure, shareOf } from './figure.ts';

/** Concurrent readers; each sends the next request after the last answer. */
const READERS = 50;
const ROUNDS = 20;
/** While a sync runs an answer takes at most so many times as long. Our choice. */
const GOAL = 3;
/** Latency of the target for each batch of twenty, so that the sync continues during the reads. */
const SINK_LATENCY_MS = 15;

/** What is read, by the name of the figure. */
const QUESTIONS = {
  status: () => '',
  records: () => '/targets/calendar-0/records?state=in-sync',
  explain: (appointment: string) => `/appointments/${appointment}/explanation`,
};

/**
 * Measures the API's answer times (p95) with 50 readers of one tenant during the first sync of many appointments (--records) in the same
 * process, and without load. Each reader requests the status, a page of records and one explanation in turn.
 */
export async function measureHttp({ records }: { records: number }, say: (text: string) => void): Promise<Figure[]> {
  say(`http: ${READERS} readers during a first sync of ${records} appointments …`);
  await using world = await openWorld({
    groups: [{ name: 'read', tenants: 1, appointments: records, sink: 'good' }],
    sinks: { good: { latencyMs: SINK_LATENCY_MS } },
    settings: { schedule: { pullEverySeconds: 86_400, auditEverySeconds: 604_800 } },
  });
  const [tenant = ''] = world.tenantsOf('read');
  const first = world.sink.nextWrite(tenant);
  await using daemon = await world.startDaemon();
  await first;
  const url = `${daemon.apiUrl}/tenants/${tenant}`;
  const written = () => world.sink.writes.get(tenant)?.operations ?? 0;
  const appointment = await someRecord(url);
  const beside = await read(url, appointment);
  const left = records - written();
  if (left <= 0) throw new Error('the sync ended before the reads: increase --records');
  say(`http: reads during the sync are complete; ${left} of ${records} appointments are not yet written`);
  while (await isAtWork(url)) await pause(500);
  const quiet = await read(url, appointment);
  return (Object.keys(QUESTIONS) as (keyof typeof QUESTIONS)[]).map((name) => {
    const [ours, floor] = [shareOf(beside[name], 0.95), shareOf(quiet[name], 0.95)];
    return { name: `http ${name} p95`, ...atMost(GOAL, ours / floor), floor, ours, unit: 'ms', n: beside[name].length };
  });
}

async function someRecord(url: string): Promise<string> {
  for (;;) {
    const { items } = (await ask(`${url}${QUESTIONS.records()}`)) as { items: { record: string }[] };
    if (items[0] !== undefined) return items[0].record;
    await pause(100);
  }
}

async function isAtWork(url: string): Promise<boolean> {
  const { targets } = (await ask(url)) as { targets: { state: string }[] };
  return targets.some(({ state }) => state !== 'in-sync');
}

/** Milliseconds of each answer, by request. */
async function read(url: string, appointment: string): Promise<Record<keyof typeof QUESTIONS, number[]>> {
  const tookMs = { status: [] as number[], records: [] as number[], explain: [] as number[] };
  const reader = async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const name of Object.keys(QUESTIONS) as (keyof typeof QUESTIONS)[]) {
        const startedAt = performance.now();
        await ask(url + QUESTIONS[name](appointment));
        tookMs[name].push(performance.now() - startedAt);
      }
    }
  };
  await Promise.all(Array.from({ length: READERS }, reader));
  return tookMs;
}

async function ask(url: string): Promise<unknown> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`the API answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}
