import { describe, expect, test } from 'vitest';
import { keyOf } from '../../contract/contract-kit.ts';
import { DEALS, ours, run, update, write } from './scripted-account.ts';
import {
  CONTACT,
  contact,
  describeOutcome,
  failure,
  KEY,
  rejection,
  STAMP,
  startWorld,
  type Target,
  type World,
} from './support.ts';

const UPSERT = { method: 'POST', path: '/batch/upsert' };

async function withContacts(world: World, ...recordIds: string[]) {
  const target = await world.target();
  const outcomes = await target.write(...recordIds.map((id) => target.create(id, contact({ lastname: id }))));
  return { target, outcomes };
}

/** Upserts that were sent, refused ones too. */
function upserts({ sandbox }: World): number {
  const lines = sandbox.requests.snapshot().requests.filter(({ route }) => route.endsWith('/batch/upsert'));
  return lines.reduce((total, { count }) => total + count, 0);
}

function names({ sandbox }: World): (string | null | undefined)[] {
  return sandbox.records('contacts').map(({ properties }) => properties.lastname);
}

describe('an upsert', () => {
  test('creates a contact with the mapped values, the key and the stamp', async () => {
    const world = await startWorld();
    const { target, outcomes } = await withContacts(world, 'a');
    const record = world.record(target, 'contacts', 'a');
    expect(outcomes).toMatchObject([{ effect: 'created', remoteId: record?.id, versionTag: null }]);
    expect(record?.properties).toMatchObject({ firstname: 'Ada', lastname: 'a', [KEY]: target.identity.key('a', 0) });
    expect(record?.properties[STAMP]).toContain(target.identity.ownerTag);
    expect(record?.properties).not.toHaveProperty('email');
  });

  test('repeated after a lost answer ends as the same contact', async () => {
    const world = await startWorld();
    const target = await world.target();
    world.sandbox.faults.add({ match: UPSERT, times: 1, fault: { kind: 'lost-answer' } });
    const operation = target.create('a', contact());
    expect(await rejection(target.apply(operation))).toMatchObject({ ambiguous: true, retry: 'later' });
    expect((await target.apply(operation)).map(describeOutcome)).toEqual(['written adopted']);
    expect(world.sandbox.records('contacts')).toHaveLength(1);
  });

  test('updates existing contacts, clears empty properties, and returns the stored values', async () => {
    const world = await startWorld();
    const { target, outcomes } = await withContacts(world, 'a');
    const wanted = contact({ firstname: null, email: 'Ada@Example.ORG' });
    const [again] = await target.write(target.update('a', wanted, outcomes[0]!.remoteId));
    expect(again).toMatchObject({ effect: 'updated', remoteId: outcomes[0]!.remoteId });
    expect(again?.stored).toEqual(contact({ firstname: null, email: 'ada@example.org' }));
    expect(world.record(target, 'contacts', 'a')?.properties).not.toHaveProperty('firstname');
  });

  test('of a contact in the bin makes a new one, with the same key', async () => {
    const world = await startWorld();
    const { target, outcomes } = await withContacts(world, 'a');
    world.sandbox.archive('contacts', outcomes[0]!.remoteId!);
    const [again] = await target.write(target.update('a', contact(), outcomes[0]!.remoteId));
    expect(again?.effect).toBe('recreated');
    expect(again?.remoteId).not.toBe(outcomes[0]!.remoteId);
    expect(world.sandbox.records('contacts')).toHaveLength(1);
  });

  test('restores the key of a contact after its removal', async () => {
    const world = await startWorld();
    const { target, outcomes } = await withContacts(world, 'a');
    world.sandbox.edit('contacts', outcomes[0]!.remoteId!, { [KEY]: '' });
    const [again] = await target.write(target.update('a', contact({ lastname: 'New' }), outcomes[0]!.remoteId));
    expect(again).toMatchObject({ effect: 'updated', remoteId: outcomes[0]!.remoteId });
    expect(names(world)).toEqual(['New']);
  });

  test('of a contact that carries the stamp of another target leaves the contact', async () => {
    const world = await startWorld();
    const { target, outcomes } = await withContacts(world, 'a');
    world.sandbox.edit('contacts', outcomes[0]!.remoteId!, { [STAMP]: 'another0target00.x.0.' });
    const ends = await target.apply(target.update('a', contact({ lastname: 'New' }), outcomes[0]!.remoteId));
    expect(ends.map(describeOutcome)).toEqual(['key-burnt']);
    expect(names(world)).toEqual(['a']);
  });

  test('never searches, not even right after a write', async () => {
    const world = await startWorld({ searchLagMs: 3_600_000 });
    const { target } = await withContacts(world, 'a', 'b');
    const outcomes = await target.apply(target.create('a', contact()), target.update('b', contact()));
    expect(outcomes.map(describeOutcome)).toEqual(['written adopted', 'written updated']);
    expect(world.sandbox.records('contacts')).toHaveLength(2);
    expect(world.sandbox.counts.searches).toBe(0);
  });

  test.each([
    ['the newest version of the API', {}, '2026-09'],
    ['the version in the settings', { version: '2026-03' }, '2026-03'],
  ])('uses %s, and no other', async (_which, settings, version) => {
    const world = await startWorld();
    const contacts = await world.target({ settings });
    await contacts.write(contacts.create('a', contact()));
    for (const stream of ['appointments', 'invoices'] as const) {
      const target = await world.target({ stream, settings });
      const item = { properties: {}, contactKey: contacts.identity.key('a', 0), startAt: 0 };
      const [created] = await target.write(target.create('b', item));
      await target.write(target.update('b', { ...item, contactKey: null }, created!.remoteId));
      await target.readAll();
      await target.apply(target.remove('b', created!.remoteId));
    }
    const routes = world.sandbox.requests.snapshot().requests.map(({ route }) => route);
    expect(routes).toContain(`/crm/objects/${version}/:objectType/batch/upsert`);
    expect(routes.filter((route) => !route.includes(`/${version}`))).toEqual([]);
  });

  test('costs one request for a hundred contacts', async () => {
    const world = await startWorld();
    const target = await world.target();
    const before = world.sandbox.counts.httpRequests;
    for (let batch = 0; batch < 100; batch += 1) {
      const ids = Array.from({ length: 100 }, (_, index) => `${batch}-${index}`);
      await target.write(...ids.map((id) => target.create(id, contact())));
    }
    expect(world.sandbox.counts.rows('contacts', 'upsert')).toBe(10_000);
    expect(world.sandbox.counts.httpRequests - before).toBe(100);
  });
});

