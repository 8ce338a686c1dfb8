import { describe, expect, onTestFinished, test } from 'vitest';
import { type HubSpotSandbox, startHubSpotSandbox } from '../../../sandbox/hubspot/index.ts';
import { fromCsv, toCsv } from '../../../src/core/model/csv.ts';
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

/** Returns the file with a decision in the column `decision` of each line. */
function decide(file: string, decision: (row: Record<string, string>) => string = () => 'adopt'): string {
  const [headings = [], ...rows] = fromCsv(file);
  const asRecord = (row: string[]) => Object.fromEntries(headings.map((heading, at) => [heading, row[at] ?? '']));
  return toCsv([headings, ...rows.map((row) => row.with(headings.indexOf('decision'), decision(asRecord(row))))]);
}

const namesOf = (sandbox: HubSpotSandbox) =>
  sandbox
    .records('contacts')
    .map(({ properties }) => properties.lastname)
    .toSorted();

describe('applying', () => {
  const PATIENTS = { anna: { email: 'anna@x.org' }, ugo: { email: 'ugo@x.org' }, eva: { email: 'eva@x.org' } };
  const CONTACTS = {
    anna: { lastname: 'A', email: 'anna@x.org' },
    ugo: { lastname: 'U', email: 'ugo@x.org' },
    eva: { lastname: 'E', email: 'eva@x.org' },
  };

  test('touches only approved contacts, and the next cycle updates them', async () => {
    const { propose, apply, live, tenant, ids, sandbox } = await useWorld(PATIENTS, CONTACTS);
    const { file } = await propose();
    const before = live();
    const decided = decide(file, (row) => (row['patient name'] === 'Anna Verdi anna' ? ' ADOPT' : 'leave'));
    expect(await apply(decided)).toMatchObject({ approved: 1, done: 1, already: 0, refused: [] });
    for (const name of ['ugo', 'eva']) expect(live().get(ids[name] ?? '')).toEqual(before.get(ids[name] ?? ''));
    expect(live().get(ids.anna ?? '')).toMatchObject({ lastname: 'A', email: 'anna@x.org' });
    await cycle(tenant);
    expect(live().get(ids.anna ?? '')).toMatchObject({ lastname: 'Verdi anna', email: 'anna@x.org' });
    expect(namesOf(sandbox)).toEqual(['E', 'U', 'Verdi anna', 'Verdi eva', 'Verdi ugo']);
    expect((await tenant.links.read('contacts')).get('anna')?.remoteId).toBe(ids.anna);
    expect((await tenant.holds.list()).filter(({ state }) => state === 'open')).toEqual([]);
  });

  test('skips and lists each line whose patient or contact changed, is gone, or is taken', async () => {
    const patients = Object.fromEntries(
      ['moved', 'edited', 'deleted', 'taken', 'withdrawn', 'fine'].map((id) => [id, { email: `${id}@x.org` }]),
    );
    const contacts = Object.fromEntries(
      Object.keys(patients).map((id) => [id, { email: `${id}@x.org`, lastname: id }]),
    );
    const { propose, apply, sandbox, clinic, ids } = await useWorld(patients, contacts);
    const decided = decide((await propose()).file);
    const patient = (id: string) =>
      clinic.patientList.find((one) => one.id === id) as { -readonly [K in keyof Patient]: Patient[K] };
    patient('moved').email = 'elsewhere@x.org';
    patient('withdrawn').consents = { marketing: false };
    sandbox.edit('contacts', ids.edited ?? '', { lastname: 'Somebody else' });
    sandbox.archive('contacts', ids.deleted ?? '');
    sandbox.createProperty('contacts', {
      name: 'clinic_mirror_key',
      label: 'k',
      type: 'string',
      fieldType: 'text',
      hasUniqueValue: true,
    });
    sandbox.edit('contacts', ids.taken ?? '', { clinic_mirror_key: 'x'.repeat(32) });
    const { done, refused } = await apply(decided);
    expect(done).toBe(1);
    expect(Object.fromEntries(refused.map(({ record, why }) => [record, why]))).toEqual({
      moved: 'patient-changed',
      edited: 'contact-changed',
      deleted: 'contact-gone',
      taken: 'contact-taken',
      withdrawn: 'patient-left-out',
    });
    const marked = sandbox.records('contacts').filter(({ properties }) => properties.clinic_mirror_stamp);
    expect(marked.map(({ id }) => id)).toEqual([ids.fine]);
  });

  test('is done again without harm, also after the sync', async () => {
    const { propose, apply, tenant, sandbox } = await useWorld(PATIENTS, CONTACTS);
    const decided = decide((await propose()).file);
    expect(await apply(decided)).toMatchObject({ done: 3, already: 0, refused: [] });
    expect(await apply(decided)).toMatchObject({ done: 0, already: 3, refused: [] });
    await cycle(tenant);
    expect(await apply(decided)).toMatchObject({ done: 0, already: 3, refused: [] });
    expect(namesOf(sandbox)).toEqual(['Verdi anna', 'Verdi eva', 'Verdi ugo']);
  });

  test('continues after a crash: the next cycle adopts marked contacts, despite refusals of the CRM', async () => {
    const { propose, apply, tenant, sandbox, ids, world } = await useWorld(PATIENTS, CONTACTS);
    const decided = decide((await propose()).file);
    const target = tenant.targets.get('contacts')!;
    const { contacts: existing } = target.connector;
    const dying = {
      ...existing!,
      stamp: async (...[stamps, signal]: Parameters<NonNullable<typeof existing>['stamp']>) => {
        await existing!.stamp(stamps.slice(0, 1), signal);
        throw new Error('killed');
      },
    };
    target.connector = { ...target.connector, contacts: dying };
    await expect(apply(decided)).rejects.toThrow('killed');
    target.connector = { ...target.connector, contacts: existing! };
    expect(await apply(decided)).toMatchObject({ done: 2, already: 1, refused: [] });
    world.clock.now += 1;
    await cycle(tenant);
    expect(namesOf(sandbox)).toEqual(['Verdi anna', 'Verdi eva', 'Verdi ugo']);
    expect([...(await tenant.links.read('contacts')).values()].map(({ remoteId }) => remoteId).toSorted()).toEqual(
      Object.values(ids).toSorted(),
    );
  });

  test('creates no second contact for a patient whose contact has no link', async () => {
    const { propose, apply, tenant, sandbox } = await useWorld({ anna: PATIENTS.anna }, { anna: CONTACTS.anna });
    const decided = decide((await propose()).file);
    const { identity } = tenant.targets.get('contacts')!;
    await cycle(tenant);
    const links = await tenant.links.read('contacts');
    expect(links.size).toBe(1);
    expect(await apply(decided)).toMatchObject({ done: 0, refused: [{ record: 'anna', why: 'patient-left-out' }] });
    expect(
      sandbox.records('contacts').filter(({ properties }) => properties.clinic_mirror_key === identity.key('anna', 0)),
    ).toHaveLength(1);
  });

  test.each<[string, (file: string) => string, RegExp]>([
    [
      'another word than those that there are',
      (file) => decide(file, () => 'yes'),
      /line 2, 3, 4: a decision is "adopt" or empty/,
    ],
    [
      'two contacts for one patient',
      (file) => decide(file + file.split('\r\n')[1]),
      /line 2, 5: a patient or a contact is in several pairs/,
    ],
    [
      'a damaged column',
      (file) => decide(file).replaceAll('pair.', 'pair.x'),
      /line 2, 3, 4: the column pair is damaged/,
    ],
    ['missing columns', () => 'a,b\r\n1,2\r\n', /the columns decision and pair are missing/],
  ])('refuses a file with %s completely, and lists the lines', async (_, spoil, message) => {
    const { propose, apply, live } = await useWorld(PATIENTS, CONTACTS);
    const { file } = await propose();
    const before = live();
    await expect(apply(spoil(file))).rejects.toMatchObject({
      code: 'match-file-unusable',
      message: expect.stringMatching(message),
    });
    expect(live()).toEqual(before);
  });

  test("takes no line of another tenant's target", async () => {
    const one = await useWorld(PATIENTS, CONTACTS);
    const { file } = await one.propose();
    const other = { ...one.tenant.targets.get('contacts')!.identity, unsealed: () => null };
    one.tenant.targets.get('contacts')!.identity = other;
    await expect(one.apply(decide(file))).rejects.toMatchObject({ code: 'match-file-unusable' });
  });
});

