import { beforeEach, describe, expect, test } from 'vitest';
import { openApiWorld, PATIENT, ROSSI } from '../../operator/control/services-world.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
let world: Awaited<ReturnType<typeof openApiWorld>>;

beforeEach(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});

const get = async (path: string, visitor = 'viewer') => (await world.as(visitor)('GET', path)).body;

describe('a patient', () => {
  test('is forgotten after a preview; neither answer nor log contains their name', async () => {
    const ask = (path: string) => world.as('owner')('POST', `/tenants/${ROSSI}/${path}`, { patient: PATIENT });
    expect((await ask('forget/preview')).body).toMatchObject({ isForgotten: false, appointments: 30 });
    const { status, body } = await ask('forget');
    expect([status, body.tenant]).toEqual([200, ROSSI]);
    expect((await get(`/tenants/${ROSSI}/receipts`)).receipts).toEqual([body]);
    expect(JSON.stringify([body, world.entries])).not.toContain(PATIENT);
    expect((await ask('follow-again')).body).toEqual({ tenant: ROSSI, changed: true });
  });

  test('is exported for an owner only, and the log has no id', async () => {
    const path = `/tenants/${ROSSI}/export-patient`;
    expect((await world.as('operator')('POST', path, { patient: PATIENT })).status).toBe(403);
    const { status, body } = await world.as('owner')('POST', path, { patient: PATIENT });
    expect([status, body.patient, body.records.appointments.length]).toEqual([200, PATIENT, 30]);
    expect(JSON.stringify(world.entries)).toContain('export-patient');
    expect(JSON.stringify(world.entries)).not.toContain(PATIENT);
  });

  test('who is forgotten is in no plan and no task that was stored before', async () => {
    await world.as('operator')('POST', `/tenants/${ROSSI}/plans`, {});
    const { plans } = world.rossi.tenant;
    expect(await plans.ids()).toHaveLength(1);
    await world.as('owner')('POST', `/tenants/${ROSSI}/forget`, { patient: PATIENT });
    expect(await plans.ids()).toEqual([]);
  });
});