describe('rows of one batch', () => {
  test('fail separately, and the others are written', async () => {
    const world = await startWorld();
    const target = await world.target();
    const poison = target.identity.key('b', 0);
    world.sandbox.faults.add({ match: UPSERT, fault: { kind: 'poison-row', ids: [poison] } });
    const outcomes = await target.apply(...['a', 'b', 'c'].map((id) => target.create(id, contact({ lastname: id }))));
    expect(outcomes.map(describeOutcome)).toEqual([
      'written created',
      'failed property-value-refused',
      'written created',
    ]);
    expect(names(world).sort()).toEqual(['a', 'c']);
  });

  test('are matched by their keys, whatever their order', async () => {
    const world = await startWorld({ shuffleRows: true, seed: 5 });
    const ids = Array.from({ length: 30 }, (_, index) => `record-${index}`);
    const { target, outcomes } = await withContacts(world, ...ids);
    expect(outcomes.map(({ recordId }) => recordId)).toEqual(ids);
    for (const { recordId, remoteId, stored } of outcomes) {
      expect(world.record(target, 'contacts', recordId)?.id).toBe(remoteId);
      expect(stored?.properties.lastname).toBe(recordId);
    }
  });

  test('that the answer lacks are sent again later', async () => {
    const world = await startWorld();
    const target = await world.target();
    world.sandbox.faults.add({ match: UPSERT, times: 1, fault: { kind: 'missing-row' } });
    const operations = ['a', 'b'].map((id) => target.create(id, contact()));
    const words = (await target.apply(...operations)).map(describeOutcome);
    expect(words.sort()).toEqual(['failed answer-missing', 'written created']);
    await target.write(...operations);
    expect(world.sandbox.records('contacts')).toHaveLength(2);
  });

  test.each([1, 37, 100])('one of %i that spoils the whole batch is found by halving', async (size) => {
    const world = await startWorld({ rowErrors: 'never' });
    const target = await world.target();
    const ids = Array.from({ length: size }, (_, index) => `record-${index}`);
    const bad = ids[Math.floor(size / 3)]!;
    const poison = target.identity.key(bad, 0);
    world.sandbox.faults.add({ match: UPSERT, fault: { kind: 'poison-row', ids: [poison] } });
    const outcomes = await target.apply(...ids.map((id) => target.create(id, contact({ lastname: id }))));
    expect(outcomes.filter(({ result }) => result === 'failed').map(({ recordId }) => recordId)).toEqual([bad]);
    expect(world.sandbox.records('contacts')).toHaveLength(size - 1);
    expect(upserts(world)).toBeLessThanOrEqual(1 + 2 * Math.ceil(Math.log2(size)));
  });

  test('that are all refused cost no more than the allowance, and unchecked rows wait', async () => {
    const world = await startWorld({ rowErrors: 'never' });
    const target = await world.target();
    const ids = Array.from({ length: 100 }, (_, index) => `record-${index}`);
    const poison = ids.map((id) => target.identity.key(id, 0));
    world.sandbox.faults.add({ match: UPSERT, fault: { kind: 'poison-row', ids: poison } });
    const outcomes = await target.apply(...ids.map((id) => target.create(id, contact())));
    const codes = new Set(outcomes.map(describeOutcome));
    expect(codes).toEqual(new Set(['failed property-value-refused', 'failed batch-refused']));
    expect(upserts(world)).toBeLessThanOrEqual(45);
    expect(failure(outcomes.findLast(({ result }) => result === 'failed'))).toMatchObject({ retry: 'later' });
  });

  test('of one key are sent once, and the last counts', async () => {
    const world = await startWorld();
    const target = await world.target();
    const [first, second] = [target.create('a', contact({ lastname: 'Old' })), target.create('a', contact())];
    const outcomes = await target.apply(first, second, target.create('b', contact({ lastname: 'b' })));
    expect(outcomes.map(({ result }) => result)).toEqual(['written', 'written', 'written']);
    expect(names(world).sort()).toEqual(['Lind', 'b']);
    expect(world.sandbox.counts.rows('contacts', 'upsert')).toBe(2);
  });
});

