import { describe, expect, test } from 'vitest';
import { asMatchable, contactDigest, unmatchedPatients } from '../../../src/operator/control/matching.ts';
import { patientOf } from '../../tenant/world.ts';

describe('a target whose contacts can be matched', () => {
  const targetWith = (changes: object = {}) =>
    ({ stream: 'patients', connector: { contacts: {} }, configuration: { crm: {} }, ...changes }) as never;

  test('holds patients, is a CRM, and can read its contacts', () => {
    expect(asMatchable(targetWith())).not.toBeNull();
    for (const lacking of [{ stream: 'invoices' }, { connector: {} }, { configuration: {} }])
      expect(asMatchable(targetWith(lacking))).toBeNull();
  });
});

describe('the patients without a contact', () => {
  const IDS = ['new', 'linked', 'excluded', 'forgotten', 'held', 'refused', 'waiting', 'deleting', 'changed'];
  const made = (recordId: string) => ({ recordId, reason: 'new', wanted: { want: 'present' } });
  const PLAN = {
    target: { id: 'crm' },
    permitted: [
      ...['new', 'linked', 'excluded', 'forgotten', 'unread'].map(made),
      { ...made('deleting'), wanted: { want: 'absent' } },
      { ...made('changed'), reason: 'changed' },
    ],
    held: { mass: [made('held')] },
    refused: [made('refused')],
    omittedRecords: new Map([['excluded', 'rule']]),
    abandoned: ['forgotten'],
  };

  function unmatched(cycle: object = {}) {
    const patients = { snapshot: { records: new Map(IDS.map((id) => [id, patientOf(id)])) } };
    const pending = new Map([
      ['waiting', { recordId: 'waiting', want: 'present' }],
      ['linked', { recordId: 'linked', want: 'present' }],
      ['deleting', { recordId: 'deleting', want: 'absent' }],
    ]);
    const tenant = { links: { read: async () => new Map([['linked', {}]]) }, outbox: { pending: async () => pending } };
    const all = { plans: [PLAN], uncertainty: null, reading: { streams: { patients } }, ...cycle };
    return unmatchedPatients(tenant as never, { id: 'crm' } as never, all as never);
  }

  test('are those whose contact is planned, held, impossible or waiting', async () => {
    expect([...(await unmatched()).keys()]).toEqual(['new', 'held', 'refused', 'waiting']);
  });

  test.each([
    ['no plan of the target', { plans: [] }],
    ['no reading of patients', { reading: { streams: {} } }],
    ['uncertainty on who was forgotten', { uncertainty: { code: 'state-lost', sinceAt: 0 } }],
  ])('are match-not-possible with %s', async (_, cycle) => {
    await expect(unmatched(cycle)).rejects.toMatchObject({ actor: 'settings', code: 'match-not-possible' });
  });
});

test('the digest of a contact covers all fields that a sync may overwrite, in any order', () => {
  const contact = { remoteId: '1', properties: { a: '1', b: '2' }, otherAddresses: ['x@y.org'] };
  const digest = contactDigest(contact as never);
  expect(contactDigest({ ...contact, properties: { b: '2', a: '1' } } as never)).toBe(digest);
  for (const changed of [{ properties: { a: '1', b: '3' } }, { properties: { a: '1' } }, { otherAddresses: [] }])
    expect(contactDigest({ ...contact, ...changed } as never)).not.toBe(digest);
});
