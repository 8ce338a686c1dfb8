import { Queue } from 'bullmq';
import { afterEach, expect, test } from 'vitest';
import { neverNeedless } from '../../../src/jobs/job-kinds.ts';
import { QUEUE_PREFIX } from '../../../src/state/keys.ts';
import type { JobHandlers } from '../../../src/tenant/job-catalogue.ts';
import { openWorkQueues, type WorkQueues } from '../../../src/tenant/work-queues.ts';
import { startSomeWorkers } from '../../jobs/some-workers.ts';
import { useRedis } from '../../support/redis.ts';
import { waitFor } from '../../support/wait-for.ts';

const redis = useRedis({ appendOnly: false });
const opened: { close(graceMs: number): Promise<void> }[] = [];
const HOUR = 3_600_000;

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close(1_000);
});

function queues(): WorkQueues {
  const open = openWorkQueues(redis.url, neverNeedless);
  opened.push(open);
  return open;
}

/** Workers that ring into a list. */
function ringing(onRing: (reminder: string) => Promise<void> = async () => {}): string[] {
  const rung: string[] = [];
  const remind: JobHandlers['remind'] = async ({ reminder }) => {
    rung.push(reminder);
    await onRing(reminder);
  };
  opened.push(startSomeWorkers(redis.url, { remind }, { inFlight: { remind: 4 } }));
  return rung;
}

async function delayed(): Promise<{ id: string | undefined; data: unknown; delay: number }[]> {
  const queue = new Queue('remind', { connection: redis.connect(), prefix: QUEUE_PREFIX });
  const jobs = await queue.getJobs(['delayed', 'waiting']);
  await queue.close();
  return jobs.map(({ id, data, delay }) => ({ id, data, delay }));
}

test('an alarm that is set again and again rings once, when it is due', async () => {
  const alarms = queues().reminderAlarms('studio', Date.now);
  const wakeAt = Date.now() + 300;
  for (let times = 0; times < 5; times += 1) await alarms.set([{ id: 'one', wakeAt }]);
  const rung = ringing();
  await waitFor(() => rung.length > 0, { what: 'the alarm' });
  expect(Date.now()).toBeGreaterThanOrEqual(wakeAt - 5);
  await alarms.set([{ id: 'two', wakeAt: 0 }]);
  await waitFor(() => rung.includes('two'), { what: 'an alarm of the past' });
  expect(rung).toEqual(['one', 'two']);
});

test('an alarm that rang can be set again for the same moment', async () => {
  const alarms = queues().reminderAlarms('studio', Date.now);
  const rung = ringing();
  const wake = { id: 'one', wakeAt: Date.now() };
  await alarms.set([wake]);
  await waitFor(() => rung.length === 1, { what: 'the first' });
  await waitFor(
    async () => {
      await alarms.set([wake]);
      return rung.length >= 2;
    },
    { what: 'the second' },
  );
});

test('an alarm that was cancelled does not ring, and those of another tenant do', async () => {
  const open = queues();
  const [here, there] = [open.reminderAlarms('studio', Date.now), open.reminderAlarms('other', Date.now)];
  const wake = { id: 'one', wakeAt: Date.now() + HOUR };
  await here.set([wake]);
  await there.set([wake]);
  await here.cancel([wake, { id: 'never-set', wakeAt: 1 }]);
  expect(await delayed()).toEqual([
    { id: `other-one-${wake.wakeAt}`, data: { tenant: 'other', reminder: 'one' }, delay: expect.closeTo(HOUR, -4) },
  ]);
});

test('thousands are set in one go, and hold nothing but ids', async () => {
  const alarms = queues().reminderAlarms('studio', Date.now);
  const wakeAt = Date.now() + HOUR;
  const wakes = Array.from({ length: 2_500 }, (_, index) => ({ id: `${index}`, wakeAt }));
  await alarms.set(wakes);
  await alarms.set(wakes);
  expect(await delayed()).toHaveLength(2_500);
});

test('a reminder that sets its own alarm again while it rings rings again', async () => {
  const alarms = queues().reminderAlarms('studio', Date.now);
  const rung = ringing(async () => {
    if (rung.length === 1) await alarms.set([{ id: 'one', wakeAt: Date.now() + 100 }]);
  });
  await alarms.set([{ id: 'one', wakeAt: Date.now() }]);
  await waitFor(() => rung.length === 2, { what: 'the second ring' });
});
