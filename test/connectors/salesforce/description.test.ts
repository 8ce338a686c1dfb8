import { describe, expect, test, vi } from 'vitest';
import { silentLogger } from '../../../src/core/log/logger.ts';
import type { CrmItem, MappedProperty } from '../../../src/core/model/items.ts';
import type { Outcome } from '../../../src/core/model/operations.ts';
import { containerOf } from '../../support/container-of.ts';
import { isMirrorError } from './expect.ts';
import { apply, create, FIELDS, openWorld, PROPERTIES, patient, readAll, signal } from './support.ts';

function storedOf(outcome: Outcome<CrmItem> | undefined): CrmItem | undefined {
  return outcome?.result === 'written' ? outcome.stored : undefined;
}

describe('before anything is written', () => {
  test('everything missing in the org is reported at once', async () => {
    const key = FIELDS.Contact![0]!;
    const { open, sandbox } = await openWorld({
      customFields: {
        Contact: [
          { ...key, externalId: false, length: 20 },
          { name: 'Clinic_Stamp__c', type: 'string', length: 80 },
        ],
      },
    });
    const properties = [
      { name: 'Birthdate', kind: 'text' },
      { name: 'Nowhere__c', kind: 'text' },
      { name: 'Name', kind: 'text' },
    ] as const;
    const words = [
      'External ID',
      'at least 32',
      'Clinic_Stamp__c must be text of at least 200',
      'Birthdate is date',
      'Nowhere__c',
      'Contact.Name must be editable',
    ];
    await expect(containerOf(open('patients', { properties }), null, signal())).rejects.toSatisfy(
      isMirrorError({ actor: 'settings', code: 'crm-setup-incomplete', retry: 'never', words }),
    );
    expect(sandbox.counts.apiCalls).toBe(1);
  });

  test.each([
    ['patients', { object: 'Patient__c' }, ['Patient__c']],
    ['appointments', { contactField: 'OwnerId' }, ['Event.OwnerId', 'Contact']],
    ['appointments', { contactKeyField: 'Other_Key__c' }, ['Contact.Other_Key__c']],
    ['invoices', { contactField: 'Nobody__c' }, ['Opportunity.Nobody__c']],
  ] as const)('a target of %s with %j is refused by name', async (stream, settings, words) => {
    const { open } = await openWorld();
    await expect(containerOf(open(stream, { settings }), null, signal())).rejects.toSatisfy(
      isMirrorError({ actor: 'settings', code: 'crm-setup-incomplete', words }),
    );
  });

  test('contacts without an account are reported as private', async () => {
    const { open, sandbox } = await openWorld();
    const log = { ...silentLogger, warn: vi.fn() };
    const account = sandbox.addByHand('Account', { Name: 'Patients' }).Id;
    const properties = [...PROPERTIES.patients, { name: 'AccountId', kind: 'text' }] as const;
    await containerOf(open('patients', { log, properties }), null, signal());
    expect(log.warn).not.toHaveBeenCalled();
    await containerOf(open('patients', { log }), null, signal());
    expect(log.warn).toHaveBeenCalledWith({ unmapped: 'AccountId' }, expect.stringContaining('map AccountId'));
    await apply(open(), create('alone'));
    await apply(open('patients', { properties }), create('shared', patient({ AccountId: account })));
    const seenBy = (as: string) => sandbox.records('Contact', { as }).map((record) => record.AccountId);
    expect(seenBy('doctor@clinic.example')).toEqual([account]);
    expect(seenBy('integration@clinic.example')).toEqual([null, account]);
  });

  test('one unreadable field of an object costs no other', async () => {
    const { open } = await openWorld({
      customFields: { Contact: [...FIELDS.Contact!, { name: 'Odd__c', type: 7 as never }] },
    });
    expect(await containerOf(open(), null, signal())).toMatch(/\/Contact$/);
  });

  test('a connection without a URL needs one in the settings', async () => {
    const { open, login, sandbox } = await openWorld();
    const { baseUrl: _, ...bare } = login;
    await expect(containerOf(open('patients', { login: bare }), null, signal())).rejects.toSatisfy(
      isMirrorError({ actor: 'authorization', code: 'instance-unknown' }),
    );
    const settled = open('patients', { login: bare, settings: { instanceUrl: `${sandbox.url}/` } });
    expect(await containerOf(settled, null, signal())).toMatch(/^00D\w{15}\/Contact$/);
  });
});

describe('picklists', () => {
  const values = ['10', '20'];
  const labels = { 10: 'New patient', 20: 'Known' };
  const field = { name: 'Group__c', type: 'picklist', values, labels, restricted: true } as const;
  const customFields = { ...FIELDS, Contact: [...(FIELDS.Contact ?? []), field] };
  const mapped = (words: string[]): MappedProperty[] => [
    { name: 'LastName', kind: 'text' },
    { name: 'Group__c', kind: 'text', words },
  ];

  test('take the names that people see, and are read back so', async () => {
    const { sandbox, open } = await openWorld({ customFields });
    const worker = open('patients', { properties: mapped(['new patient', '20']) });
    await containerOf(worker, null, signal());
    const item = (group: string) => ({ ...patient(), properties: { LastName: 'Rossi', Group__c: group } });
    const [outcome] = await apply(worker, create('a', item('new patient')));
    expect(sandbox.records('Contact')[0]?.Group__c).toBe('10');
    expect(storedOf(outcome)).toEqual(item('new patient'));
    expect((await readAll(worker))[0]?.item).toEqual(item('new patient'));
  });

  test('whose names the mapping does not know are listed, with the existing names', async () => {
    const { open } = await openWorld({ customFields });
    const worker = open('patients', { properties: mapped(['Unknown']) });
    await expect(containerOf(worker, null, signal())).rejects.toMatchObject({
      code: 'crm-setup-incomplete',
      message: expect.stringContaining('Contact.Group__c has no "Unknown"; available: New patient (10), Known (20)'),
    });
  });
});
