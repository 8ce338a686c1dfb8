import { expect, test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { cycle } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';

const redis = useRedis();

test('an appointment that changes to another doctor leaves one calendar and enters the other', async () => {
  const clinic = createModelClinic();
  const models = { first: createModelTarget(), second: createModelTarget() };
  const agendas = { first: ['a1'], second: ['a2'] };
  for (const agendaId of ['a1', 'a2', 'a3']) {
    for (let hour = 24; hour < 30; hour += 1) {
      const id = `${agendaId}-${hour}`;
      clinic.appointments.set(id, appointmentOf(id, { agendaId, inHours: hour }));
    }
  }
  // Before every target's window: of no count.
  clinic.appointments.set('past', appointmentOf('past', { agendaId: 'a2', inHours: -24 * 300 }));
  const tenant = openTenant({
    redis: redis.connect(),
    clinic,
    targets: Object.entries(models).map(([id, model]) => ({
      id,
      model,
      configuration: { agendas: agendas[id as keyof typeof agendas] },
    })),
    clock: () => NOW,
  });
  const omitted = (run: Awaited<ReturnType<typeof cycle>>) =>
    run.targets.map((target) => [target.target, target.omitted.agenda ?? 0]);
  const held = () => Object.values(models).map((model) => model.objects().filter(({ deleted }) => !deleted).length);

  expect(omitted(await cycle(tenant))).toEqual([
    ['first', 6],
    ['second', 6],
  ]);
  expect(held()).toEqual([6, 6]);

  clinic.appointments.set('a1-24', appointmentOf('a1-24', { agendaId: 'a2', inHours: 24 }));
  expect(omitted(await cycle(tenant))).toEqual([
    ['first', 7],
    ['second', 5],
  ]);
  expect(held()).toEqual([5, 7]);

  // To a doctor who has no calendar.
  clinic.appointments.set('a1-24', appointmentOf('a1-24', { agendaId: 'a3', inHours: 24 }));
  await cycle(tenant);
  expect(held()).toEqual([5, 6]);
});
