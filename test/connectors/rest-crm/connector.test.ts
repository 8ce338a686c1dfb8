import { describe, expect, onTestFinished, test } from 'vitest';
import { startFaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import { restCrm } from '../../../src/connectors/rest-crm/index.ts';
import type { CrmItem } from '../../../src/core/model/items.ts';
import { containerOf } from '../../support/container-of.ts';
import { contact, effectOf, signal } from './harness.ts';
import { openProfile, PROFILE_CASES } from './profiles.ts';

describe.each(PROFILE_CASES)('the profile $profile', (one) => {
  const named = (given: string, more: object = {}) => contact({ ...one.person, [one.given]: given, ...more });

  test('writes a contact that reads back with the same fingerprint, whatever its properties hold', async () => {
    const { target } = await openProfile(one);
    await containerOf(target.connector, null, signal());
    await target.written(target.create('p1', named('Anna')));
    const [listed] = await target.readAll();
    expect(listed?.item).toEqual(named('Anna'));
    expect(target.identity.fingerprint(listed?.item as CrmItem)).toBe(target.identity.fingerprint(named('Anna')));
    expect(target.identity.recordIdOf(listed?.sealedRecordId ?? '')).toBe('p1');
    expect(await target.find('p1', 'nobody')).toEqual([listed]);
  });

  test('empties every property, and reads it back empty', async () => {
    const { target } = await openProfile(one);
    const { remoteId } = await target.written(target.create('p1', named('Anna')));
    const last = one.properties[1]?.name ?? '';
    const empty = contact(Object.fromEntries(one.properties.map(({ name }) => [name, name === last ? 'Rossi' : null])));
    await target.written(target.update('p1', empty, remoteId));
    expect((await target.readAll())[0]?.item).toEqual(empty);
  });

  test('keeps a family of four with one e-mail address and number separate, next to the contact of a user', async () => {
    const { sandbox, target } = await openProfile(one);
    const byHand = { ...one.person, [one.given]: 'By hand' };
    sandbox.addByHand(one.kind, { ...byHand });
    const outcomes = await target.apply(
      ...['Anna', 'Bruno', 'Carla', 'Dino'].map((given) => target.create(given, named(given))),
    );
    expect(outcomes.map(effectOf)).toEqual(Array(4).fill('created'));
    expect(sandbox.records(one.kind)).toHaveLength(5);
    expect(sandbox.records(one.kind)[0]?.values).toMatchObject(byHand);
    const read = (await target.readAll()).map(({ item }) => [item?.properties[one.given], item?.properties[one.email]]);
    // Twenty refuses an e-mail address that another person has.
    const address = one.dialect === 'twenty' ? null : one.person[one.email];
    expect(read.sort()).toEqual(['Anna', 'Bruno', 'Carla', 'Dino'].map((given) => [given, address]));
  });

  test('lists the contacts that people made, stamps one by its id, and takes the stamp off', async () => {
    const { sandbox, target } = await openProfile(one);
    const { contacts } = target.connector;
    const byHand = sandbox.addByHand(one.kind, { ...one.person, [one.given]: 'By hand' });
    await target.written(target.create('p1', named('Anna', { [one.email]: null })));
    const [contact, ...more] = (await Array.fromAsync(contacts!.list(signal()))).flat();
    expect(more).toEqual([]);
    expect(contact).toMatchObject({ remoteId: String(byHand.id), isFree: true });
    expect(contact?.properties[one.given]).toBe('By hand');
    const { key } = target.create('p2', named('By hand'));
    const stamp = { remoteId: String(byHand.id), as: { key, sealedRecordId: target.identity.sealedRecordId('p2') } };
    expect(await contacts!.stamp([stamp], signal())).toEqual(new Map());
    const [found] = await target.find('p2');
    expect(found).toMatchObject({ remoteId: stamp.remoteId, key });
    expect(found?.item?.properties).toEqual(contact?.properties);
    expect(await contacts!.stamp([{ ...stamp, as: null }], signal())).toEqual(new Map());
    expect(await contacts!.read([stamp.remoteId], signal())).toEqual([contact]);
  });

  test.each(['lost-answer', 'cut-body'])('finds its object after a create that ended with %s', async (kind) => {
    const { sandbox, target } = await openProfile(one);
    sandbox.faults.add({ match: { method: 'POST', path: `/${one.kind}` }, times: 1, fault: { kind } });
    const create = target.create('p1', named('Anna'));
    expect((await target.apply(create))[0]).toMatchObject({
      result: 'failed',
      error: { code: 'connection-failed', ambiguous: true },
    });
    expect(effectOf((await target.apply(create))[0])).toBe('adopted');
    expect(sandbox.records(one.kind)).toHaveLength(1);
  });

  test('writes changes, and deletes only its own records', async () => {
    const { sandbox, target } = await openProfile(one);
    const { remoteId } = await target.written(target.create('p1', named('Anna')));
    expect((await target.written(target.update('p1', named('Anna Maria'), remoteId))).effect).toBe('updated');
    expect((await target.readAll())[0]?.item).toEqual(named('Anna Maria'));
    expect((await target.apply(target.remove('p1', remoteId))).map(effectOf)).toEqual(['deleted']);
    expect((await target.apply(target.remove('p1', remoteId))).map(effectOf)).toEqual(['already-gone']);
    expect(sandbox.records(one.kind)).toEqual([]);
  });

  test('fails only the record that the CRM refuses', async () => {
    const { target } = await openProfile(one);
    const last = one.properties[1]?.name ?? '';
    const outcomes = await target.apply(
      target.create('good', named('Anna')),
      // Twenty makes people without a name.
      target.create('bad', named('x'.repeat(300), one.dialect === 'twenty' ? {} : { [last]: null, [one.given]: null })),
      target.create('other', named('Bruno')),
    );
    const effects = new Map(outcomes.map((outcome) => [outcome.recordId, effectOf(outcome)]));
    expect(Object.fromEntries(effects)).toEqual({ good: 'created', bad: 'record-refused', other: 'created' });
  });

  test('writes a hundred contacts with the documented number of requests, and reads them in pages', async () => {
    const { sandbox, target } = await openProfile(one);
    const ids = Array.from({ length: 100 }, (_, index) => `p${index}`);
    const items = ids.map((id) => named(id, { [one.email]: `${id}@family.example` }));
    const outcomes = await target.apply(...ids.map((id, index) => target.create(id, items[index]!)));
    expect(outcomes.filter((outcome) => effectOf(outcome) === 'created')).toHaveLength(100);
    expect(sandbox.counts.requests()).toBe(one.requestsForHundred);
    expect(await target.readAll()).toHaveLength(100);
  });

  test('backs off for as long as the CRM asks, and reports a refused connection', async () => {
    const { sandbox, target, open } = await openProfile(one);
    sandbox.configure({ requestsPerMinute: 0 });
    await expect(target.apply(target.create('p1', named('Anna')))).rejects.toMatchObject({
      code: 'rate-limited',
      actor: 'remote',
      retryAfterMs: expect.any(Number),
    });
    sandbox.configure({ requestsPerMinute: 100 });
    const wrong = open({ authorizer: one.login('wrong') });
    await expect(wrong.apply(wrong.create('p1', named('Anna')))).rejects.toMatchObject({
      code: 'login-refused',
      actor: 'authorization',
    });
    expect(sandbox.records(one.kind)).toEqual([]);
  });
});

describe.each(PROFILE_CASES.filter(({ dialect }) => dialect !== 'dolibarr'))('the profile $profile', (one) => {
  test('names the properties that the CRM does not have, before anything is written', async () => {
    const { open } = await openProfile(one);
    const target = open({ properties: [...one.properties, { name: 'misspelt', kind: 'text' }] });
    await expect(containerOf(target.connector, null, signal())).rejects.toMatchObject({
      code: 'crm-property-missing',
      actor: 'settings',
      message: expect.stringContaining('misspelt'),
    });
  });
});

const START = Date.parse('2027-03-01T09:30:00Z');

describe('what belongs to a contact', () => {
  test.each([
    [
      'espocrm',
      'appointments',
      'Meeting',
      { name: 'Visit', assignedUserId: 'a1b2c3d4e5f6a7b8c' },
      (id: string) => ({ contactsIds: [id], dateStart: '2027-03-01 09:30:00' }),
    ],
    ['espocrm', 'invoices', 'Opportunity', { name: 'Invoice' }, (id: string) => ({ contactsIds: [id] })],
    ['twenty', 'invoices', 'opportunities', { name: 'Invoice' }, (id: string) => ({ pointOfContactId: id })],
    ['zoho', 'appointments', 'Events', { Event_Title: 'Visit' }, (id: string) => ({ Who_Id: { id } })],
    ['zoho', 'invoices', 'Deals', { Deal_Name: 'Invoice' }, (id: string) => ({ Contact_Name: { id } })],
  ] as const)(
    'in %s, %s are %s with the id of the contact, also after the contact was replaced',
    async (dialect, stream, kind, values, link) => {
      const one = PROFILE_CASES.find((candidate) => candidate.dialect === dialect)!;
      const { sandbox, target, open } = await openProfile(one);
      const anna = await target.written(target.create('p1', contact(one.person)));
      const bruno = await target.written(target.create('p2', contact({ ...one.person, [one.given]: 'Bruno' })));
      const visits = open({
        stream,
        target: 'visits',
        properties: Object.keys(values).map((name) => ({ name, kind: 'text' as const })),
      });
      await containerOf(visits.connector, null, signal());
      const visit = (patient: string): CrmItem => ({
        properties: values,
        contactKey: target.identity.key(patient, 0),
        startAt: START,
      });
      const outcomes = await visits.apply(visits.create('v1', visit('p1')), visits.create('v2', visit('nobody')));
      expect(Object.fromEntries(outcomes.map((outcome) => [outcome.recordId, effectOf(outcome)]))).toEqual({
        v1: 'created',
        v2: 'contact-missing',
      });
      expect(sandbox.records(kind).map((record) => record.values)).toMatchObject([link(anna.remoteId ?? '')]);
      expect((await visits.readAll()).map(({ item }) => item)).toEqual([visit('p1')]);
      await visits.written(visits.update('v1', visit('p2'), sandbox.records(kind)[0]?.id ?? null));
      expect(sandbox.records(kind)[0]?.values).toMatchObject(link(bruno.remoteId ?? ''));
    },
  );

  test('needs the stream in the description', async () => {
    const { open } = await openProfile(PROFILE_CASES.find(({ dialect }) => dialect === 'dolibarr')!);
    await expect(containerOf(open({ stream: 'invoices' }).connector, null, signal())).rejects.toMatchObject({
      code: 'stream-not-described',
    });
  });
});

describe('automations', () => {
  const zoho = PROFILE_CASES.find(({ dialect }) => dialect === 'zoho')!;

  test('run on what is written, and can be held for a first load', async () => {
    const { sandbox, target, open } = await openProfile(zoho);
    const [first, second] = ['Anna', 'Bruno'].map((name) => contact({ ...zoho.person, First_Name: name }));
    await target.written(target.create('p1', first!));
    expect(sandbox.automationsRun()).toBe(1);
    const held = open({ settings: { baseUrl: sandbox.apiUrl, profile: 'zoho-like', automations: 'suspended' } });
    const { remoteId } = await held.written(held.create('p2', second!));
    await held.written(held.update('p2', first!, remoteId));
    expect(sandbox.records('Contacts')).toHaveLength(2);
    expect(sandbox.automationsRun()).toBe(1);
  });

  test('can be held only where the description says how', () => {
    const settings = { baseUrl: 'https://crm.example/api/v1', profile: 'espocrm', automations: 'suspended' };
    expect(restCrm.settingsSchema.safeParse(settings).error?.issues).toMatchObject([
      { path: ['automations'], message: expect.stringContaining('description.automations') },
    ]);
  });
});

describe('a batch of rows', () => {
  const zoho = PROFILE_CASES.find(({ dialect }) => dialect === 'zoho')!;

  test('that is refused as a whole is halved until the faulty row is separate', async () => {
    const { sandbox, open } = await openProfile(zoho);
    const proxy = await startFaultProxy(sandbox.url);
    onTestFinished(() => proxy.close());
    const answer = { status: 400, headers: { 'content-type': 'application/json' }, body: '{"code":"INVALID_DATA"}' };
    proxy.add({ body: /Poison/, times: Number.POSITIVE_INFINITY, fault: { kind: 'answer', answer } });
    const baseUrl = sandbox.apiUrl.replace(sandbox.url, proxy.url);
    const target = open({ settings: { baseUrl, profile: 'zoho-like' } });
    const ids = Array.from({ length: 16 }, (_, index) => `p${index}`);
    const outcomes = await target.apply(
      ...ids.map((id) => target.create(id, contact({ ...zoho.person, First_Name: id === 'p11' ? 'Poison' : id }))),
    );
    expect(outcomes.filter((outcome) => effectOf(outcome) === 'created')).toHaveLength(15);
    expect(effectOf(outcomes.find(({ recordId }) => recordId === 'p11'))).toBe('record-refused');
    // One, and two for each time that sixteen can be halved.
    expect(proxy.requests).toHaveLength(9);
  });

  test('with one row missing in the answer is uncertain as a whole, and written once', async () => {
    const { sandbox, target } = await openProfile(zoho);
    const body = JSON.stringify({ data: [{ code: 'SUCCESS', status: 'success', details: { id: '1' } }] });
    sandbox.faults.add({ match: { path: '/upsert' }, times: 1, fault: { kind: 'garbage', body } });
    const creates = ['a', 'b'].map((id) => target.create(id, contact({ ...zoho.person, First_Name: id })));
    expect((await target.apply(...creates)).map(effectOf)).toEqual(['answer-missing', 'answer-missing']);
    expect((await target.apply(...creates)).map(effectOf)).toEqual(['created', 'created']);
    expect(sandbox.records('Contacts')).toHaveLength(2);
  });
});
