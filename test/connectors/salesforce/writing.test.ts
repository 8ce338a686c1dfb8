import { describe, expect, test } from 'vitest';
import type { SalesforceSandboxOptions } from '../../../sandbox/salesforce/index.ts';
import type { MappedProperty } from '../../../src/model/items.ts';
import {
  apply,
  create,
  FIELDS,
  failureOf,
  inWords,
  keyOf,
  openWorld,
  patient,
  readAll,
  remove,
  signal,
  update,
} from './support.ts';

const KEY = { name: 'Clinic_Key__c', type: 'string', length: 64, externalId: true, unique: true } as const;
const OPTIONS: SalesforceSandboxOptions = {
  customFields: {
    ...FIELDS,
    Individual: [KEY],
    Contact: [...(FIELDS.Contact ?? []), { name: 'Mails__c', type: 'boolean' }],
  },
};
const PROPERTIES: MappedProperty[] = [
  { name: 'LastName', kind: 'text' },
  { name: 'Mails__c', kind: 'boolean' },
  { name: 'Vip__c', kind: 'boolean' },
];
const RULES = [
  { property: 'Mails__c', optOut: 'HasOptedOutSolicit' },
  { property: 'Vip__c', optOut: 'HasOptedOutProfiling' },
];

async function open(options: SalesforceSandboxOptions = OPTIONS, rules = RULES) {
  const { sandbox, open: openWorker } = await openWorld(options);
  const worker = openWorker('patients', {
    properties: PROPERTIES,
    settings: { individuals: rules, allowDuplicates: true },
  });
  const contactOf = (recordId: string) =>
    sandbox.records('Contact').find(({ Clinic_Key__c }) => Clinic_Key__c === keyOf(recordId));
  const individualOf = (recordId: string) => {
    const id = contactOf(recordId)?.IndividualId ?? null;
    return id === null ? null : sandbox.records('Individual').find(({ Id }) => Id === id);
  };
  return { sandbox, worker, contactOf, individualOf };
}

const item = (mails: boolean | null, vip: boolean | null = null, LastName = 'Rossi') => {
  return { ...patient(), properties: { LastName, Mails__c: mails, Vip__c: vip } };
};

