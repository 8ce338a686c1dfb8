import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CrmItem } from '../../../src/core/model/items.ts';
import type { Outcome } from '../../../src/core/model/operations.ts';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { crmForm } from '../../../src/domain/item-forms.ts';
import { createTargetIdentity } from '../../../src/engine/identity.ts';
import { containerOf } from '../../support/container-of.ts';
import {
  apply,
  create,
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

  test('never change a contact that a user created with the same name, address and phone', async () => {
    const { sandbox, open } = await openWorld();
    const { LastName, Email, Phone } = patient().properties;
    const byHand = sandbox.addByHand('Contact', { LastName, Email, Phone });
    const worker = open();
    const [created] = await apply(worker, create('a'));
    expect(inWords(await apply(worker, remove('a', idOf(created))))).toEqual(['a deleted']);
    expect(sandbox.records('Contact')).toEqual([byHand]);
  });

  test('whom 2,400 creates bring cost 6 API calls, read back included, and reading them all 2', async () => {
    const { sandbox, open } = await openWorld();
    const worker = open('patients', { properties: [{ name: 'LastName', kind: 'text' }] });
    await containerOf(worker, null, signal());
    expect(sandbox.counts.apiCalls).toBe(1);
    for (let start = 0; start < 2_400; start += 400) {
      const outcomes = await apply(worker, ...Array.from({ length: 400 }, (_, index) => create(`r${start + index}`)));
      expect(outcomes.every((outcome) => outcome.result === 'written' && outcome.effect === 'created')).toBe(true);
    }
    expect(sandbox.counts.apiCalls - 1).toBe(6);
    expect(await readAll(worker)).toHaveLength(2_400);
    expect(sandbox.counts.apiCalls - 7).toBe(2);
  });

  test('that the org stores in another format are reported as stored, so that no drift is found', async () => {
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
    expect(await containerOf(worker, null, signal())).toMatch(/\/Account$/);
    const item: CrmItem = {
      properties: { LastName: 'Rossi', PersonEmail: 'r@clinic.example' },
      contactKey: null,
      startAt: 0,
    };
    expect(inWords(await apply(worker, create('a', item)))).toEqual(['a created']);
    expect(sandbox.records('Account')).toMatchObject([{ IsPersonAccount: true, LastName: 'Rossi' }]);
    const events = open('appointments', { settings: { contactField: 'WhatId', contactObject: 'Account' } });
    await containerOf(events, null, signal());
    expect(inWords(await apply(events, create('v', visit(keyOf('a')))))).toEqual(['v created']);
    expect(sandbox.records('Event')).toMatchObject([{ WhatId: sandbox.records('Account')[0]!.Id }]);
  });
});

describe('appointments and invoices', () => {
  test('belong to their contact, and only a record whose contact is missing waits', async () => {
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

  test('that a user moved to another contact are read there, and moved back by the next update', async () => {
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

  test('a record found by key carries the owner tag', async () => {
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
