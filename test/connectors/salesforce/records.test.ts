import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CrmItem, MappedProperty } from '../../../src/model/items.ts';
import type { Operation, Outcome } from '../../../src/model/operations.ts';
import { DAY_MS } from '../../../src/model/time.ts';
import { createTargetIdentity, crmForm } from '../../../src/sync/identity.ts';
import {
  apply,
  create,
  FIELDS,
  failureOf,
  invoice,
  inWords,
  keyOf,
  openWorld,
  patient,
  readAll,
  remove,
  signal,
  update,
  visit,
} from './support.ts';

describe('patients', () => {
  test('of one family with one e-mail address and one phone are four contacts', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    const names = ['Anna', 'Bruno', 'Carla', 'Dario'];
    const shared = { Email: 'family@clinic.example', Phone: '+390550000000' };
    await apply(worker, ...names.map((name) => create(name, patient({ ...shared, LastName: name }))));
    await apply(worker, update('Carla', patient({ ...shared, LastName: 'Carla Maria' })));
    const contacts = sandbox.records('Contact');
    expect(contacts.map(({ LastName }) => LastName).sort()).toEqual(['Anna', 'Bruno', 'Carla Maria', 'Dario']);
    expect(contacts.every(({ Email, Phone }) => Email === shared.Email && Phone === shared.Phone)).toBe(true);
  });

  test('never touch a contact that a person made with the same name, address and phone', async () => {
    const { sandbox, open } = await openWorld();
    const { LastName, Email, Phone } = patient().properties;
    const byHand = sandbox.addByHand('Contact', { LastName, Email, Phone });
    const worker = open();
    const [created] = await apply(worker, create('a'));
    expect(inWords(await apply(worker, remove('a', idOf(created))))).toEqual(['a deleted']);
    expect(sandbox.records('Contact')).toEqual([byHand]);
  });

  test('whom 10,000 creates bring cost 25 API calls, read back included, and reading them all 5', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open('patients', { properties: [{ name: 'LastName', kind: 'text' }] });
    await worker.prepare(null, signal());
    expect(sandbox.counts.apiCalls).toBe(1);
    for (let start = 0; start < 10_000; start += 400) {
      const outcomes = await apply(worker, ...Array.from({ length: 400 }, (_, index) => create(`r${start + index}`)));
      expect(outcomes.every((outcome) => outcome.result === 'written' && outcome.effect === 'created')).toBe(true);
    }
    expect(sandbox.counts.apiCalls - 1).toBe(25);
    expect(await readAll(worker)).toHaveLength(10_000);
    expect(sandbox.counts.apiCalls - 26).toBe(5);
  });

  test('that the org spells its own way are told as it stores them, so that nothing is found edited', async () => {
    const { open } = await openWorld();
    const worker = open();
    const odd = patient({
      LastName: '  De Luca ',
      Email: 'Anna@Clinic.Example',
      Phone: '',
      Vip__c: null,
      Next_Visit__c: '2027-03-10T08:00:00.789Z',
    });
    const [outcome] = await apply(worker, create('a', odd));
    const [read] = await readAll(worker);
    const stored = {
      LastName: 'De Luca',
      Email: 'anna@clinic.example',
      Phone: null,
      Vip__c: false,
      Next_Visit__c: '2027-03-10T08:00:00.000Z',
    };
    expect(storedOf(outcome)).toEqual(patient(stored));
    expect(read?.item).toEqual(storedOf(outcome));
  });

  test('in ordinary spelling have the same fingerprint when read back, of every kind of value', async () => {
    const { open } = await openWorld();
    const worker = open();
    const date = { min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true };
    const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }).filter((text) => text === text.trim());
    const patients = fc.record({
      LastName: name,
      Description: fc.option(name),
      Birthdate: fc.date(date).map((at) => at.toISOString().slice(0, 10)),
      Next_Visit__c: fc.date(date).map((at) => `${at.toISOString().slice(0, 19)}.000Z`),
      Score__c: fc.option(
        fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }).map((value) => value + 0),
      ),
      Vip__c: fc.boolean(),
    });
    const items = fc.sample(patients, 200).map((values) => patient(values));
    const outcomes = await apply(worker, ...items.map((item, index) => create(`r${index}`, item)));
    expect(outcomes.every(({ result }) => result === 'written')).toBe(true);
    const form = crmForm('patients', Object.keys(patient().properties));
    const identity = createTargetIdentity(new Uint8Array(32), 'tenant', 'target', form);
    const read = new Map((await readAll(worker)).map(({ key, item }) => [key, item]));
    items.forEach((item, index) => {
      expect(identity.fingerprint(read.get(keyOf(`r${index}`))!)).toBe(identity.fingerprint(item));
    });
  });

  test('can be accounts of one person', async () => {
    const { sandbox, open } = await openWorld({ personAccounts: true });
    const names = ['LastName', 'PersonEmail'] as const;
    const choice = {
      settings: { object: 'Account' },
      properties: names.map((name) => ({ name, kind: 'text' as const })),
    };
    const worker = open('patients', choice);
    expect(await worker.prepare(null, signal())).toMatch(/\/Account$/);
    const item: CrmItem = {
      properties: { LastName: 'Rossi', PersonEmail: 'r@clinic.example' },
      contactKey: null,
      startAt: 0,
    };
    expect(inWords(await apply(worker, create('a', item)))).toEqual(['a created']);
    expect(sandbox.records('Account')).toMatchObject([{ IsPersonAccount: true, LastName: 'Rossi' }]);
    const events = open('appointments', { settings: { contactField: 'WhatId', contactObject: 'Account' } });
    await events.prepare(null, signal());
    expect(inWords(await apply(events, create('v', visit(keyOf('a')))))).toEqual(['v created']);
    expect(sandbox.records('Event')).toMatchObject([{ WhatId: sandbox.records('Account')[0]!.Id }]);
  });
});