describe('an e-mail address that belongs to another contact', () => {
  const family = (target: Target) =>
    ['mother', 'father', 'son', 'daughter'].map((id) =>
      target.create(id, contact({ firstname: id, email: 'family@example.org', phone: '+41791112233' })),
    );

  test.each(['traced', 'never'] as const)(
    'a family of four with one e-mail and phone are four contacts (row errors: %s)',
    async (rowErrors) => {
      const world = await startWorld({ rowErrors });
      const target = await world.target();
      const outcomes = await target.write(...family(target));
      const records = world.sandbox.records('contacts');
      expect(records.map(({ properties }) => properties.firstname).sort()).toEqual([
        'daughter',
        'father',
        'mother',
        'son',
      ]);
      expect(records.map(({ properties }) => properties.phone)).toEqual(Array(4).fill('+41791112233'));
      expect(records.filter(({ properties }) => properties.email === 'family@example.org')).toHaveLength(1);
      expect(outcomes.map(({ stored }) => stored?.properties.email).filter((email) => email === null)).toHaveLength(3);
    },
  );

  test.each([
    // Batches of six hundred; a family in two batches costs a check and a second upsert.
    ['created', 19],
    ['never', 19],
    // If errors identify their rows, no check is necessary.
    ['traced', 13],
  ] as const)('families cost the same number of calls for each format of row errors (%s)', async (rowErrors, most) => {
    const world = await startWorld({ rowErrors });
    const target = await world.target();
    const before = world.sandbox.counts.httpRequests;
    // The three members of each family are in different batches.
    const patients = Array.from({ length: 600 }, (_, index) =>
      target.create(`${index}`, contact({ lastname: `${index}`, email: `family${index % 200}@example.org` })),
    );
    for (let first = 0; first < patients.length; first += 100) {
      const outcomes = await target.apply(...patients.slice(first, first + 100));
      expect(new Set(outcomes.map(describeOutcome))).toEqual(new Set(['written created']));
    }
    expect(world.sandbox.counts.httpRequests - before).toBeLessThanOrEqual(most);
    const records = world.sandbox.records('contacts');
    expect(records).toHaveLength(600);
    expect(records.filter(({ properties }) => properties.email)).toHaveLength(200);
  });

  test.each(['traced', 'created', 'never'] as const)(
    'relatives in one batch are detected before the call, and the holder of the e-mail address keeps it (row errors: %s)',
    async (rowErrors) => {
      const world = await startWorld({ rowErrors });
      const target = await world.target();
      const [mother] = await target.write(...family(target).slice(0, 1));
      const before = world.sandbox.counts.httpRequests;
      const changed = contact({ firstname: 'mother', email: ' Family@Example.org', phone: '+41790000000' });
      const outcomes = await target.write(
        ...family(target).slice(1),
        target.update('mother', changed, mother!.remoteId),
      );
      // The check of stored contacts, and one upsert.
      expect(world.sandbox.counts.httpRequests - before).toBe(2);
      expect(world.sandbox.counts.failedRows('contacts')).toBe(0);
      const stored = Object.fromEntries(outcomes.map((one) => [one.recordId, one.stored?.properties.email]));
      expect(stored).toEqual({ father: null, son: null, daughter: null, mother: 'family@example.org' });
    },
  );

  test('what is read back is what the answer said is stored', async () => {
    const world = await startWorld();
    const target = await world.target();
    const outcomes = await target.write(...family(target));
    const echoes = outcomes.map(({ stored }) => target.identity.fingerprint(stored!));
    const found = (await target.readAll()).map(({ item }) => target.identity.fingerprint(item!));
    expect(found.sort()).toEqual(echoes.sort());
  });

  test('two contacts exchange their e-mail addresses in one call', async () => {
    const world = await startWorld();
    const target = await world.target();
    const emails = ['one@example.org', 'two@example.org'];
    await target.write(...['a', 'b'].map((id, index) => target.create(id, contact({ email: emails[index]! }))));
    const outcomes = await target.write(
      ...['a', 'b'].map((id, index) => target.update(id, contact({ email: emails[1 - index]! }))),
    );
    expect(outcomes.map(({ stored }) => stored?.properties.email)).toEqual(emails.toReversed());
    expect(outcomes.map(({ effect }) => effect)).toEqual(['updated', 'updated']);
    expect(world.record(target, 'contacts', 'a')?.properties.email).toBe(emails[1]);
  });

  test('a foreign contact with the same e-mail address remains unchanged', async () => {
    const world = await startWorld();
    const target = await world.target();
    const stranger = world.sandbox.add('contacts', { email: 'ada@example.org', firstname: 'Stranger' });
    world.sandbox.addEmail(stranger, 'second@example.org');
    const before = world.sandbox.record('contacts', stranger);
    const [first, second] = await target.write(
      target.create('a', contact({ email: 'ada@example.org' })),
      target.create('b', contact({ email: 'second@example.org' })),
    );
    expect([first?.stored?.properties.email, second?.stored?.properties.email]).toEqual([null, null]);
    expect(world.sandbox.record('contacts', stranger)).toEqual(before);
    expect(world.sandbox.records('contacts')).toHaveLength(3);
  });

  test('an e-mail address that was changed to a taken one removes the old one', async () => {
    const world = await startWorld();
    const target = await world.target();
    world.sandbox.add('contacts', { email: 'taken@example.org' });
    const [created] = await target.write(target.create('a', contact({ email: 'old@example.org' })));
    await target.write(target.update('a', contact({ email: 'taken@example.org' }), created!.remoteId));
    expect(world.record(target, 'contacts', 'a')?.properties).not.toHaveProperty('email');
  });

  test.each([
    ['is invalid', 'not an address'],
    ['was blocked by a permanent deletion', 'erased@example.org'],
  ])('a contact whose e-mail address %s is written without it', async (_why, email) => {
    const world = await startWorld();
    const target = await world.target();
    world.sandbox.erase(world.sandbox.add('contacts', { email: 'erased@example.org' }));
    const [outcome] = await target.write(target.create('a', contact({ email })));
    expect(outcome?.stored?.properties).toMatchObject({ firstname: 'Ada', email: null });
  });

  test('is not repeated in errors or in the log', async () => {
    const world = await startWorld();
    const lines: unknown[] = [];
    const line = (data: object, message: string) => lines.push(data, message);
    const log = { debug: line, info: line, warn: line, error: line, child: () => log };
    const properties = [...CONTACT, { name: 'lifecyclestage', kind: 'text' }] as const;
    const target = await world.target({ log, properties });
    world.sandbox.add('contacts', { email: 'ada@example.org' });
    const told = { email: 'ada@example.org', lifecyclestage: 'Secretstage', firstname: 'Secretname' };
    const [outcome] = await target.apply(target.create('a', contact(told)));
    expect(outcome).toMatchObject({ result: 'written', stored: { properties: { email: null, lifecyclestage: null } } });
    expect(JSON.stringify(lines)).toContain('lifecyclestage');
    expect(JSON.stringify(lines)).not.toMatch(/ada@|Secret/);
  });
});

