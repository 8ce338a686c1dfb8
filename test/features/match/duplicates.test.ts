import { expect, onTestFinished, test } from 'vitest';
import { startHubSpotSandbox } from '../../../sandbox/hubspot/index.ts';
import { startRestCrmSandbox } from '../../../sandbox/rest-crm/index.ts';
import { tenantDuplicates } from '../../../src/features/match/duplicates.ts';
import { renderDuplicates } from '../../../src/operator/cli/render-audit.ts';
import type { Installation } from '../../../src/operator/control/installation.ts';
import { openWorld } from '../../connectors/salesforce/support.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, NEVER, targetOf } from '../../tenant/cycle.ts';
import { writeToHubSpot } from '../../tenant/hubspot-targets.ts';
import { writeToEspoCrm } from '../../tenant/rest-crm-targets.ts';
import { type CrmWorld, openCrmWorld, patientOf } from '../../tenant/world.ts';

const redis = useRedis();

function lookerOf({ tenant, clock }: CrmWorld) {
  const installation = { tenants: new Map([[tenant.id, tenant]]), clock: () => clock.now };
  return (target?: string) =>
    tenantDuplicates(installation as unknown as Installation, tenant.id, { target, progress: () => {} }, NEVER);
}

test('duplicates lists contacts whose address is at another contact, with both pages and no value', async () => {
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
  const look = lookerOf(world);
  const links = await tenant.links.read('contacts');
  const pageOf = (id: string | null | undefined) =>
    `https://app.hubspot.com/contacts/${sandbox.portalId}/record/0-1/${id}`;
  const view = await look();
  expect(view.targets).toMatchObject([{ target: 'contacts' }]);
  expect(view.targets[0]?.duplicates.toSorted((a, b) => (a.record < b.record ? -1 : 1))).toEqual([
    {
      record: 'customer',
      kind: 'lacks',
      by: ['email'],
      page: pageOf(links.get('customer')?.remoteId),
      isHeldByOurs: false,
      heldBy: null,
      heldOn: pageOf(byHand),
    },
    {
      record: 'son',
      kind: 'lacks',
      by: ['email'],
      page: pageOf(links.get('son')?.remoteId),
      isHeldByOurs: true,
      heldBy: 'mother',
      heldOn: pageOf(links.get('mother')?.remoteId),
    },
  ]);
  const text = renderDuplicates(view);
  expect(text).toContain('customer without email: the value belongs to a contact that clinic-mirror did not create');
  expect(text).toContain('son without email: the value belongs to the contact of mother');
  expect(`${text}${JSON.stringify(view)}`).not.toMatch(/example\.org|Verdi|Anna/);
  await expect(look('activities')).rejects.toMatchObject({ code: 'no-such-target' });
});

test('duplicates in Salesforce lists managed copies and contacts of users, with both pages', async () => {
  const mapping = { FirstName: 'firstName', LastName: 'lastName', Email: 'email' };
  const world = openCrmWorld(redis, { contacts: { mapping } });
  const org = await openWorld();
  const target = targetOf(world.tenant, 'contacts');
  target.connector = org.open('patients', {
    ownerTag: target.identity.ownerTag,
    properties: target.crm!.mapping.properties,
    settings: { allowDuplicates: true },
  });
  world.clinic.patientList.push(patientOf('anna', { email: 'anna@example.org' }), patientOf('alone', { email: null }));
  await cycle(world.tenant);
  const byHand = org.sandbox.addByHand('Contact', { LastName: 'Bruni', Email: 'Anna@example.org' }).Id;
  const ours = (await world.tenant.links.read('contacts')).get('anna')?.remoteId ?? '';
  const { Clinic_Stamp__c: stamp, LastName } = org.sandbox.records('Contact').find(({ Id }) => Id === ours)!;
  const copy = org.sandbox.addByHand('Contact', { LastName, Clinic_Stamp__c: stamp }).Id;
  const view = await lookerOf(world)('contacts');
  const [page, pageOfCopy, pageByHand] = [ours, copy, byHand].map((id) => `${org.sandbox.url}/${id}`);
  const both = { record: 'anna', page };
  expect(view.targets[0]?.duplicates).toEqual([
    { ...both, kind: 'copied', by: [], isHeldByOurs: true, heldBy: null, heldOn: pageOfCopy },
    { ...both, kind: 'alike', by: ['email'], isHeldByOurs: false, heldBy: null, heldOn: pageByHand },
  ]);
  const text = renderDuplicates(view);
  expect(text).toContain('anna manual copy with the clinic-mirror stamp');
  expect(text).toContain('anna similar to a contact created by another user (equal email)');
  expect(text).toContain(pageOfCopy);
  expect(`${text}${JSON.stringify(view)}`).not.toMatch(/example\.org|Verdi|Bruni/);
});

test('duplicates in a described CRM names the same, with the pages of its profile', async () => {
  const mapping = { firstName: 'firstName', lastName: 'lastName', emailAddress: 'email' };
  const world = openCrmWorld(redis, { contacts: { mapping } });
  const sandbox = await startRestCrmSandbox({ dialect: 'espocrm' });
  onTestFinished(() => sandbox.close());
  writeToEspoCrm(targetOf(world.tenant, 'contacts'), sandbox, () => world.clock.now);
  world.clinic.patientList.push(patientOf('anna', { email: 'anna@example.org' }));
  await cycle(world.tenant);
  const ours = (await world.tenant.links.read('contacts')).get('anna')?.remoteId ?? '';
  const copy = sandbox.duplicateByHand('Contact', ours).id;
  const byHand = sandbox.addByHand('Contact', { lastName: 'Bruni', emailAddress: 'anna@example.org' }).id;
  const pageOf = (id: string) => `${new URL(sandbox.apiUrl).origin}/#Contact/view/${id}`;
  const { targets } = await lookerOf(world)();
  expect(targets[0]?.duplicates.map(({ kind, page, heldOn }) => [kind, page, heldOn])).toEqual([
    ['copied', pageOf(ours), pageOf(copy)],
    ['alike', pageOf(ours), pageOf(byHand)],
  ]);
});
