import { describe, expect, test, vi } from 'vitest';
import { MirrorError, storedError } from '../../src/core/model/errors.ts';
import { createRunStore, FIRST_PACE, NO_CHANGES, type RunReport } from '../../src/domain/runs.ts';
import { reminderKeys } from '../../src/features/reminders/keys.ts';
import { neverNeedless } from '../../src/jobs/job-kinds.ts';
import { keys } from '../../src/state/keys.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import type { JobName } from '../../src/tenant/job-catalogue.ts';
import { createNeedless } from '../../src/tenant/needless-jobs.ts';
import { openWorkQueues } from '../../src/tenant/work-queues.ts';
import { startSomeWorkers } from '../jobs/some-workers.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis();
const TENANT = {
  id: 'uno',
  formerly: null as string | null,
  targets: [{ id: 'rossi', formerly: null }],
  connections: ['work'],
};
const IDENTITY_KEY = Buffer.alloc(32, 7);
const REPEATED: readonly JobName[] = ['pull', 'audit', 'subscriptions', 'refresh-tokens'];

/** Which of the repeated jobs of a tenant are needless. */
async function needless(tenant = TENANT): Promise<JobName[]> {
  const isNeedless = createNeedless(
    redis.connect(),
    () => new Map([[tenant.id, tenant]]),
    IDENTITY_KEY,
    reminderKeys.remindersOpen,
  );
  const told = await Promise.all(REPEATED.map((job) => isNeedless(job, tenant.id)));
  return REPEATED.filter((_, index) => told[index]);
}

const without = (...jobs: JobName[]) => REPEATED.filter((job) => !jobs.includes(job));

function report(code: string | null): RunReport {
  const error =
    code === null ? null : storedError(new MirrorError('a message', { actor: 'authorization', code, retry: 'never' }));
  return {
    ...{
      id: 'a',
      startedAt: 1,
      finishedAt: 2,
      snapshot: null,
      soon: null,
      pace: FIRST_PACE,
      hourly: NO_CHANGES,
      unusable: {},
    },
    ...{ unusableExamples: [], unknownStatuses: [], withheld: [], gaps: {}, clinic: null, read: {}, crmPlanner: null },
    ...{ targets: [], awaiting: [], error },
  };
}

describe('a repeated job of a tenant', () => {
  test('is unnecessary without a sign-in', async () => {
    expect(await needless()).toEqual(REPEATED);
  });

  test.each([
    ['a login to the clinic', keys.credential('uno', 'clinic'), []],
    ['a login to another side', keys.credential('uno', 'work'), without('refresh-tokens')],
    ['a hold that may expire', keys.holds('uno'), without('pull')],
    ['something that waits to be written', keys.outbox('uno', 'rossi'), without('pull')],
    ['an open reminder', reminderKeys.remindersOpen('uno'), without('pull')],
    ['a subscription that is to be closed', keys.subscriptions('uno'), without('subscriptions')],
    ['a calendar that is known', keys.target('uno', 'rossi'), without('audit', 'subscriptions')],
  ])('runs if the tenant has %s', async (_what, key, expected) => {
    await redis.connect().hset(key, 'a', '1');
    expect(await needless()).toEqual(expected);
  });

  test('is done where the tenant has another id by now and a reminder is open under the former', async () => {
    await redis.connect().hset(reminderKeys.remindersOpen('prima'), 'a', '1');
    expect(await needless({ ...TENANT, formerly: 'prima' })).toEqual(without('pull'));
  });

  test('is needless after a logout once a cycle has said so', async () => {
    const runs = createRunStore(redis.connect(), 'uno', createProofSealer(IDENTITY_KEY, 'uno'));
    await runs.add(report(null));
    expect(await needless()).toEqual(without('pull'));
    await runs.add(report('not-connected'));
    expect(await needless()).toEqual(REPEATED);
  });

  test('is never unnecessary if its state is unknown, or if it is not repeated', async () => {
    const isNeedless = createNeedless(
      redis.connect(),
      () => new Map([[TENANT.id, TENANT]]),
      IDENTITY_KEY,
      reminderKeys.remindersOpen,
    );
    expect(await isNeedless('pull', 'due')).toBe(false);
    expect(await isNeedless('push', 'uno')).toBe(false);
    expect(await isNeedless('triggers', 'uno')).toBe(false);
  });
});

test('one query per tenant covers all of its jobs', async () => {
  const connection = redis.connect();
  const isNeedless = createNeedless(
    connection,
    () => new Map([[TENANT.id, TENANT]]),
    IDENTITY_KEY,
    reminderKeys.remindersOpen,
  );
  await connection.ping();
  const asked = vi.spyOn(connection, 'sendCommand');
  expect(await Promise.all(REPEATED.map((job) => isNeedless(job, TENANT.id)))).toEqual(REPEATED.map(() => true));
  expect(asked).toHaveBeenCalledTimes(1);
  // A running query does not contain changes that came after its start.
  const early = Promise.withResolvers<string[]>();
  vi.spyOn(connection, 'eval').mockReturnValueOnce(early.promise);
  const before = isNeedless('pull', TENANT.id);
  await new Promise((resolve) => setImmediate(resolve));
  await connection.hset(keys.credential('uno', 'clinic'), 'a', '1');
  expect(await isNeedless('pull', TENANT.id)).toBe(false);
  early.resolve([]);
  expect(await before).toBe(true);
});

test('a job that is needless takes no turn and is not handed to anybody', async () => {
  const queues = openWorkQueues(redis.url, neverNeedless);
  const handed: string[] = [];
  const shared: string[] = [];
  const workers = startSomeWorkers(
    redis.url,
    { pull: async ({ tenant }) => void handed.push(tenant) },
    {
      isNeedless: async (_job, tenant) => tenant === 'uno',
      sharesOf: {
        pull({ tenant }) {
          shared.push(tenant);
          return [];
        },
      },
    },
  );
  await queues.pullNow('uno');
  await queues.pullNow('due');
  await waitFor(() => handed.length > 0, { what: 'the job of the other tenant' });
  const client = redis.connect();
  await waitFor(async () => (await client.zcard('{clinic-mirror}:pull:completed')) === 2, { what: 'both jobs' });
  expect(handed).toEqual(['due']);
  expect(shared).toEqual(['due']);
  await workers.close(1_000);
  await queues.close();
});