describe('a contact that people merged', () => {
  test.each(['nothing', 'winner'] as const)('with a lead keeps our key, and is written on (%s)', async (mergedKeys) => {
    const world = await startWorld({ mergedKeys });
    const { target, outcomes } = await withContacts(world, 'a');
    const lead = world.sandbox.add('contacts', { email: 'lead@example.org' });
    const winner = world.sandbox.merge('contacts', lead, outcomes[0]!.remoteId!);
    const [again] = await target.write(target.update('a', contact({ lastname: 'New' }), outcomes[0]!.remoteId));
    expect(again).toMatchObject({ effect: 'updated', remoteId: winner });
    expect(names(world)).toEqual(['New']);
  });

  test.each([
    ['nothing', 'written recreated'],
    ['winner', 'key-burnt'],
  ] as const)(
    'of two merged patients, the data of one is never written into the contact of the other (%s)',
    async (mergedKeys, word) => {
      const world = await startWorld({ mergedKeys });
      const { target, outcomes } = await withContacts(world, 'a', 'b');
      const [a, b] = outcomes.map(({ remoteId }) => remoteId!);
      const winner = world.sandbox.merge('contacts', a!, b!);
      const before = world.sandbox.record('contacts', winner)?.properties;
      const update = target.update('b', contact({ lastname: 'b' }), b!);
      const [outcome] = await target.apply(update);
      expect(describeOutcome(outcome!)).toBe(word);
      if (word === 'key-burnt') await target.write(target.create('b', contact({ lastname: 'b' }), 1));
      expect(world.sandbox.record('contacts', winner)?.properties).toEqual(before);
      expect(names(world).sort()).toEqual(['a', 'b']);
      await target.write(target.update('a', contact({ lastname: 'a' }), winner));
      expect(names(world).sort()).toEqual(['a', 'b']);
    },
  );

  test('both patients in one batch come to a contact each', async () => {
    const world = await startWorld({ mergedKeys: 'winner' });
    const { target, outcomes } = await withContacts(world, 'a', 'b');
    const [a, b] = outcomes.map(({ remoteId }) => remoteId!);
    world.sandbox.merge('contacts', b!, a!);
    const ends = await target.apply(target.update('a', contact(), a!), target.update('b', contact(), b!));
    expect(ends.map(describeOutcome).sort()).toEqual(['key-burnt', 'written updated']);
  });
});

