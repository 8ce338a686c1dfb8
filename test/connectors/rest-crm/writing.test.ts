import { describe, expect, test } from 'vitest';
import { toStamp } from '../../../src/connectors/owner.ts';
import type { CrmAnswer, CrmClient } from '../../../src/connectors/rest-crm/client.ts';
import { descriptionSchema } from '../../../src/connectors/rest-crm/description.ts';
import type { Scope } from '../../../src/connectors/rest-crm/from-model.ts';
import { type CrmRow, readRow } from '../../../src/connectors/rest-crm/from-model.ts';
import { carryOut } from '../../../src/connectors/rest-crm/writing.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { CrmItem } from '../../../src/core/model/items.ts';
import type { Operation } from '../../../src/core/model/operations.ts';
import { keyOf, MARK, sealedRecordIdOf } from '../../contract/contract-kit.ts';
import { contact, signal } from './harness.ts';

const KEY = keyOf('a');
const WANTED = contact({ name: 'New' });
const OLD = contact({ name: 'Old' });
const named = { recordId: 'a', key: KEY, revision: 1 };
const create = { kind: 'create', ...named, sealedRecordId: sealedRecordIdOf('a'), item: WANTED } as const;
const update = (remoteId: string | null = '7') => ({ ...create, kind: 'update', versionTag: 'v1', remoteId }) as const;
const remove = (remoteId: string | null = '7', erase = false) =>
  ({ kind: 'delete', ...named, versionTag: 'v1', remoteId, erase }) as const;

interface Choice {
  /** The CRM gives one record by its id. */
  reads?: boolean;
  /** It shows what it was given. */
  shows?: boolean;
  /** The CRM returns an id next to the record. */
  tellsId?: boolean;
  /** Its bin can be emptied. */
  erases?: boolean;
}

function resourceOf({ reads = true, shows = true, tellsId = false, erases = false }: Choice) {
  const body = { '...': '{{properties}}' };
  const one = (method: 'GET' | 'PUT' | 'DELETE') => ({ method, path: '/people/{{id}}', nothing: [404] });
  const row = shows ? { recordPath: 'record' } : {};
  const { streams } = descriptionSchema.parse({
    streams: {
      patients: {
        keyField: 'mirrorKey',
        stampField: 'mirrorStamp',
        row: { id: 'id', versionTag: 'etag' },
        find: { call: { method: 'GET', path: '/people', query: { key: '{{key}}' } }, listPath: 'records' },
        ...(reads ? { get: { call: one('GET'), recordPath: 'record' } } : {}),
        create: {
          call: { method: 'POST', path: '/people', body },
          ...row,
          ...(tellsId || !shows ? { id: 'newId' } : {}),
        },
        update: { call: { ...one('PUT'), body }, ...row },
        delete: { call: one('DELETE') },
        ...(erases ? { erase: { call: { method: 'DELETE', path: '/bin/{{id}}' } } } : {}),
        list: { call: { method: 'GET', path: '/people' }, listPath: 'records', paging: { style: 'none' } },
      },
    },
  });
  if (streams.patients === undefined) throw new Error('no resource');
  return streams.patients;
}

function scopeOf(choice: Choice, client: CrmClient): Scope {
  const resource = resourceOf(choice);
  const description = descriptionSchema.parse({ streams: {} });
  const properties = [{ name: 'name', kind: 'text' }] as const;
  return {
    client,
    description,
    resource,
    stream: 'patients',
    properties,
    codes: new Set(['name']),
    choices: new Map(),
    rules: new Map(),
    ownerTag: MARK,
    baseUrl: 'https://crm',
    log: silentLogger,
    signal: signal(),
  };
}

interface RecordChanges {
  id?: string | number;
  etag?: string;
  key?: string | null;
  ownerTag?: string | null;
  revision?: number;
  item?: CrmItem;
}

/** A managed record in the form of the CRM, with the content of the operations. */
function record({
  id = '7',
  etag = 'v7',
  key = KEY,
  ownerTag = MARK,
  revision = 1,
  item = WANTED,
}: RecordChanges = {}) {
  const stamp =
    ownerTag === null
      ? null
      : toStamp(ownerTag, { sealedRecordId: sealedRecordIdOf('a'), contactKey: null, startAt: 0, revision });
  return { id, etag, mirrorKey: key, mirrorStamp: stamp, ...item.properties };
}