describe('appointments and invoices', () => {
  test('belong to their contact, and one whose contact is missing waits for it alone', async () => {
    const { sandbox, open } = await openWorld();
    const [contacts, events, deals] = [open(), open('appointments'), open('invoices')];
    await apply(contacts, create('p1'));
    const early = await apply(
      events,
      create('a', visit(keyOf('p1'))),
      create('b', visit(keyOf('p2'))),
      create('c', visit(null)),
    );
    expect(inWords(early)).toEqual(['a created', 'b contact-missing', 'c created']);
    expect(failureOf(early)).toMatchObject({ actor: 'remote', retry: 'later' });
    await apply(contacts, create('p2'));
    expect(inWords(await apply(events, create('b', visit(keyOf('p2')))))).toEqual(['b created']);
    expect(inWords(await apply(deals, create('i', invoice(keyOf('p2')))))).toEqual(['i created']);
    const ids = new Map(sandbox.records('Contact').map(({ Clinic_Key__c, Id }) => [Clinic_Key__c, Id]));
    const owners = sandbox.records('Event').map(({ Clinic_Key__c, WhoId }) => [Clinic_Key__c, WhoId] as const);
    expect(new Map(owners)).toEqual(
      new Map([
        [keyOf('a'), ids.get(keyOf('p1'))],
        [keyOf('b'), ids.get(keyOf('p2'))],
        [keyOf('c'), null],
      ]),
    );
    expect(sandbox.records('Opportunity')).toMatchObject([{ Contact__c: ids.get(keyOf('p2')), Amount: 80.5 }]);
    expect((await readAll(deals)).map(({ item }) => item)).toEqual([invoice(keyOf('p2'))]);
  });

  test('that a person gave to another contact are read so, and given back by the next update', async () => {
    const { sandbox, open } = await openWorld();
    const events = open('appointments');
    await apply(open(), create('p1'), create('p2'));
    const [created] = await apply(events, create('a', visit(keyOf('p1'))));
    const stranger = sandbox.addByHand('Contact', { LastName: 'Stranger' });
    const [, second] = sandbox.records('Contact');
    for (const [WhoId, contactKey] of [
      [second!.Id, keyOf('p2')],
      [stranger.Id, ''],
      [null, null],
    ] as const) {
      sandbox.editByHand(idOf(created)!, { WhoId });
      expect((await readAll(events))[0]?.item).toEqual(visit(contactKey));
    }
    await apply(events, update('a', visit(keyOf('p1'))));
    expect((await readAll(events))[0]?.item).toEqual(visit(keyOf('p1')));
  });

  test('are read by the time in their stamp, contacts whenever', async () => {
    const { open } = await openWorld();
    const [contacts, events] = [open(), open('appointments')];
    await apply(contacts, create('p1'));
    await apply(
      events,
      create('a', visit(null)),
      create('b', { ...visit(null), startAt: visit(null).startAt + DAY_MS }),
    );
    const { startAt } = visit(null);
    const query = { cursor: null, window: { fromAt: startAt, toAt: startAt + DAY_MS } };
    const found = await events.changes('container', query, signal());
    expect(found).toMatchObject({ scope: 'whole', cursor: null, removed: [], items: [{ key: keyOf('a') }] });
    expect((await contacts.changes('container', query, signal())).items).toHaveLength(1);
  });
});

