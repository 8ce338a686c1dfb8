import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/core/model/time.ts';
import { decideHold } from '../../src/features/holds/holds.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { cycle } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';

const redis = useRedis();
const DOCTORS = ['a1', 'a2', 'a3'];
/** Fewer than the limit for a verdict on a single calendar. */
const EACH = 8;

/** A clinic of three doctors with a calendar each. */
function open() {
  const clinic = createModelClinic();
  const fill = (laterHours: number) => {
    for (const [doctor, agendaId] of DOCTORS.entries()) {
      for (let index = 0; index < EACH; index += 1) {
        const id = `${doctor * EACH + index}`;
        const inHours = 24 + doctor * 100 + index + laterHours;
        clinic.appointments.set(id, { ...appointmentOf(id, { inHours }), agendaId });
      }
    }
  };
  fill(0);
  const models = DOCTORS.map(() => createModelTarget());
  const targets = DOCTORS.map((agenda, index) => ({
    id: `doctor-${index + 1}`,
    model: models[index] as (typeof models)[number],
    configuration: { agendas: [agenda] },
  }));
  const tenant = openTenant({ redis: redis.connect(), clinic, clock: () => NOW, targets });
  const written = () => JSON.stringify(models.map((model) => model.objects()));
  return { clinic, tenant, written, fill };
}

test('rows of another tenant under known ids are held whole where each calendar is small', async () => {
  const { clinic, tenant, written, fill } = open();
  await cycle(tenant);
  const before = written();
  fill(500);
  for (let cycles = 0; cycles < 3; cycles += 1) await cycle(tenant);
  expect(written()).toBe(before);
  const holds = await tenant.holds.list();
  expect(holds.map(({ target, kind, state }) => [target, kind, state]).sort()).toEqual(
    ['doctor-1', 'doctor-2', 'doctor-3'].map((target) => [target, 'replaced', 'open']),
  );
  fill(0);
  await cycle(tenant);
  expect(await tenant.holds.list()).toEqual([]);
  expect(clinic.appointments.size).toBe(DOCTORS.length * EACH);
});

test('such a fetch is written to the calendar for which an administrator approved it, and dropped in one for which it was rejected', async () => {
  const { tenant, written, fill } = open();
  await cycle(tenant);
  const before = JSON.parse(written()) as unknown[];
  fill(500);
  await cycle(tenant);
  const installation = openInstallation({ tenants: [tenant] });
  const holdOf = async (target: string) => (await tenant.holds.list()).find((hold) => hold.target === target)?.id ?? '';
  await decideHold(installation, { tenant: tenant.id, hold: await holdOf('doctor-1'), decision: 'approved' });
  await decideHold(installation, { tenant: tenant.id, hold: await holdOf('doctor-2'), decision: 'rejected' });
  for (let cycles = 0; cycles < 3; cycles += 1) await cycle(tenant);
  const now = JSON.parse(written()) as unknown[];
  expect(now[0]).not.toEqual(before[0]);
  expect(now.slice(1)).toEqual(before.slice(1));
  const states = (await tenant.holds.list()).map(({ target, state }) => `${target} ${state}`).sort();
  expect(states).toEqual(['doctor-1 approved', 'doctor-2 rejected', 'doctor-3 open']);
});

test('a day with all appointments of one doctor moved is not such a fetch', async () => {
  const { clinic, tenant } = open();
  await cycle(tenant);
  for (let index = 0; index < EACH; index += 1) {
    const moved = appointmentOf(`${index}`, { inHours: 24 + index + (7 * DAY_MS) / 3_600_000 });
    clinic.appointments.set(`${index}`, { ...moved, agendaId: 'a1' });
  }
  const run = await cycle(tenant);
  expect(run.targets.map(({ planned, held }) => [planned, held])).toEqual([
    [{ 'content-changed': EACH }, 0],
    [{}, 0],
    [{}, 0],
  ]);
});