const answer = (status: number, body?: unknown, isNothing = false): CrmAnswer => ({
  status,
  body,
  retryAfterMs: null,
  isNothing,
  headers: new Headers(),
});
const shown = (changes?: RecordChanges) => answer(200, { record: record(changes) });
const listed = (...changes: RecordChanges[]) => answer(200, { records: changes.map(record) });
const nothing = answer(404, undefined, true);
const done = answer(204, undefined, true);
const refused = new MirrorError('x', { actor: 'contract', code: 'record-refused', retry: 'never' });
const busy = new MirrorError('x', { actor: 'remote', code: 'server-error', retry: 'later' });

/** Carries out one operation on a CRM with these answers, in this order; each answer must be used, and no further request is allowed. */
async function carry(
  operation: Operation<CrmItem>,
  found: RecordChanges[],
  answers: (CrmAnswer | MirrorError)[],
  choice: Choice = {},
) {
  const calls: { label: string; values: Record<string, unknown> }[] = [];
  const client: CrmClient = {
    async send(label, _call, values) {
      const next = answers[calls.length];
      calls.push({ label: label.replace('rest-crm.', ''), values: { ...values } });
      if (next === undefined) throw new Error(`unexpected request ${label}`);
      if (next instanceof MirrorError) throw next;
      return next;
    },
    follow: () => Promise.reject(new Error('nothing is followed')),
  };
  const scope = scopeOf(choice, client);
  const rows = found.map((changes) => readRow(scope, scope.resource, record(changes)) as CrmRow);
  const outcome = await carryOut(scope, operation, rows, 'c1').catch((error: unknown) => {
    if (error instanceof MirrorError) return error;
    throw error;
  });
  expect(calls, 'as many calls as answers').toHaveLength(answers.length);
  const log = calls.map(({ label, values: { id, versionTag } }) =>
    [label, ...(id === undefined ? [] : [`${id}`]), ...(versionTag === undefined ? [] : [`if ${versionTag}`])].join(
      ' ',
    ),
  );
  return { log, calls, outcome };
}

const wrote = (effect: string, changes: object = {}) => ({
  recordId: 'a',
  result: 'written',
  effect,
  versionTag: 'v7',
  remoteId: '7',
  stored: WANTED,
  marks: 'kept',
  ...changes,
});
/** The outcome of a check: nothing was written, so `stored` is absent. */
const asItWas = (effect: string) => ({ recordId: 'a', result: 'written', effect, versionTag: 'v7', remoteId: '7' });
const deletion = (effect: 'deleted' | 'already-gone') => ({ recordId: 'a', result: 'deleted', effect });
const BURNT = { recordId: 'a', result: 'key-burnt' };
const STRANGER = { key: keyOf('b') };

describe('of several records with one key', () => {
  const copies = [{ id: '8', item: OLD }, { item: OLD }];

  test('none is chosen to be written where none is known', async () => {
    for (const operation of [create, update(null), update('6')]) {
      expect((await carry(operation, copies, [])).outcome).toMatchObject({ code: 'several-matches' });
    }
  });

  test('the known one is written, and the others stay', async () => {
    const { log, outcome } = await carry(update(), copies, [shown({ etag: 'v8' })]);
    expect([log, outcome]).toEqual([['update 7 if v7'], wrote('updated', { versionTag: 'v8' })]);
  });

  test('all are deleted, the known one last, so that an interrupted deletion is retried', async () => {
    const both = await carry(remove('7'), [{}, { id: '8' }], [done, done]);
    expect([both.log, both.outcome]).toEqual([['delete 8 if v7', 'delete 7 if v7'], deletion('deleted')]);
    expect(await carry(remove('7'), [{}, { id: '8' }], [busy])).toMatchObject({
      log: ['delete 8 if v7'],
      outcome: busy,
    });
    const forgotten = await carry(remove('7', true), copies, [done, done, done, done], { erases: true });
    expect(forgotten.log).toEqual(['delete 8 if v7', 'erase 8 if v7', 'delete 7 if v7', 'erase 7 if v7']);
  });

  test('one of another target is let be, and none goes that was written later', async () => {
    const foreign = { id: '8', ownerTag: 'anothermark00000' };
    expect((await carry(remove('7'), [foreign, {}], [done])).log).toEqual(['delete 7 if v7']);
    expect((await carry(remove('7'), [{}, { id: '8', revision: 2 }], [])).outcome).toMatchObject({
      result: 'superseded',
      revision: 2,
    });
  });
});

