import { expect, test } from 'vitest';
import { decideHold } from '../../src/features/holds/holds.ts';
import { openInstallation } from '../control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { NOW } from '../sync/arbitraries.ts';
import { cycle } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';

const redis = useRedis();

test('a removal that was rejected in one target proves nothing for another', async () => {
  const clinic = createModelClinic(20);
  const models = { doctor: createModelTarget(), reception: createModelTarget() };
  const open = (doctorShows: 'all' | string[]) =>
    openTenant({
      redis: redis.connect(),
      clinic,
      clock: () => NOW,
      targets: [
        { id: 'doctor', model: models.doctor, configuration: { agendas: doctorShows } },
        { id: 'reception', model: models.reception },
      ],
    });
  await cycle(open('all'));
  // The doctor's calendar no longer shows this agenda; a person rejects that its appointments are removed there.
  const tenant = open(['a2']);
  await cycle(tenant);
  const [hold] = await tenant.holds.list();
  expect(hold).toMatchObject({ target: 'doctor', state: 'open' });
  await decideHold(openInstallation({ tenants: [tenant] }), {
    tenant: tenant.id,
    hold: hold!.id,
    decision: 'rejected',
  });

  // One list leaves an appointment out that is there when it is asked for alone.
  const readAppointments = clinic.readAppointments.bind(clinic);
  clinic.readAppointments = async (query, signal) => {
    const snapshot = await readAppointments(query, signal);
    snapshot.records.delete('0');
    return snapshot;
  };
  const run = await cycle(tenant);
  expect(run.targets.find(({ target }) => target === 'reception')).toMatchObject({ stillThere: 1, planned: {} });
  expect(models.reception.objects()).toHaveLength(20);
  expect(models.doctor.objects()).toHaveLength(20);
});
