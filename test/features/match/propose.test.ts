import { describe, expect, onTestFinished, test } from 'vitest';
import { startHubSpotSandbox } from '../../../sandbox/hubspot/index.ts';
import { fromCsv } from '../../../src/core/model/csv.ts';
import type { Patient } from '../../../src/core/model/records.ts';
import { applyMatches, undoMatches } from '../../../src/features/match/apply.ts';
import { proposeMatches } from '../../../src/features/match/propose.ts';
import type { Installation } from '../../../src/operator/control/installation.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, NEVER } from '../../tenant/cycle.ts';
import { writeToHubSpot } from '../../tenant/hubspot-targets.ts';
import { openCrmWorld, patientOf } from '../../tenant/world.ts';

const redis = useRedis();
const QUIET = () => {};
const MAPPING = { firstname: 'firstName', lastname: 'lastName', email: 'email', phone: 'phone' };

/** Patients and, by hand in HubSpot, contacts; nothing was written yet. */
async function useWorld(
  patients: Record<string, Partial<Patient>>,
  contacts: Record<string, Record<string, string>>,
  beside: object = {},
) {
  const world = openCrmWorld(redis, { contacts: { mapping: MAPPING, ...beside } });
  const { tenant, clinic } = world;
  const sandbox = await startHubSpotSandbox({ now: () => world.clock.now });
  onTestFinished(() => sandbox.close());
  writeToHubSpot(tenant, ['contacts'], { sandbox });
  for (const [id, changes] of Object.entries(patients))
    clinic.patientList.push(patientOf(id, { email: null, ...changes }));
  const ids = Object.fromEntries(
    Object.entries(contacts).map(([name, values]) => [name, sandbox.add('contacts', values)]),
  );
  const installation = { tenants: new Map([[tenant.id, tenant]]) } as unknown as Installation;
  const asked = { tenant: tenant.id, target: 'contacts' };
  return {
    ...{ world, tenant, clinic, sandbox, ids },
    propose: () =>
      proposeMatches(installation, { tenant: tenant.id, target: 'contacts' }, { progress: QUIET, signal: NEVER }),
    apply: (file: string) => applyMatches(installation, asked, file, { progress: QUIET, signal: NEVER }),
    undo: (file: string) => undoMatches(installation, asked, file, { progress: QUIET, signal: NEVER }),
    live: () => new Map(sandbox.records('contacts').map(({ id, properties }) => [id, properties])),
  };
}

function rowsOf(file: string): Record<string, string>[] {
  const [headings = [], ...rows] = fromCsv(file);
  return rows.map((row) => Object.fromEntries(headings.map((heading, at) => [heading, row[at] ?? ''])));
}

describe('a proposal', () => {
  test('gives for each pair the reason, the other fields that a sync would overwrite, and the location of the contact', async () => {
    const { propose, sandbox, ids } = await useWorld(
      { anna: { email: 'anna@x.org', phone: null }, none: {} },
      {
        anna: { firstname: 'Annina', lastname: 'Verdi anna', email: 'anna@x.org', phone: '06 1234567' },
        other: { lastname: 'Other', email: 'other@x.org' },
      },
    );
    await propose();
    const { view, file } = await propose();
    expect(view).toMatchObject({ contacts: 2, patients: 2, alike: 1, pairs: 1, ambiguous: 0, tooCommon: 0 });
    expect(rowsOf(file)).toEqual([
      {
        decision: '',
        ambiguous: '',
        same: 'email',
        differs: 'phone, name',
        'patient name': 'Anna Verdi anna',
        'patient birth date': '',
        'patient email': 'anna@x.org',
        'patient phone': '333 123 4567',
        'contact name': 'Annina Verdi anna',
        'contact birth date': '',
        'contact email': 'anna@x.org',
        'contact phone': '06 1234567',
        'would change': 'firstname',
        'would empty': 'phone',
        'contact page': '',
        pair: expect.stringMatching(/^pair\.[\w-]+$/),
      },
    ]);
    expect(sandbox.properties('contacts').some(({ name }) => name.startsWith('clinic_mirror'))).toBe(false);
    expect(ids.anna).toBeDefined();
  });

  test('finds a contact by a secondary address of HubSpot', async () => {
    const { propose, sandbox, ids } = await useWorld(
      { anna: { email: 'second@x.org' } },
      { anna: { email: 'first@x.org' } },
    );
    sandbox.addEmail(ids.anna ?? '', 'second@x.org');
    expect(rowsOf((await propose()).file)).toMatchObject([
      { same: 'email', 'contact email': 'first@x.org second@x.org' },
    ]);
  });

  test('omits patients whom the rules leave out: their contact would be adopted and then removed', async () => {
    const { propose } = await useWorld(
      { refusing: { email: 'a@x.org', consents: { marketing: false } } },
      { a: { email: 'a@x.org' } },
    );
    expect((await propose()).view).toMatchObject({ patients: 0, pairs: 0 });
  });

  test('omits patients with a managed contact', async () => {
    const { propose, tenant, sandbox } = await useWorld({ anna: { email: 'anna@x.org', phone: '06 1234567' } }, {});
    await cycle(tenant);
    sandbox.add('contacts', { lastname: 'Verdi', phone: '+39 06 1234567' });
    expect((await propose()).view).toMatchObject({ contacts: 1, patients: 0, pairs: 0 });
  });

  test('omits patients with a managed contact, also when the state was lost', async () => {
    const { propose, tenant, sandbox, clinic } = await useWorld({ anna: { phone: '06 1234567' } }, {});
    await cycle(tenant);
    sandbox.add('contacts', { lastname: 'Verdi', phone: '+39 06 1234567' });
    clinic.patientList.splice(0, 1, patientOf('anna', { lastName: 'Changed', email: null, phone: '06 1234567' }));
    await tenant.links.release('contacts', ['anna'], (await tenant.leases.tryTake('lane'))!);
    await tenant.targetStore.write('contacts', { adoptedAt: null });
    expect((await propose()).view).toMatchObject({ contacts: 1, patients: 0, pairs: 0 });
  });

  test('keeps values that look like a formula from a spreadsheet', async () => {
    const { propose } = await useWorld(
      { a: { email: 'a@x.org', firstName: '=cmd()' } },
      { a: { email: 'a@x.org', lastname: '@x' } },
    );
    expect(rowsOf((await propose()).file)).toMatchObject([
      { 'patient name': "'=cmd() Verdi a", 'contact name': "'@x" },
    ]);
  });
});

test('a target without contacts, or that is not there, has nothing to match', async () => {
  const { tenant } = await useWorld({}, {});
  const installation = { tenants: new Map([[tenant.id, tenant]]) } as unknown as Installation;
  for (const target of ['activities', 'nowhere']) {
    await expect(
      proposeMatches(installation, { tenant: tenant.id, target }, { progress: QUIET, signal: NEVER }),
    ).rejects.toMatchObject({
      code: 'no-such-target',
    });
  }
});