describe('a deletion', () => {
  test('ends well whether the record is there, was deleted or never was, and takes nothing that is not ours', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    const outcomes = await apply(worker, create('a'), create('b'), create('c'), create('d'), create('f'));
    const id = (name: string) => idOf(outcomes.find(({ recordId }) => recordId === name));
    sandbox.deleteByHand(id('b')!);
    sandbox.editByHand(id('c')!, { Clinic_Stamp__c: 'anothertarget000.x.0.' });
    sandbox.editByHand(id('d')!, { Clinic_Key__c: null });
    sandbox.editByHand(id('f')!, { Clinic_Stamp__c: 'somebody typed here' });
    const before = sandbox.counts.apiCalls;
    const deletions = ['a', 'b', 'c', 'd', 'f'].map((name) => remove(name, id(name)));
    expect(inWords(await apply(worker, ...deletions, remove('e')))).toEqual([
      'a deleted',
      'b already-gone',
      'c already-gone',
      'd deleted',
      'e already-gone',
      'f deleted',
    ]);
    expect(sandbox.counts.apiCalls - before).toBe(2);
    expect(sandbox.records('Contact').map(({ Id }) => Id)).toEqual([id('c')]);
    expect(sandbox.records('Contact', { includeDeleted: true })).toHaveLength(5);
  });

  test('finds the record under its key when a person deleted the one that we knew', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    const [created] = await apply(worker, create('a'));
    sandbox.deleteByHand(idOf(created)!);
    expect(inWords(await apply(worker, update('a', patient(), idOf(created))))).toEqual(['a recreated']);
    expect(inWords(await apply(worker, { ...remove('a', idOf(created)), erase: true } as Operation<CrmItem>))).toEqual([
      'a deleted',
    ]);
    expect(sandbox.records('Contact')).toEqual([]);
  });

  test('of somebody who is to be forgotten leaves an empty record in the recycle bin; of others it stays as it was', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    const [a, b] = await apply(worker, create('a', patient({ Description: 'Text' })), create('b'));
    const erasure = { ...remove('a', idOf(a)), erase: true } as Operation<CrmItem>;
    expect(inWords(await apply(worker, erasure, remove('b', idOf(b))))).toEqual(['a deleted', 'b deleted']);
    const inBin = new Map(sandbox.records('Contact', { includeDeleted: true }).map((record) => [record.Id, record]));
    const { LastName, Email, Phone, Birthdate, Description, Score__c, Next_Visit__c, IsDeleted } = inBin.get(idOf(a)!)!;
    expect({ LastName, IsDeleted }).toEqual({ LastName: '–', IsDeleted: true });
    expect([Email, Phone, Birthdate, Description, Score__c, Next_Visit__c]).toEqual(Array(6).fill(null));
    expect(inBin.get(idOf(b)!)).toMatchObject({ LastName: 'Rossi', IsDeleted: true });
  });

  test('of somebody who is to be forgotten leaves nothing in the recycle bin where the settings want it, of before neither', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open('patients', { settings: { emptyBin: true } });
    const [a] = await apply(worker, create('a'));
    const [b] = await apply(worker, create('b'));
    await apply(worker, create('c'));
    const erase = (id: string, known: string | null = null) =>
      ({ ...remove(id, known), erase: true }) as Operation<CrmItem>;
    sandbox.deleteByHand(idOf(b)!);
    expect(inWords(await apply(worker, erase('a', idOf(a)), erase('b'), remove('c')))).toEqual([
      'a deleted',
      'b already-gone',
      'c deleted',
    ]);
    const left = sandbox.records('Contact', { includeDeleted: true });
    expect(left).toMatchObject([{ IsDeleted: true, LastName: 'Rossi' }]);
    expect(inWords(await apply(worker, erase('a', idOf(a)), erase('b')))).toEqual(['a already-gone', 'b already-gone']);
    expect(sandbox.records('Contact', { includeDeleted: true })).toHaveLength(1);
  });

  test('whose record stays in the recycle bin against the settings is named, and tried again', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open('patients', { settings: { emptyBin: true } });
    const [a] = await apply(worker, create('a'));
    const erasure = { ...remove('a', idOf(a)), erase: true } as Operation<CrmItem>;
    sandbox.configure({ keepsBin: true });
    for (const _ of [1, 2]) {
      const outcomes = await apply(worker, erasure);
      expect(failureOf(outcomes)).toMatchObject({ code: 'bin-not-emptied', actor: 'settings', retry: 'later' });
    }
    sandbox.configure({ keepsBin: false });
    expect(inWords(await apply(worker, erasure))).toEqual(['a already-gone']);
    expect(sandbox.records('Contact', { includeDeleted: true })).toEqual([]);
  });

  test('goes on where a rule of the org lets nobody empty a record', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    const [a] = await apply(worker, create('a'));
    sandbox.addValidationRule({ object: 'Contact', field: 'LastName', refuses: '–', message: 'no' });
    expect(inWords(await apply(worker, { ...remove('a', idOf(a)), erase: true } as Operation<CrmItem>))).toEqual([
      'a deleted',
    ]);
    expect(sandbox.records('Contact')).toEqual([]);
  });

  test('of more than one collection takes them all', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    await apply(worker, ...Array.from({ length: 250 }, (_, index) => create(`r${index}`)));
    const outcomes = await apply(worker, ...Array.from({ length: 250 }, (_, index) => remove(`r${index}`)));
    expect(outcomes.every((outcome) => outcome.result === 'deleted' && outcome.effect === 'deleted')).toBe(true);
    expect(sandbox.records('Contact')).toEqual([]);
  });

  test.each([
    ['UNABLE_TO_LOCK_ROW', 1, 'a deleted'],
    ['UNABLE_TO_LOCK_ROW', 2, 'a row-locked'],
    ['ENTITY_IS_DELETED', 1, 'a already-gone'],
    ['DELETE_FAILED', 1, 'a deletion-refused'],
  ])('that meets %s %d times ends as: %s', async (statusCode, times, words) => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    await apply(worker, create('a'));
    const row = { success: false, errors: [{ statusCode, message: 'Canary', fields: [] }] };
    const body = { compositeResponse: [{ referenceId: 'part0', httpStatusCode: 200, body: [row] }] };
    sandbox.faults.add({ after: 1, times, match: { method: 'POST' }, fault: { kind: 'status', status: 200, body } });
    expect(inWords(await apply(worker, remove('a')))).toEqual([words]);
  });
});