describe('a create', () => {
  test('without a record creates one, with key and stamp, and returns the stored values', async () => {
    const { log, calls, outcome } = await carry(create, [], [shown()]);
    expect(log).toEqual(['create']);
    const { properties } = calls[0]?.values ?? {};
    expect(properties).toEqual({ name: 'New', mirrorKey: KEY, mirrorStamp: record().mirrorStamp });
    expect(calls[0]?.values).toMatchObject({
      key: KEY,
      contactId: 'c1',
      fields: 'id,mirrorKey,mirrorStamp,name',
      keyField: 'mirrorKey',
    });
    expect(outcome).toEqual(wrote('created'));
  });

  test('adopts a record with its key, and writes only if the content differs', async () => {
    expect(await carry(create, [{}], [])).toMatchObject({ log: [], outcome: asItWas('adopted') });
    for (const changes of [{ item: OLD }, { revision: 0 }, { ownerTag: null }]) {
      const { log, calls, outcome } = await carry(create, [changes], [shown({ etag: 'v8' })]);
      expect(log).toEqual(['update 7 if v7']);
      expect(calls[0]?.values).toMatchObject({ contactId: 'c1', fields: 'id,mirrorKey,mirrorStamp,name' });
      expect(calls[0]?.values.properties).toMatchObject({ name: 'New' });
      expect(outcome).toEqual(wrote('adopted', { versionTag: 'v8' }));
    }
  });

  test('never touches a record of another target', async () => {
    expect((await carry(create, [{ ownerTag: 'anothermark00000' }], [])).outcome).toEqual(BURNT);
  });

  test('yields to a later write by clinic-mirror', async () => {
    const { outcome } = await carry(create, [{ revision: 2 }], []);
    expect(outcome).toMatchObject({ result: 'superseded', revision: 2, remote: { key: KEY, remoteId: '7' } });
  });

  test('takes the id from where the description says, as a number too', async () => {
    expect((await carry(create, [], [answer(201, { newId: 9 })], { shows: false })).outcome).toEqual({
      ...asItWas('created'),
      versionTag: null,
      remoteId: '9',
    });
    const both = answer(201, { newId: '7', record: record() });
    expect((await carry(create, [], [both], { tellsId: true })).outcome).toEqual(wrote('created'));
    for (const body of [{}, { record: { name: 'New' } }, { newId: '' }, undefined]) {
      for (const shows of [true, false]) {
        expect((await carry(create, [], [answer(201, body)], { shows })).outcome).toMatchObject({
          message: expect.stringMatching(/: id$/),
          code: 'unexpected-answer',
        });
      }
    }
  });

  test('takes for what is stored only the very record: its key and its id', async () => {
    const told = { ...asItWas('created'), versionTag: null };
    expect((await carry(create, [], [shown(STRANGER)])).outcome).toEqual(told);
    const other = answer(201, { newId: '7', record: record({ id: '8' }) });
    expect((await carry(create, [], [other], { tellsId: true })).outcome).toEqual(told);
  });

  test('that is refused adopts the record that another writer made meanwhile', async () => {
    const { log, outcome } = await carry(create, [], [refused, listed({})]);
    expect([log, outcome]).toEqual([['create', 'find'], asItWas('adopted')]);
    const changed = await carry(create, [], [refused, listed({ item: OLD }), shown()]);
    expect(changed.log).toEqual(['create', 'find', 'update 7 if v7']);
    expect(changed.outcome).toEqual(wrote('adopted'));
  });

  test('that is refused remains refused if the record is absent, ambiguous or foreign', async () => {
    for (const rows of [[], [{}, { id: '8' }], [{ ownerTag: 'anothermark00000' }]]) {
      expect((await carry(create, [], [refused, listed(...rows)])).outcome).toBe(refused);
    }
  });

  test('that fails otherwise looks no further', async () => {
    expect(await carry(create, [], [busy])).toMatchObject({ log: ['create'], outcome: busy });
  });
});

