import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fromCsv } from '../../src/core/model/csv.ts';
import { useRedis } from '../support/redis.ts';
import { type CrmRecord, type CrmVendor, VENDORS, type VendorName } from './support/crm-vendors.ts';
import { type CrmWorld, startCrmWorld } from './support/crm-world.ts';

const redis = useRedis();
const PATIENTS = 20;

/**
 * A CRM that has eight of twenty patients: four by e-mail address, three by telephone, and one twice; and two contacts unknown to the
 * clinic.
 */
async function useUsedCrm(name: VendorName) {
  const world = await startCrmWorld({
    redisUrl: redis.url,
    vendors: [name],
    patients: PATIENTS,
    target: { firstRun: 'plan' },
  });
  onTestFinished(() => world.close());
  await world.logIn();
  const [vendor] = world.vendors as [CrmVendor];
  const clinicId = world.tenants[0]?.clinicId ?? '';
  const ids = [...world.clinic.patients(clinicId)].slice(0, 8).map(({ id }) => id);
  const contacts = ids.map((id, index) => {
    const [email, phone] = [`p${index}@example.org`, `+39 333 00000${index}${index}`];
    const patient = { firstName: 'Anna', lastName: `Neri ${index}`, email, phone };
    world.clinic.plant(clinicId, 'patients', id, patient);
    const asTyped = { firstName: 'A.', lastName: `NERI ${index}` };
    return vendor.addByHand(
      index < 4 ? { ...asTyped, email: email.toUpperCase() } : { ...asTyped, phone: phone.slice(4) },
    );
  });
  const twin = vendor.addByHand({ lastName: 'Neri of the shop', phone: '33300000 77' });
  const strangers = ['one', 'two'].map((who) =>
    vendor.addByHand({ lastName: 'Stranger', email: `${who}@shop.example` }),
  );
  return { world, vendor, contacts: contacts.slice(0, 7), ambiguous: [contacts[7] ?? '', twin], strangers };
}

/** Decisions of an operator in the file: `adopt` for every unambiguous pair. */
async function decide(file: string): Promise<string[][]> {
  const [headings = [], ...rows] = fromCsv(await readFile(file, 'utf8'));
  const at = (heading: string) => headings.indexOf(heading);
  const decided = rows.map((row) => row.with(at('decision'), row[at('ambiguous')] === '' ? 'Adopt ' : ''));
  // As a spreadsheet saves it in Italy.
  const text = [headings, ...decided].map((row) => row.map((cell) => `"${cell}"`).join(';')).join('\r\n');
  await writeFile(file, text);
  return rows.map((row) => [row[at('ambiguous')] ?? '', row[at('same')] ?? '']);
}

function byId(vendor: CrmVendor): Map<string, CrmRecord> {
  return new Map(vendor.records('patients').map((record) => [record.id, record]));
}

async function run(world: CrmWorld, ...args: string[]) {
  const { out, err, code } = await world.cli('match', 'clinic-1', ...args);
  return { out, err, code };
}