describe('a refusal of the clinic', () => {
  test('is ticked in an Individual of the contact, that refusal alone; who agrees or says nothing gets none', async () => {
    const { sandbox, worker, individualOf } = await open();
    await worker.prepare(null, signal());
    const outcomes = await apply(
      worker,
      create('refuses', item(false, true)),
      create('agrees', item(true, true)),
      create('silent', item(null)),
    );
    expect(inWords(outcomes)).toEqual(['agrees created', 'refuses created', 'silent created']);
    expect(individualOf('refuses')).toMatchObject({
      LastName: 'Rossi',
      HasOptedOutSolicit: true,
      HasOptedOutProfiling: false,
      Clinic_Key__c: keyOf('refuses'),
    });
    expect([individualOf('agrees'), individualOf('silent')]).toEqual([null, null]);
    expect(sandbox.records('Individual')).toHaveLength(1);
  });

  test('is ticked in the Individual that people gave the contact, and nothing else of it is touched', async () => {
    const { sandbox, worker, contactOf, individualOf } = await open();
    await apply(worker, create('a', item(true)));
    const theirs = sandbox.addByHand('Individual', { LastName: 'By hand', HasOptedOutTracking: true });
    sandbox.editByHand(contactOf('a')?.Id ?? '', { IndividualId: theirs.Id });
    await apply(worker, update('a', item(false), contactOf('a')?.Id ?? ''));
    expect(individualOf('a')).toMatchObject({
      ...{ Id: theirs.Id, LastName: 'By hand', Clinic_Key__c: null },
      ...{ HasOptedOutTracking: true, HasOptedOutSolicit: true },
    });
    expect(sandbox.records('Individual')).toHaveLength(1);
  });

  test('is never taken back by us, whoever ticked it', async () => {
    const { worker, contactOf, individualOf } = await open();
    await apply(worker, create('a', item(false)));
    await apply(worker, update('a', item(true), contactOf('a')?.Id ?? ''));
    expect(individualOf('a')).toMatchObject({ HasOptedOutSolicit: true });
  });

  test('that is noted already costs two looks and no write', async () => {
    const { sandbox, worker, contactOf } = await open();
    await apply(worker, create('a', item(false)));
    const [before] = sandbox.records('Individual');
    const calls = sandbox.counts.apiCalls;
    await apply(worker, update('a', item(false, null, 'Bianchi'), contactOf('a')?.Id ?? ''));
    expect(sandbox.counts.apiCalls - calls).toBe(3);
    expect(sandbox.records('Individual')).toEqual([before]);
  });

  test('that the org refuses fails its contact, which is written again, and is noted once', async () => {
    const { sandbox, worker, individualOf } = await open();
    sandbox.addValidationRule({ object: 'Individual', field: 'LastName', refuses: '.', message: 'no' });
    expect(failureOf(await apply(worker, create('a', item(false)))).code).toBe('opt-out-not-taken');
    sandbox.clearRules();
    const [again] = await apply(worker, create('a', item(false)));
    expect(again?.result).toBe('written');
    expect(individualOf('a')).toMatchObject({ HasOptedOutSolicit: true });
    expect(sandbox.records('Individual')).toHaveLength(1);
  });

  test('goes with the contact: an Individual of ours is deleted with it, one of people stays', async () => {
    const { sandbox, worker, contactOf } = await open();
    await apply(worker, create('a', item(false)), create('b', item(true)));
    const theirs = sandbox.addByHand('Individual', { LastName: 'By hand' });
    sandbox.editByHand(contactOf('b')?.Id ?? '', { IndividualId: theirs.Id });
    await apply(worker, remove('a', contactOf('a')?.Id ?? ''), remove('b', contactOf('b')?.Id ?? ''));
    expect(await readAll(worker)).toEqual([]);
    expect(sandbox.records('Individual').map(({ Id }) => Id)).toEqual([theirs.Id]);
  });
});

describe('what the org or the mapping lacks is named before anything is written', () => {
  test.each<[string, SalesforceSandboxOptions, typeof RULES, RegExp]>([
    [
      'a key field',
      { ...OPTIONS, customFields: { ...OPTIONS.customFields, Individual: [] } },
      RULES,
      /Individual\.Clinic_Key__c is not there/,
    ],
    [
      'a consent that is mapped',
      OPTIONS,
      [{ property: 'LastName', optOut: 'HasOptedOutSolicit' }],
      /the mapping fills no LastName from a consent/,
    ],
  ])('%s', async (_, options, rules, message) => {
    const { worker } = await open(options, rules);
    await expect(worker.prepare(null, signal())).rejects.toMatchObject({
      code: 'crm-setup-incomplete',
      message: expect.stringMatching(message),
    });
  });

  test('the right to see an opt-out', async () => {
    const { sandbox, worker } = await open();
    sandbox.setFieldAccess('Individual', 'HasOptedOutSolicit', 'hidden');
    await expect(worker.prepare(null, signal())).rejects.toMatchObject({ code: 'crm-setup-incomplete' });
  });
});

test('who opted out in Salesforce itself is told with the contact, where no mapping fills the field', async () => {
  const { sandbox, worker, contactOf } = await open();
  await apply(worker, create('a', item(true)), create('b', item(true)));
  sandbox.editByHand(contactOf('a')?.Id ?? '', { HasOptedOutOfEmail: true, DoNotCall: true });
  const told = Object.fromEntries((await readAll(worker)).map(({ key, refuses }) => [key, refuses]));
  expect(told).toEqual({ [keyOf('a')]: ['HasOptedOutOfEmail', 'DoNotCall'], [keyOf('b')]: undefined });
});