describe('an update', () => {
  test('of the record with its key writes under the tag that it has', async () => {
    const { log, outcome } = await carry(update(), [{ item: OLD }], [shown({ etag: 'v8' })]);
    expect([log, outcome]).toEqual([['update 7 if v7'], wrote('updated', { versionTag: 'v8' })]);
    expect((await carry(update(), [{}], [])).outcome).toEqual(asItWas('updated'));
    expect((await carry(update(), [{ ownerTag: 'anothermark00000' }], [])).outcome).toEqual(BURNT);
  });

  test('whose answer shows nothing reports no stored values', async () => {
    const { outcome } = await carry(update(), [{ item: OLD }], [done], { shows: false });
    expect(outcome).toEqual({ ...asItWas('updated'), versionTag: null });
  });

  test('whose answer omits the record is checked: written if the content matches', async () => {
    for (const unclear of [{}, [], { value: '7' }, { idle: '7' }]) {
      const { log, outcome } = await carry(update(), [{ item: OLD }], [answer(200, unclear), shown({ etag: 'v8' })]);
      expect([log, outcome]).toEqual([['update 7 if v7', 'get 7'], wrote('updated', { versionTag: 'v8' })]);
    }
    const told = await carry(update(), [{ item: OLD }], [answer(200, { details: { personId: 7 } })]);
    expect([told.log, told.outcome]).toMatchObject([['update 7 if v7'], { result: 'written' }]);
  });

  test.each<[what: string, found: CrmAnswer]>([
    ['is unchanged', shown({ item: OLD })],
    ['is gone', nothing],
    ['is another one under another key', shown(STRANGER)],
    ['is another one, unchanged, under another key', shown({ ...STRANGER, item: OLD })],
  ])('whose answer lacks the record was not done if the record %s', async (_, found) => {
    const { outcome } = await carry(update(), [{ item: OLD }], [answer(200, {}), found]);
    expect(outcome).toMatchObject({ code: 'unexpected-answer', retry: 'later', ambiguous: true });
  });

  test('whose answer omits the record is searched for by key if the CRM lacks reads by id', async () => {
    const unclear = answer(200, {});
    const carried = (found: CrmAnswer) => carry(update(), [{ item: OLD }], [unclear, found], { reads: false });
    const { log, calls, outcome } = await carried(listed({ etag: 'v8' }));
    expect([log, outcome]).toEqual([['update 7 if v7', 'find'], wrote('updated', { versionTag: 'v8' })]);
    expect(calls[1]?.values.key).toBe(KEY);
    expect((await carried(listed({ id: '9' }, { etag: 'v8' }))).outcome).toEqual(
      wrote('updated', { versionTag: 'v8' }),
    );
    for (const found of [listed(), listed({ id: '9' }), listed({ id: '9' }, { item: OLD })]) {
      expect((await carried(found)).outcome).toMatchObject({ code: 'unexpected-answer', ambiguous: true });
    }
  });

  test('of a record that goes between look and write makes it again', async () => {
    const { log, outcome } = await carry(update(), [{ item: OLD }], [nothing, shown({ id: '9' })]);
    expect([log, outcome]).toEqual([['update 7 if v7', 'create'], wrote('recreated', { remoteId: '9' })]);
    // A success without a body does not mean an absent record.
    expect((await carry(update(), [{ item: OLD }], [done])).log).toEqual(['update 7 if v7']);
  });

  test('of a record that the search omits checks its id, and restores its key', async () => {
    for (const changes of [{}, { ownerTag: null }]) {
      const { log } = await carry(update(), [], [shown({ ...changes, item: OLD }), shown()]);
      expect(log).toEqual(['get 7', 'update 7 if v7']);
    }
    const keyless = await carry(update(), [], [shown({ key: null }), shown()]);
    expect(keyless.log).toEqual(['get 7', 'update 7 if v7']);
    expect(keyless.outcome).toEqual(wrote('updated'));
  });

  test.each([
    ['another managed record', STRANGER],
    ['a record of another target', { ownerTag: 'anothermark00000' }],
    ['a record without key and stamp', { key: null, ownerTag: null }],
    ['a foreign record without a stamp', { ...STRANGER, ownerTag: null }],
  ])('whose id leads to %s leaves that record, and creates its own', async (_, changes) => {
    const { log, outcome } = await carry(update(), [], [shown(changes), shown({ id: '9' })]);
    expect([log, outcome]).toEqual([['get 7', 'create'], wrote('recreated', { remoteId: '9' })]);
  });

  test('of what is gone, or has no id, makes it again', async () => {
    expect((await carry(update(), [], [nothing, shown({ id: '9' })])).log).toEqual(['get 7', 'create']);
    const { log, outcome } = await carry(update(null), [], [shown({ id: '9' })]);
    expect([log, outcome]).toEqual([['create'], wrote('recreated', { remoteId: '9' })]);
  });

  test('without reads by id writes to the known id', async () => {
    const { log, outcome } = await carry(update(), [], [shown()], { reads: false });
    expect([log, outcome]).toEqual([['update 7 if v1'], wrote('updated')]);
    const gone = await carry(update(), [], [nothing, shown({ id: '9' })], { reads: false });
    expect([gone.log, gone.outcome]).toEqual([['update 7 if v1', 'create'], wrote('recreated', { remoteId: '9' })]);
    expect((await carry(update(null), [], [shown()], { reads: false })).log).toEqual(['create']);
    expect((await carry(create, [], [shown()], { reads: false })).log).toEqual(['create']);
  });
});