test.each(VENDORS)(
  'a %s that has eight of twenty patients is matched by an operator, without duplicates',
  async (name) => {
    const { world, vendor, contacts, ambiguous, strangers } = await useUsedCrm(name);
    const target = `${name}-contacts`;
    const before = byId(vendor);

    const plan = await world.cli('plan', 'clinic-1');
    expect(plan.out).toContain(
      '11 contacts in the CRM were not created by clinic-mirror, and 8 patients are similar to such a',
    );
    const file = join(world.configDir, 'matches.csv');
    const proposal = await run(world, target, '--out', file);
    expect(proposal.code, proposal.err).toBe(0);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(`${proposal.out}${proposal.err}`).not.toMatch(/Neri|NERI|@example|333/);
    expect(byId(vendor), 'nothing was touched').toEqual(before);

    const pairs = await decide(file);
    expect(
      pairs
        .filter(([several]) => several === '')
        .map(([, same]) => same)
        .sort(),
    ).toEqual([...Array<string>(4).fill('email'), ...Array<string>(3).fill('phone')]);
    expect(pairs.filter(([several]) => several !== '')).toEqual(
      Array<string[]>(2).fill(['2 contacts for this patient', 'phone']),
    );
    const applied = await run(world, target, '--apply', file);
    expect(applied.code, applied.err + applied.out).toBe(0);
    expect(applied.out).toContain('approved 7, 7 linked to patients');
    for (const [id, { values }] of byId(vendor)) expect(values, 'except for the mark').toEqual(before.get(id)?.values);
    expect((await run(world, target, '--apply', file)).out).toContain('unchanged 7');

    await world.cycle();
    const holds = await world.cli('holds', 'list');
    const hold = /^(\w+)\s.*first-run/m.exec(holds.out)?.[1] ?? '';
    expect((await world.cli('holds', 'approve', 'clinic-1', hold)).code).toBe(0);
    const { targets } = await world.cycle();
    expect(targets.map(({ sync }) => sync)).toEqual(['in-sync']);
    const after = byId(vendor);
    const ours = [...after.values()].filter(({ key }) => key !== null);
    expect(ours).toHaveLength(PATIENTS);
    expect(new Set(ours.map(({ key }) => key)).size, 'each patient once').toBe(PATIENTS);
    expect(after.size, 'and those that were left').toBe(PATIENTS + ambiguous.length + strangers.length);
    for (const [index, id] of contacts.entries()) {
      expect(after.get(id)?.values, 'updated in its place').toMatchObject({
        firstName: 'Anna',
        lastName: `Neri ${index}`,
      });
    }
    for (const id of [...ambiguous, ...strangers]) expect(after.get(id)).toEqual(before.get(id));
  },
);

test('an earlier refusal entered in the CRM stays when the contact is adopted, and is listed', async () => {
  const { world, vendor, contacts } = await useUsedCrm('rest-crm');
  await world.editTenant('clinic-1', ({ targets }) => {
    const contactsTarget = targets['rest-crm-contacts']!;
    contactsTarget.firstRun = 'apply';
    const mapping = contactsTarget.crm.mapping as Record<string, unknown>;
    mapping.Email_Opt_Out = { from: 'consents.marketing', values: { true: false, false: true } };
  });
  const [refusing = '', agreeing = ''] = contacts;
  vendor.editByHand('patients', refusing, 'Email_Opt_Out', 'true');
  const clinicId = world.tenants[0]?.clinicId ?? '';
  const ids = [...world.clinic.patients(clinicId)].slice(0, 2).map(({ id }) => id);
  const agree = (granted: boolean) => {
    const consents = { privacy: { granted, date: null }, marketing: { granted: true, date: null } };
    for (const id of ids) world.clinic.plant(clinicId, 'patients', id, { consents });
  };
  // The target is in use when the two are to be written for the first time.
  agree(false);
  expect((await world.cli('sync', 'clinic-1')).code).toBe(0);
  agree(true);
  const file = join(world.configDir, 'matches.csv');
  expect((await run(world, 'rest-crm-contacts', '--out', file)).code).toBe(0);
  await decide(file);
  expect((await run(world, 'rest-crm-contacts', '--apply', file)).code).toBe(0);
  for (let time = 0; time < 2; time += 1) {
    const sync = await world.cli('sync', 'clinic-1');
    expect(sync.code, sync.err + sync.out).toBe(0);
  }
  const optOut = (id: string) =>
    vendor.recorded().findLast(({ body }) => body.includes(byId(vendor).get(id)?.key ?? '-'))?.body ?? '';
  const rowOf = (id: string) => {
    const rows = (JSON.parse(optOut(id)) as { data: Record<string, unknown>[] }).data;
    return rows.find((row) => row.Clinic_Mirror_Key === byId(vendor).get(id)?.key);
  };
  expect(rowOf(refusing)).toMatchObject({ Email_Opt_Out: true });
  expect(rowOf(agreeing)).toMatchObject({ Email_Opt_Out: false });
  const health = await world.cli('health', 'clinic-1');
  expect(health.out).toContain('Opted out in the CRM (Email_Opt_Out)');
});
