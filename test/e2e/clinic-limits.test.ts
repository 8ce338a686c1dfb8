import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { Problem } from '../../src/core/model/problems.ts';
import { SECOND_MS } from '../../src/core/model/time.ts';
import { startDaemon } from '../../src/main.ts';
import { paced } from '../support/pace.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import type { SmallWorld } from './support/small-world.ts';
import { isExact, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const TENANT = 'clinic-1';
const LIMIT_MS = 4 * SECOND_MS;

/** Headers of a refusal, by the end of the limit. */
const FORMS: Record<string, (endsAt: number) => Record<string, string>> = {
  seconds: (endsAt) => ({ 'retry-after': String(secondsTo(endsAt)) }),
  'a date': (endsAt) => ({ 'retry-after': new Date(Math.ceil(endsAt / SECOND_MS) * SECOND_MS).toUTCString() }),
  'epoch seconds': (endsAt) => ({ 'x-ratelimit-reset': String(Math.ceil(endsAt / SECOND_MS)) }),
  'no header': () => ({}),
};

function secondsTo(endsAt: number): number {
  return Math.max(1, Math.ceil((endsAt - Date.now()) / SECOND_MS));
}

/**
 * After some answered requests, the clinic refuses all for a while; then the first one that it answers is noted.
 * @param answers number of requests that it answers before
 */
function limitClinic({ clinicProxy }: SmallWorld, headers: (endsAt: number) => Record<string, string>, answers = 0) {
  const limit = { refused: 0, endsAt: 0, answeredAt: 0 };
  let answered = 0;
  clinicProxy.clear();
  clinicProxy.add({
    times: 100_000,
    fault: {
      kind: 'rewrite',
      answer(answer) {
        const now = Date.now();
        if (answered < answers) {
          answered += 1;
          return answer;
        }
        if (limit.endsAt === 0) limit.endsAt = now + LIMIT_MS;
        if (now >= limit.endsAt) {
          limit.answeredAt ||= now;
          return answer;
        }
        limit.refused += 1;
        return { status: 429, headers: headers(limit.endsAt), body: '' };
      },
    },
  });
  return limit;
}

async function lastCycleOf(world: SmallWorld): Promise<number> {
  const { out } = await world.cli('status', '--json');
  const { tenants } = JSON.parse(out) as { tenants: { lastRun: { startedAt: string } | null }[] };
  return new Date(tenants[0]?.lastRun?.startedAt ?? 0).getTime();
}

async function open() {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    appointments: 20,
    settings: { operator: { port: 0, access: {} }, schedule: { pullEverySeconds: 3_600 } },
  });
  await world.cycle();
  const startedAt = Date.now();
  const daemon = await startDaemon(world.open().configuration, silentLogger, new AbortController().signal);
  onTestFinished(() => daemon.close());
  await waitFor(async () => (await lastCycleOf(world)) >= startedAt, { what: 'the first cycle of the daemon to end' });
  const token = (await world.cli('access', 'token', 'create', 'ops', '--level', 'owner')).out.trim();
  const get = async (path: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return await (await fetch(`http://127.0.0.1:${daemon.operatorPort}${path}`, { headers })).text();
  };
  return { world, daemon, get };
}

type Opened = Awaited<ReturnType<typeof open>>;

const ofClinic = ({ subject, code }: Problem) => subject === 'clinic' && code === 'rate-limited';

/** The command, the API and the page name the next try. */
async function expectShown({ world, get }: Opened, limit: { endsAt: number }): Promise<void> {
  const told = await waitFor(
    async () => {
      const { out } = await world.cli('status', '--json');
      return (JSON.parse(out) as { problems: Problem[] }).problems.find(ofClinic);
    },
    { what: 'the status to show the limit' },
  );
  const listed = (JSON.parse(await get('/api/v1/problems')) as { problems: Problem[] }).problems.find(ofClinic);
  const page = await get(`/tenants/${TENANT}`);
  for (const problem of [told, listed]) {
    expect(problem).toMatchObject({ health: 'retrying', nextTryAt: expect.anything() });
    expect(new Date(problem?.nextTryAt ?? 0).getTime()).toBeGreaterThan(limit.endsAt - LIMIT_MS);
  }
  expect(page).toContain('retrying at');
}

async function isInSync(world: SmallWorld): Promise<boolean> {
  return (await world.compareAll()).every(isExact);
}

test.each(Object.entries(FORMS))(
  'a clinic that limits requests temporarily, signalled by %s, refuses at most two, is shown with the next retry, and is soon in sync',
  async (_, headers) => {
    const opened = await open();
    const { world, daemon } = opened;
    const limit = limitClinic(world, headers);
    world.clinic.simulate(world.tenants[0]?.clinicId ?? '', { booked: 3 });
    await daemon.composition.queues.pullNow(TENANT);
    await waitFor(() => limit.refused > 0, { what: 'the clinic to refuse' });
    await expectShown(opened, limit);
    await waitFor(async () => limit.answeredAt > 0 && (await isInSync(world)), { what: 'the calendar to be in sync' });
    expect(limit.refused).toBeLessThanOrEqual(2);
    expect(limit.answeredAt - limit.endsAt).toBeLessThanOrEqual(paced(10 * SECOND_MS));
  },
);

test('a limit that begins in the middle of a read refuses at most the requests under way and one trial', async () => {
  const { world, daemon } = await open();
  const limit = limitClinic(world, FORMS.seconds as (typeof FORMS)[string], 2);
  world.clinic.simulate(world.tenants[0]?.clinicId ?? '', { booked: 3 });
  await daemon.composition.queues.pullNow(TENANT);
  await waitFor(async () => limit.answeredAt > 0 && (await isInSync(world)), { what: 'the calendar to be in sync' });
  const requestsAtOnce = world.open().configuration.profiles.get('documented')?.limits.requestsAtOnce ?? 0;
  expect(limit.refused).toBeGreaterThan(0);
  expect(limit.refused).toBeLessThanOrEqual(requestsAtOnce + 1);
});
