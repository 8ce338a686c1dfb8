import { expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../src/log/logger.ts';
import { useRedis } from '../support/redis.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { cycle } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';

const redis = useRedis();

test('a run tells what it decided and wrote, each deletion by its ids; a quiet one tells nothing', async () => {
  const told: [string, object][] = [];
  const ours = ['a cycle decided changes', 'a target was written to', 'an entry was deleted'];
  const info = (data: object, message: string) => void (ours.includes(message) && told.push([message, data]));
  const log: Logger = { ...silentLogger, info, child: () => log };
  const clinic = createModelClinic();
  for (const id of ['1', '2']) clinic.appointments.set(id, appointmentOf(id, { inHours: 24 + Number(id) }));
  const targets = [{ model: createModelTarget() }];
  const tenant = openTenant({ redis: redis.connect(), clinic, targets, clock: () => NOW, log });
  await cycle(tenant);
  expect(told).toMatchObject([
    ['a cycle decided changes', { changes: 2, held: 0 }],
    ['a target was written to', { target: 'doctor', created: 2, updated: 0, deleted: 0, failed: 0 }],
  ]);
  told.length = 0;
  await cycle(tenant);
  expect(told).toEqual([]);
  clinic.appointments.set('1', appointmentOf('1', { inHours: 25, status: 'cancelled' }));
  await cycle(tenant);
  expect(told).toMatchObject([
    ['a cycle decided changes', { changes: 1 }],
    ['an entry was deleted', { target: 'doctor', record: '1', reason: 'cancelled', run: expect.any(String) }],
    ['a target was written to', { deleted: 1 }],
  ]);
  expect(JSON.stringify(told)).not.toContain('Mario');
});