describe('what people do to contacts', () => {
  test('a merge keeps the master, and the loser is made again: the clinic has two patients', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open();
    const [master, loser] = await apply(
      worker,
      create('a', patient({ LastName: 'A' })),
      create('b', patient({ LastName: 'B' })),
    );
    const [one, other] = [idOf(master)!, idOf(loser)!];
    sandbox.merge(one, [other]);
    expect((await readAll(worker)).map(({ remoteId }) => remoteId)).toEqual([one]);
    const ofMaster = sandbox.records('Contact')[0]!.LastName === 'A' ? 'a' : 'b';
    const lost = ofMaster === 'a' ? 'b' : 'a';
    const updates = [update('a', patient({ LastName: 'A' }), one), update('b', patient({ LastName: 'B' }), other)];
    for (const effect of ['recreated', 'updated']) {
      const outcomes = await apply(worker, ...updates);
      expect(inWords(outcomes)).toContain(`${lost} ${effect}`);
      expect(inWords(outcomes)).toContain(`${ofMaster} updated`);
      expect(
        sandbox
          .records('Contact')
          .map(({ LastName }) => LastName)
          .sort(),
      ).toEqual(['A', 'B']);
    }
  });

  test('a key that the recycle bin holds on to is burnt, and the next epoch taken', async () => {
    const { sandbox, open } = await openWorld({ binKeepsKeys: true });
    const worker = open();
    const [created] = await apply(worker, create('a'));
    sandbox.deleteByHand(idOf(created)!);
    expect(inWords(await apply(worker, update('a'), create('b')))).toEqual(['a key-burnt', 'b created']);
  });

  test('what is found by key is what carries our owner tag', async () => {
    const { open } = await openWorld();
    const worker = open();
    await apply(worker, create('a'), create('b'));
    await apply(open('patients', { ownerTag: 'othermark0000000' }), create('theirs'));
    const found = await worker.find('container', [keyOf('a'), keyOf('theirs'), keyOf('nobody')], signal());
    expect(found).toMatchObject([{ key: keyOf('a'), sealedRecordId: 'sealed-a', item: patient() }]);
    expect((await readAll(worker)).map(({ key }) => key).sort()).toEqual([keyOf('a'), keyOf('b')].sort());
  });
});

function idOf(outcome: Outcome<CrmItem> | undefined): string | null {
  return outcome?.result === 'written' ? outcome.remoteId : null;
}

function storedOf(outcome: Outcome<CrmItem> | undefined): CrmItem | undefined {
  return outcome?.result === 'written' ? outcome.stored : undefined;
}

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
    await worker.prepare(null, signal());
    const item = (group: string) => ({ ...patient(), properties: { LastName: 'Rossi', Group__c: group } });
    const [outcome] = await apply(worker, create('a', item('new patient')));
    expect(sandbox.records('Contact')[0]?.Group__c).toBe('10');
    expect(storedOf(outcome)).toEqual(item('new patient'));
    expect((await readAll(worker))[0]?.item).toEqual(item('new patient'));
  });

  test('whose names the mapping does not know are named, with those that there are', async () => {
    const { open } = await openWorld({ customFields });
    const worker = open('patients', { properties: mapped(['Unknown']) });
    await expect(worker.prepare(null, signal())).rejects.toMatchObject({
      code: 'crm-setup-incomplete',
      message: expect.stringContaining('Contact.Group__c has no "Unknown"; there are New patient (10), Known (20)'),
    });
  });
});
