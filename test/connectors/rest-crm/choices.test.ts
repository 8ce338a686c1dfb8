import { describe, expect, test } from 'vitest';
import { restCrm } from '../../../src/connectors/rest-crm/index.ts';
import { settingsSchema } from '../../../src/connectors/rest-crm/schemas.ts';
import { containerOf } from '../../support/container-of.ts';
import { contact, signal } from './harness.ts';
import { openProfile, PROFILE_CASES } from './profiles.ts';

/** Two CRMs whose deals go through stages that people named. */
const CASES = [
  { profile: 'zoho-like', kind: 'Deals', name: 'Deal_Name', stage: 'Stage', seen: 'Paid', value: 'Closed Won' },
  { profile: 'twenty', kind: 'opportunities', name: 'name', stage: 'stage', seen: 'Customer', value: 'CUSTOMER' },
];

async function openDeals({ profile, name, stage }: (typeof CASES)[number], words: string[]) {
  const one = PROFILE_CASES.find((known) => known.profile === profile)!;
  const properties = [
    { name, kind: 'text' },
    { name: stage, kind: 'text', words },
  ] as const;
  return await openProfile(one, { stream: 'invoices', properties });
}

describe.each(CASES)('lists of $profile', (one) => {
  const { kind, name, stage, seen, value } = one;
  const deal = (word: string) => contact({ [name]: 'Invoice 7', [stage]: word });

  test('take the names that people see, whatever their case, and are read back so', async () => {
    const { sandbox, target, open } = await openDeals(one, [seen.toLowerCase()]);
    const { remoteId, stored } = await target.written(target.create('i7', deal(seen.toLowerCase())));
    expect(sandbox.records(kind)[0]?.values).toMatchObject({ [stage]: value });
    if (stored !== undefined) expect(stored.properties[stage]).toBe(seen.toLowerCase());
    const [read] = await open({}).readAll();
    expect(read).toMatchObject({ remoteId, item: deal(seen.toLowerCase()) });
  });

  test('also accept raw values', async () => {
    const { sandbox, target } = await openDeals(one, [value]);
    await target.written(target.create('i7', deal(value)));
    expect(sandbox.records(kind)[0]?.values).toMatchObject({ [stage]: value });
    expect((await target.readAll())[0]?.item).toEqual(deal(value));
  });

  test('list the existing names if the mapping names another, before anything is written', async () => {
    const { sandbox, target } = await openDeals(one, [seen, 'Lost']);
    const error = await containerOf(target.connector, null, signal()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'option-missing', actor: 'settings' });
    expect(String(error)).toContain(`${stage} has no "Lost"; available`);
    expect(String(error)).toContain(`${seen} (${value})`);
    expect(sandbox.records(kind)).toEqual([]);
  });
});

test('a described CRM erases the objects that the description does not keep', () => {
  const of = (profile: string, patients: object = {}) =>
    restCrm.erasesOf?.(
      settingsSchema.parse({
        baseUrl: 'https://crm.example.com/api',
        profile,
        description: { streams: { patients } },
      }),
    );
  expect(of('dolibarr')).toEqual(['patients']);
  expect(of('espocrm')).toEqual([]);
  expect(of('espocrm', { erase: { call: { method: 'DELETE', path: '/bin/{{id}}' } } })).toEqual(['patients']);
});