describe('a deletion', () => {
  test('of the record with its key is one call under the tag that it has', async () => {
    const { log, calls, outcome } = await carry(remove('6'), [{}], [done]);
    expect([log, outcome]).toEqual([['delete 7 if v7'], deletion('deleted')]);
    expect(calls[0]?.values).toEqual({ id: '7', key: KEY, versionTag: 'v7' });
  });

  test('is proved by an answer that names the record, or by true; otherwise by a check', async () => {
    for (const proof of [answer(200, true), answer(200, { data: [{ details: { id: 7 } }] })]) {
      expect(await carry(remove('6'), [{}], [proof])).toMatchObject({
        log: ['delete 7 if v7'],
        outcome: deletion('deleted'),
      });
    }
    const looked = await carry(remove('6'), [{}], [answer(200, {}), nothing]);
    expect([looked.log, looked.outcome]).toEqual([['delete 7 if v7', 'get 7'], deletion('deleted')]);
    for (const nothingProved of [{}, [], null, '7', { value: 7 }, { id: 8 }]) {
      const there = await carry(remove('6'), [{}], [answer(200, nothingProved), shown()]);
      expect(there.outcome).toMatchObject({ code: 'unexpected-answer', retry: 'later', ambiguous: true });
    }
  });

  test('of what is gone is done', async () => {
    expect((await carry(remove(), [{}], [nothing])).outcome).toEqual(deletion('already-gone'));
    expect(await carry(remove(), [], [nothing])).toMatchObject({ log: ['get 7'], outcome: deletion('already-gone') });
    expect(await carry(remove(null), [], [])).toMatchObject({ log: [], outcome: deletion('already-gone') });
  });

  test('that is refused has not happened', async () => {
    expect((await carry(remove(), [{}], [busy])).outcome).toBe(busy);
  });

  test('of a record that the search omits checks its id', async () => {
    for (const changes of [{}, { key: null }]) {
      expect((await carry(remove(), [], [shown(changes), done])).log).toEqual(['get 7', 'delete 7 if v7']);
    }
    for (const changes of [STRANGER, { ownerTag: 'anothermark00000' }, { key: null, ownerTag: null }]) {
      const { log, outcome } = await carry(remove(), [], [shown(changes)]);
      expect([log, outcome]).toEqual([['get 7'], deletion('already-gone')]);
    }
  });

  test('never touches a record of another target', async () => {
    expect((await carry(remove(), [{ ownerTag: 'anothermark00000' }], [])).outcome).toEqual(deletion('already-gone'));
  });

  test('without reads by id uses the known id and tag', async () => {
    expect((await carry(remove(), [], [done], { reads: false })).log).toEqual(['delete 7 if v1']);
  });

  test('yields to a later write by clinic-mirror', async () => {
    expect((await carry(remove(), [{ revision: 2 }], [])).outcome).toMatchObject({ result: 'superseded', revision: 2 });
  });

  test('of a patient who is to be forgotten empties the bin too, also of earlier deletions', async () => {
    const forget = remove('7', true);
    const { log, outcome } = await carry(forget, [{ revision: 2 }], [done, done], { erases: true });
    expect([log, outcome]).toEqual([['delete 7 if v7', 'erase 7 if v7'], deletion('deleted')]);
    const before = await carry(forget, [], [nothing, done], { erases: true });
    expect([before.log, before.outcome]).toEqual([['get 7', 'erase 7 if v1'], deletion('already-gone')]);
    expect((await carry(remove(null, true), [], [], { erases: true })).log).toEqual([]);
    // The bin is emptied only for an erasure, and only if the CRM has such a call.
    expect((await carry(remove(), [{}], [done], { erases: true })).log).toEqual(['delete 7 if v7']);
    expect((await carry(forget, [{}], [done])).log).toEqual(['delete 7 if v7']);
  });
});
