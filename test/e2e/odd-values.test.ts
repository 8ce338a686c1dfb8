import { expect, onTestFinished, test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { cycle } from '../tenant/cycle.ts';
import type { VendorName } from './support/crm-vendors.ts';
import { type CrmWorld, startCrmWorld } from './support/crm-world.ts';

const redis = useRedis();

const LONG_NAME = 'Montefeltro '.repeat(9).trim().slice(0, 104);
const ODD_VALUES: Readonly<Record<string, string>>[] = [
  { email: 'mario.rossi@gmail,com' },
  { email: 'a1@example.org; b1@example.org' },
  { phone: 'call the daughter’s husband at the bakery, after five' },
  { lastName: LONG_NAME },
  { lastName: '' },
];

/** More patients than one batch takes, all of whom may be written to the CRM, and a state that knows of none. */
async function useWorld(vendor: VendorName, changes: readonly Readonly<Record<string, string>>[]): Promise<CrmWorld> {
  await redis.connect().flushall();
  const world = await startCrmWorld({
    redisUrl: redis.url,
    vendors: [vendor],
    streams: ['patients', 'appointments'],
    patients: 210,
    appointments: 250,
  });
  onTestFinished(() => world.close());
  const { clinicId } = world.tenants[0]!;
  const ids = [...world.clinic.patients(clinicId)].map(({ id }) => id);
  const consents = { privacy: { granted: true, date: null } };
  for (const [index, id] of ids.entries()) {
    world.clinic.plant(clinicId, 'patients', id, { consents, ...(index % 10 === 5 ? changes[(index - 5) / 10] : {}) });
  }
  await world.logIn();
  return world;
}

/** Content of the CRM after one cycle without retries. */
async function afterOneCycle(world: CrmWorld) {
  const [vendor] = world.vendors;
  const [composed] = world.opened().composed.values();
  await cycle(composed!.tenant);
  const outbox = async (target: string) => (await composed!.tenant.outbox.counts(`${vendor!.name}-${target}`)).pending;
  return {
    contacts: vendor!.records('patients').length,
    visits: vendor!.records('appointments').length,
    waiting: [await outbox('contacts'), await outbox('visits')],
    requests: vendor!.counted(),
  };
}

test.each(['salesforce', 'rest-crm'] as const)(
  'a first load into %s with odd values has all contacts and visits there as one without, after no wait and a request more',
  async (vendor) => {
    const plain = await afterOneCycle(await useWorld(vendor, []));
    const world = await useWorld(vendor, ODD_VALUES);
    const odd = await afterOneCycle(world);
    expect(odd).toEqual({ ...plain, requests: expect.any(Number) });
    expect(odd).toMatchObject({ contacts: 210, waiting: [0, 0] });
    expect(odd.visits).toBeGreaterThan(200);
    expect(odd.requests).toBeLessThanOrEqual(plain.requests + 1);
  },
);

test.each(['salesforce', 'rest-crm'] as const)(
  'a contact that %s rejects in every form blocks only its own visits, and no request is made for them',
  async (vendor) => {
    const plain = await afterOneCycle(await useWorld(vendor, []));
    const refused = await afterOneCycle(await useWorld(vendor, [{ firstName: '', lastName: '' }]));
    expect(refused.contacts).toBe(209);
    expect(refused.waiting).toEqual([1, plain.visits - refused.visits]);
    expect(refused.requests).toBeLessThanOrEqual(plain.requests);
  },
);
