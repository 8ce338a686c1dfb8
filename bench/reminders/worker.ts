import { takeReminderCallback } from '../../src/features/reminders/callbacks.ts';
import { remind } from '../../src/features/reminders/job.ts';
import { connectRedis } from '../../src/state/redis.ts';
import { pullTenant } from '../../src/tenant/pull.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import type { Doom } from './dying.ts';
import { openSimulatedTenant } from './open-worker.ts';
import type { FromWorker, Order, Outcome, ToWorker, WorkerPlaces } from './orders.ts';
import { TENANTS } from './world-plan.ts';

const NEVER = new AbortController().signal;

/**
 * A worker process: does what the simulation orders, on its clock, until it is killed.
 * @param spoil for judges of the judge: breaks the product in one place
 */
export function runWorker(spoil: (tenant: OpenTenant) => OpenTenant = (tenant) => tenant): void {
  const doom: Doom = { death: null };
  let now = 0;
  let tenants = new Map<string, OpenTenant>();
  const tell = (message: FromWorker) => void process.send?.(message);
  const begin = (places: WorkerPlaces) => {
    const onAnswer = (at: number) => {
      now = Math.max(now, at);
    };
    const parts = { places, redis: connectRedis(places.redisUrl), clock: () => now, doom, onAnswer };
    tenants = new Map(TENANTS.map((id) => [id, spoil(openSimulatedTenant(id, parts))]));
    tell({ ready: true });
  };
  process.on('disconnect', () => process.exit());
  process.on('message', async (message: ToWorker) => {
    if ('begin' in message) begin(message.begin);
    else if ('die' in message) doom.death = message.die;
    else if ('end' in message) process.exit();
    else {
      now = Math.max(now, message.order.now);
      const outcome = await carryOut(tenants, message.order, () => now);
      tell({ number: message.number, outcome });
    }
  });
}

async function carryOut(tenants: ReadonlyMap<string, OpenTenant>, order: Order, clock: () => number): Promise<Outcome> {
  const outcome: Outcome = { failed: null, status: null, isRead: false };
  const tenant = tenants.get(order.tenant);
  if (tenant === undefined) return { ...outcome, failed: 'the tenant does not exist' };
  try {
    if (order.work === 'pull') {
      const run = await pullTenant(tenant, NEVER);
      return { ...outcome, failed: run?.error?.code ?? null, isRead: run !== null && run.error === null };
    }
    if (order.work === 'remind') {
      await remind(tenant, order.reminder, { stop: NEVER, abort: NEVER });
      return outcome;
    }
    const { query, headers, body, channel } = order;
    const callback = { tenant: order.tenant, channel, method: 'POST', query, headers, body };
    const outline = { name: '', zone: 'UTC', formerly: null, hasReminders: true, triggersEveryMinutes: null };
    const outlines = new Map([...tenants.keys()].map((id) => [id, outline]));
    return { ...outcome, status: await takeReminderCallback({ outlines, tenants, clock }, callback) };
  } catch (error) {
    return { ...outcome, failed: error instanceof Error ? error.message : String(error) };
  }
}