describe('what belongs to a contact', () => {
  const [one, other] = [ours('one', 'c1'), ours('other', 'c2')];
  const contacts = [one, other];
  const of = (recordId: string | null) => ({ contactKey: recordId === null ? null : keyOf(recordId) });

  test('is written and joined with it', async () => {
    const {
      calls,
      labels,
      words,
      of: end,
    } = await run(DEALS, { contacts }, write('a', {}, of('one')), write('b', {}, of(null)));
    expect(labels).toEqual(['objects.read', 'objects.upsert', 'associations.create']);
    expect(calls[2]?.body.inputs).toEqual([{ from: { id: 'new-0' }, to: { id: 'c1' } }]);
    expect(words).toEqual(['written created', 'written created']);
    expect(end('a')).toMatchObject({ stored: of('one') });
  });

  test('that has none is written without any look', async () => {
    expect((await run(DEALS, { contacts }, write('b', {}, of(null)))).labels).toEqual(['objects.upsert']);
  });

  test('whose stamp was removed is still written', async () => {
    const deals = [{ id: 'd1', values: { k: keyOf('a') } }];
    expect((await run(DEALS, { contacts, deals }, update('a', {}, 'd1', of('one')))).words).toEqual([
      'written updated',
    ]);
  });

  test('is separated from the previous contact even if the key had to be restored', async () => {
    const deals = [ours('a', 'd1', { k: '' }, of('one'))];
    const { calls, words } = await run(DEALS, { contacts, deals }, update('a', {}, 'd1', of('other')));
    const archived = calls.find(({ label }) => label === 'associations.archive');
    expect(archived?.body.inputs).toEqual([{ from: { id: 'd1' }, to: [{ id: 'c1' }] }]);
    expect(words).toEqual(['written updated']);
  });

  test('fails separately while its contact is absent', async () => {
    const { calls, words } = await run(DEALS, { contacts }, write('a', {}, of('nobody')), write('b', {}, of('other')));
    expect(words).toEqual(['failed remote/contact-missing', 'written created']);
    expect(calls.find(({ label }) => label === 'objects.upsert')?.body.inputs).toMatchObject([{ id: keyOf('b') }]);
  });

  test('fails if its contact disappears in the meantime, or the answer omits the association', async () => {
    const notJoined = { 'new-0': 'refused', 'new-1': 'silence' } as const;
    const { words } = await run(
      DEALS,
      { contacts, notJoined },
      write('a', {}, of('one')),
      write('b', {}, of('one')),
      write('c', {}, of('one')),
    );
    expect(words).toEqual(['failed remote/contact-missing', 'failed remote/answer-missing', 'written created']);
  });

  test('is separated from the previous contact before the stamp names the new one', async () => {
    const deals = [ours('a', 'd1', {}, of('one')), ours('b', 'd2', {}, of('other')), ours('c', 'd3')];
    const writes = [
      update('a', {}, 'd1', of('other')),
      update('b', {}, 'd2', of('other')),
      update('c', {}, 'd3', of('one')),
    ];
    const { calls, labels } = await run(DEALS, { contacts, deals }, ...writes);
    expect(labels).toEqual([
      'objects.read',
      'objects.read',
      'associations.archive',
      'objects.upsert',
      'associations.create',
    ]);
    expect(calls[2]?.body.inputs).toEqual([{ from: { id: 'd1' }, to: [{ id: 'c1' }] }]);
  });

  test('is separated also if it now has no contact; a deleted contact needs no separation', async () => {
    const deals = [ours('a', 'd1', {}, of('one')), ours('b', 'd2', {}, of('gone'))];
    const { calls, labels, words } = await run(
      DEALS,
      { contacts, deals },
      update('a', {}, 'd1', of(null)),
      update('b', {}, 'd2', of('one')),
    );
    expect(labels).toContain('associations.archive');
    expect(calls.find(({ label }) => label === 'associations.archive')?.body.inputs).toEqual([
      { from: { id: 'd1' }, to: [{ id: 'c1' }] },
    ]);
    expect(words).toEqual(['written updated', 'written updated']);
  });
});