describe('undoing', () => {
  test('before the sync leaves every contact unchanged', async () => {
    const { propose, apply, undo, live } = await useWorld(
      { anna: { email: 'anna@x.org' } },
      { anna: { lastname: 'A', email: 'anna@x.org' } },
    );
    const before = live();
    const decided = decide((await propose()).file);
    await apply(decided);
    expect(await undo(decided)).toMatchObject({ approved: 1, done: 1, refused: [] });
    const whole = (records: ReturnType<typeof live>) =>
      [...records].map(([id, { lastname, email, clinic_mirror_key: key, clinic_mirror_stamp: stamp }]) => ({
        id,
        lastname,
        email,
        key: key || undefined,
        stamp: stamp || undefined,
      }));
    expect(whole(live())).toEqual(whole(before));
    expect((await propose()).view).toMatchObject({ pairs: 1 });
    expect(await undo(decided)).toMatchObject({ done: 0, already: 1, refused: [] });
  });

  test('after the sync gives the contact back, and the next cycle makes another; a contact that is not of the file stays', async () => {
    const { propose, apply, undo, tenant, sandbox, ids } = await useWorld(
      { anna: { email: null, phone: '06 1234567' }, ugo: { phone: '06 7654321' } },
      { anna: { lastname: 'A', phone: '061234567' } },
    );
    const decided = decide((await propose()).file);
    await apply(decided);
    await cycle(tenant);
    expect(namesOf(sandbox)).toEqual(['Verdi anna', 'Verdi ugo']);
    expect(await undo(decided)).toMatchObject({ done: 1, refused: [] });
    await cycle(tenant);
    expect(namesOf(sandbox)).toEqual(['Verdi anna', 'Verdi anna', 'Verdi ugo']);
    expect((await tenant.links.read('contacts')).get('anna')?.remoteId).not.toBe(ids.anna);
    expect(sandbox.record('contacts', ids.anna ?? '')?.properties.clinic_mirror_key || null).toBeNull();
  });
});
