import { expect, onTestFinished, test } from 'vitest';
import { startHubSpotSandbox } from '../../sandbox/hubspot/index.ts';
import { renderDuplicates } from '../../src/cli/render-duplicates.ts';
import { tenantDuplicates } from '../../src/control/duplicates.ts';
import type { Installation } from '../../src/control/installation.ts';
import { openCrmWorld, patientOf } from '../jobs/crm-world.ts';
import { cycle, NEVER } from '../jobs/cycle.ts';
import { writeToHubSpot } from '../jobs/hubspot-targets.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();

test('duplicates names contacts without the address that another has, ours or made by hand, with both pages and no value', async () => {
  const world = openCrmWorld(redis, { contacts: { mapping: { lastname: 'lastName', email: 'email' } } });
  const { tenant, clinic } = world;
  const sandbox = await startHubSpotSandbox({ now: () => world.clock.now });
  onTestFinished(() => sandbox.close());
  writeToHubSpot(tenant, ['contacts'], { sandbox });
  const byHand = sandbox.add('contacts', { firstname: 'Anna', email: 'customer@example.org' });
  clinic.patientList.push(
    patientOf('mother', { email: 'family@example.org' }),
    patientOf('son', { email: 'Family@example.org' }),
    patientOf('customer', { email: 'customer@example.org' }),
    patientOf('alone', { email: 'alone@example.org' }),
  );
  await cycle(tenant);
  const installation = { tenants: new Map([[tenant.id, tenant]]), clock: () => world.clock.now };
  const look = (target?: string) =>
    tenantDuplicates(installation as unknown as Installation, tenant.id, { target, progress: () => {} }, NEVER);
  const links = await tenant.links.read('contacts');
  const pageOf = (id: string | null | undefined) =>
    `https://app.hubspot.com/contacts/${sandbox.portalId}/record/0-1/${id}`;
  const requests = sandbox.counts.httpRequests;
  const view = await look();
  expect(sandbox.counts.httpRequests - requests).toBe(1);
  expect(view.targets).toMatchObject([{ target: 'contacts' }]);
  expect(view.targets[0]?.duplicates.toSorted((a, b) => (a.record < b.record ? -1 : 1))).toEqual([
    {
      record: 'customer',
      property: 'email',
      page: pageOf(links.get('customer')?.remoteId),
      isHeldByOurs: false,
      heldBy: null,
      heldOn: pageOf(byHand),
    },
    {
      record: 'son',
      property: 'email',
      page: pageOf(links.get('son')?.remoteId),
      isHeldByOurs: true,
      heldBy: 'mother',
      heldOn: pageOf(links.get('mother')?.remoteId),
    },
  ]);
  const text = renderDuplicates(view);
  expect(text).toContain('customer lacks email, which is with a contact that somebody else made');
  expect(text).toContain('son lacks email, which is with the contact of mother');
  expect(`${text}${JSON.stringify(view)}`).not.toMatch(/example\.org|Verdi|Anna/);
  await expect(look('activities')).rejects.toMatchObject({ code: 'no-such-target' });
});
