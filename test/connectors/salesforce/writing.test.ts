import { describe, expect, test } from 'vitest';
import type { SalesforceSandboxOptions } from '../../../sandbox/salesforce/index.ts';
import type { OrgClient, Part } from '../../../src/connectors/salesforce/client.ts';
import type { RecordForm } from '../../../src/connectors/salesforce/description.ts';
import { toRow } from '../../../src/connectors/salesforce/from-model.ts';
import { queryPart, type Scope, soqlOf, wholeRecord } from '../../../src/connectors/salesforce/reading.ts';
import type { RowResult } from '../../../src/connectors/salesforce/schemas.ts';
import { upsert } from '../../../src/connectors/salesforce/writing.ts';
import type { WireResponse } from '../../../src/connectors/wire.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { CrmItem, MappedProperty } from '../../../src/core/model/items.ts';
import type { Outcome, Write } from '../../../src/core/model/operations.ts';
import { describeOutcome, keyOf as keyAt, MARK, sealedRecordIdOf } from '../../contract/contract-kit.ts';
import { containerOf } from '../../support/container-of.ts';
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
  test('is set in an Individual of the contact; a patient with consent or without an answer gets none', async () => {
    const { sandbox, worker, individualOf } = await open();
    await containerOf(worker, null, signal());
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

  test('is never withdrawn by clinic-mirror, regardless of its author', async () => {
    const { worker, contactOf, individualOf } = await open();
    await apply(worker, create('a', item(false)));
    await apply(worker, update('a', item(true), contactOf('a')?.Id ?? ''));
    expect(individualOf('a')).toMatchObject({ HasOptedOutSolicit: true });
  });

  test('that is already stored costs two checks and no write', async () => {
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

  test('is deleted with the contact: an Individual created by clinic-mirror is deleted, one of a user remains', async () => {
    const { sandbox, worker, contactOf } = await open();
    await apply(worker, create('a', item(false)), create('b', item(true)));
    const theirs = sandbox.addByHand('Individual', { LastName: 'By hand' });
    sandbox.editByHand(contactOf('b')?.Id ?? '', { IndividualId: theirs.Id });
    await apply(worker, remove('a', contactOf('a')?.Id ?? ''), remove('b', contactOf('b')?.Id ?? ''));
    expect(await readAll(worker)).toEqual([]);
    expect(sandbox.records('Individual').map(({ Id }) => Id)).toEqual([theirs.Id]);
  });
});

describe('missing fields of the org or the mapping are reported before anything is written', () => {
  test.each<[string, SalesforceSandboxOptions, typeof RULES, RegExp]>([
    [
      'a key field',
      { ...OPTIONS, customFields: { ...OPTIONS.customFields, Individual: [] } },
      RULES,
      /Individual\.Clinic_Key__c does not exist/,
    ],
    [
      'a consent that is mapped',
      OPTIONS,
      [{ property: 'LastName', optOut: 'HasOptedOutSolicit' }],
      /the mapping does not fill LastName from a consent/,
    ],
  ])('%s', async (_, options, rules, message) => {
    const { worker } = await open(options, rules);
    await expect(containerOf(worker, null, signal())).rejects.toMatchObject({
      code: 'crm-setup-incomplete',
      message: expect.stringMatching(message),
    });
  });

  test('the right to see an opt-out', async () => {
    const { sandbox, worker } = await open();
    sandbox.setFieldAccess('Individual', 'HasOptedOutSolicit', 'hidden');
    await expect(containerOf(worker, null, signal())).rejects.toMatchObject({ code: 'crm-setup-incomplete' });
  });
});

test('an opt-out in Salesforce itself is reported with the contact, if no mapping fills the field', async () => {
  const { sandbox, worker, contactOf } = await open();
  await apply(worker, create('a', item(true)), create('b', item(true)));
  sandbox.editByHand(contactOf('a')?.Id ?? '', { HasOptedOutOfEmail: true, DoNotCall: true });
  const told = Object.fromEntries((await readAll(worker)).map(({ key, refuses }) => [key, refuses]));
  expect(told).toEqual({ [keyOf('a')]: ['HasOptedOutOfEmail', 'DoNotCall'], [keyOf('b')]: undefined });
});

describe('a wire that a test scripts', () => {
  const CONTACTS: RecordForm = {
    stream: 'patients',
    object: 'Contact',
    keyField: 'Clinic_Key__c',
    stampField: 'Clinic_Stamp__c',
    properties: [{ name: 'LastName', kind: 'text' }],
    contact: null,
    refusalFields: [],
    individuals: null,
    blanks: {},
    choices: new Map(),
    rules: new Map(),
    fieldNames: new Set(['LastName']),
  };

  const EVENTS: RecordForm = {
    ...CONTACTS,
    stream: 'appointments',
    object: 'Event',
    contact: { field: 'WhoId', relationship: 'Who', object: 'Contact', keyField: 'Clinic_Key__c' },
  };

  type Row = Record<string, unknown>;

  /** An org with the given answers. By default it accepts every row as new, and returns the row that was sent. */
  interface Org {
    /** The result of a row, by attempt. */
    row?: (recordId: string, tries: number) => Partial<RowResult>;
    /** The result of a collection, if not row by row. */
    collection?: (recordIds: string[]) => WireResponse | null | undefined;
    /** How a record is shown that was written. */
    shown?: (record: Row) => Row;
    readBack?: WireResponse | null;
    /** The result of a whole call, by its number. */
    call?: (number: number) => MirrorError | undefined;
    rows?: number;
    form?: RecordForm;
  }

  const NAMES = new Map<string, string>();

  function write(
    recordId: string,
    changes: Partial<CrmItem> = {},
    kind: Write<CrmItem>['kind'] = 'create',
  ): Write<CrmItem> {
    const key = keyAt(recordId);
    NAMES.set(key, recordId);
    const item = { properties: { LastName: recordId }, contactKey: null, startAt: 0, ...changes };
    const operation = { recordId, key, sealedRecordId: sealedRecordIdOf(recordId), item, revision: 1 };
    return kind === 'create' ? { kind, ...operation } : { kind, ...operation, versionTag: null, remoteId: null };
  }

  const writes = (count: number) =>
    Array.from({ length: count }, (_, index) => write(`r${String(index).padStart(3, '0')}`));

  const idOf = (recordId: string) => `003${keyAt(recordId).slice(0, 12)}`;

  const ok = (body: unknown): WireResponse => ({ status: 200, body, retryAfterMs: null });

  const refusal = (status: number, errorCode: string): WireResponse => ({
    status,
    body: [{ errorCode, message: 'x' }],
    retryAfterMs: null,
  });

  const failed = (statusCode: string, fields: string[] = []): Partial<RowResult> => ({
    success: false,
    errors: [{ statusCode, fields }],
  });

  /** Upserts on an org. `calls`: of each call its collections, by record ids. */
  async function run(org: Org, ...operations: Write<CrmItem>[]) {
    const calls: string[][][] = [];
    const parts: Part[][] = [];
    const tries = new Map<string, number>();
    const written = new Map<string, Row>();
    const { form = CONTACTS, rows = 200 } = org;

    function collection(records: Row[]): WireResponse | null {
      const ids = records.map((record) => NAMES.get(String(record[form.keyField])) ?? '');
      const whole = org.collection?.(ids);
      if (whole !== undefined) return whole;
      return ok(
        ids.map((id, index) => {
          tries.set(id, (tries.get(id) ?? 0) + 1);
          const result = {
            id: idOf(id),
            success: true,
            created: true,
            errors: [],
            ...org.row?.(id, tries.get(id) ?? 0),
          };
          if (result.success) written.set(id, { Id: idOf(id), ...(records[index] ?? {}) });
          return result;
        }),
      );
    }
    const client = {
      async composite(label: string, sent: readonly Part[]) {
        expect(label).toBe('salesforce.upsert');
        parts.push([...sent]);
        const collections = sent
          .filter(({ method }) => method === 'PATCH')
          .map(({ body }) => (body as { records: Row[] }).records);
        calls.push(
          collections.map((records) => records.map((record) => NAMES.get(String(record[form.keyField])) ?? '')),
        );
        const error = org.call?.(calls.length);
        if (error !== undefined) throw error;
        return sent.map((part, index) => {
          if (part.method === 'PATCH') return collection((part.body as { records: Row[] }).records);
          if (org.readBack !== undefined) return org.readBack;
          const asked = calls.at(-1)?.[(index - 1) / 2] ?? [];
          const records = asked.map((id) => written.get(id)).filter((record) => record !== undefined);
          return ok({ done: true, records: records.map((record) => org.shown?.(record) ?? record) });
        });
      },
    } as Partial<OrgClient> as OrgClient;
    const scope: Scope = {
      client,
      form,
      ownerTag: MARK,
      pace: { rows },
      allowDuplicates: false,
      emptiesBin: false,
      log: silentLogger,
    };
    const outcomes = await upsert(scope, operations);
    expect(outcomes.map(({ recordId }) => recordId).sort(), 'one outcome each').toEqual(
      operations.map(({ recordId }) => recordId).sort(),
    );
    const ends = new Map(outcomes.map((outcome) => [outcome.recordId, outcome]));
    const words = operations.map(({ recordId }) => describeOutcome(ends.get(recordId) as Outcome));
    return { calls, parts, outcomes, words, pace: scope.pace };
  }

  const errorOf = (outcome: Outcome<CrmItem> | undefined) => (outcome?.result === 'failed' ? outcome.error : null);

  describe('an upsert', () => {
    test('is a collection by key, which may fail row by row, and a query for the results', async () => {
      const [a, b] = [write('a'), write('b')];
      const { parts, calls } = await run({}, a, b);
      const [first, second] = calls[0]?.[0] ?? [];
      const sorted = [a, b].sort((one, other) => (one.key < other.key ? -1 : 1));
      expect([first, second]).toEqual(sorted.map(({ recordId }) => recordId));
      expect(parts).toEqual([
        [
          {
            method: 'PATCH',
            path: '/composite/sobjects/Contact/Clinic_Key__c',
            body: { allOrNone: false, records: sorted.map((each) => toRow(CONTACTS, MARK, each)) },
          },
          queryPart(
            soqlOf({ ...wholeRecord(CONTACTS), field: CONTACTS.keyField, values: sorted.map(({ key }) => key) }),
          ),
        ],
      ]);
    });

    test('of many records uses collections of 200, two to a call', async () => {
      const { calls, words } = await run({}, ...writes(450));
      expect(calls.map((collections) => collections.map(({ length }) => length))).toEqual([[200, 200], [50]]);
      expect(words).toEqual(Array(450).fill('written created'));
    });

    test('limits collections to one megabyte', async () => {
      const sized = (recordId: string, bytes: number) =>
        write(recordId, { properties: { LastName: 'x'.repeat(bytes) } });
      const lengths = async (...sizes: number[]) => {
        const { calls } = await run({}, ...sizes.map((bytes, index) => sized(`s${index}`, bytes)));
        return calls.flat().map(({ length }) => length);
      };
      expect(await lengths(500_000, 500_000)).toEqual([2]);
      expect(await lengths(530_000, 530_000)).toEqual([1, 1]);
      expect(await lengths(500_000, 500_000, 500_000, 500_000)).toEqual([2, 2]);
      expect(await lengths(2_000_000, 10, 10)).toHaveLength(2);
      const own = Buffer.byteLength(JSON.stringify(toRow(CONTACTS, MARK, sized('s0', 0))));
      const exactly = 512 * 1_024 - own;
      expect(await lengths(exactly, exactly)).toEqual([2]);
      expect(await lengths(exactly, exactly + 1)).toEqual([1, 1]);
    });

    test('keeps the rows of one contact together, those of none first', async () => {
      const [one, other] = [keyAt('one'), keyAt('other')].sort();
      const rows = ['a', 'b', 'c', 'd', 'e', 'f'].map((id, index) =>
        write(id, { contactKey: [one!, other!, null][index % 3]! }),
      );
      const { calls } = await run({ form: EVENTS }, ...rows);
      const contacts = (calls[0]?.[0] ?? []).map((id) => rows.find(({ recordId }) => recordId === id)?.item.contactKey);
      expect(contacts).toEqual([null, null, one, one, other, other]);
      const again = await run({ form: EVENTS }, ...rows.toReversed());
      expect(again.calls).toEqual(calls);
    });

    test('reports whether it created the record, by the expected state', async () => {
      const effects = async (kind: Write<CrmItem>['kind'], created: boolean | undefined) =>
        (await run({ row: () => ({ created }) }, write('a', {}, kind))).words;
      expect(await effects('create', true)).toEqual(['written created']);
      expect(await effects('create', false)).toEqual(['written adopted']);
      expect(await effects('update', true)).toEqual(['written recreated']);
      expect(await effects('update', false)).toEqual(['written updated']);
      expect(await effects('update', undefined)).toEqual(['written updated']);
    });
  });

  describe('what is stored', () => {
    const outcome = { recordId: 'a', result: 'written', effect: 'created', versionTag: null, remoteId: idOf('a') };

    test('is reported as the org shows it, with the intended contact', async () => {
      const contactKey = keyAt('c');
      const { outcomes } = await run(
        { form: EVENTS, shown: (record) => ({ ...record, LastName: 'Rossi' }) },
        write('a', { contactKey }),
      );
      const stored = { properties: { LastName: 'Rossi' }, contactKey, startAt: 0 };
      expect(outcomes).toEqual([{ ...outcome, stored }]);
      expect((await run({}, write('a'))).outcomes).toMatchObject([{ stored: { contactKey: null } }]);
    });

    test.each<[string, Org]>([
      ['the query lacks in the answer', { readBack: null }],
      ['the query is refused', { readBack: refusal(400, 'MALFORMED_QUERY') }],
      ['the query does not end', { readBack: ok({ done: false, records: [] }) }],
      ['the record is not shown', { readBack: ok({ done: true, records: [] }) }],
      ['the record carries another ownerTag by now', { shown: (record) => ({ ...record, Clinic_Stamp__c: 'x' }) }],
      ['the record can’t be read', { shown: (record) => ({ ...record, LastName: 7 }) }],
    ])('is not told where %s; it is written all the same', async (_, org) => {
      expect((await run(org, write('a'))).outcomes).toStrictEqual([outcome]);
    });
  });

  describe('a row that is refused', () => {
    test('fails separately, with the faulty field', async () => {
      const row = (id: string) => (id === 'b' ? failed('STRING_TOO_LONG', ['LastName', 'Secret']) : {});
      const { words, outcomes } = await run({ row }, write('a'), write('b'));
      expect(words[0]).toBe('written created');
      const error = outcomes.map(errorOf).find((one) => one !== null);
      expect(error).toMatchObject({ retry: 'never' });
      expect(error?.message).toContain('LastName');
      expect(error?.message).not.toContain('Secret');
    });

    test('for an absent contact is reported; a row without a contact was refused for another reason', async () => {
      const org = { form: EVENTS, row: () => failed('INVALID_FIELD') };
      expect((await run(org, write('a', { contactKey: keyAt('c') }))).words).toEqual(['failed remote/contact-missing']);
      expect((await run(org, write('a'))).words[0]).not.toContain('contact-missing');
      const other = { form: EVENTS, row: () => failed('STRING_TOO_LONG') };
      expect((await run(other, write('a', { contactKey: keyAt('c') }))).words[0]).not.toContain('contact-missing');
    });

    test('by a success without an id may have been written', async () => {
      for (const id of [null, '']) {
        const { outcomes } = await run({ row: () => ({ id }) }, write('a'));
        expect(errorOf(outcomes[0])).toMatchObject({ code: 'unexpected-answer', ambiguous: true });
      }
    });

    test.each(['UNABLE_TO_LOCK_ROW', 'DUPLICATE_VALUE', 'ENTITY_IS_DELETED'])(
      'by a race (%s) is tried once more, after the others',
      async (code) => {
        const row = (id: string, tries: number) => (id === 'b' && tries === 1 ? failed(code) : {});
        const { words, calls } = await run({ row }, write('a'), write('b'), write('c'));
        expect(words).toEqual(Array(3).fill('written created'));
        expect(calls).toHaveLength(2);
        expect(calls[1]).toEqual([['b']]);
      },
    );

    test('by a race twice fails, and a key that stays in the bin is given up', async () => {
      const twice = await run({ row: () => failed('UNABLE_TO_LOCK_ROW') }, write('a'));
      expect(twice.calls).toHaveLength(2);
      expect(twice.words[0]).toMatch(/^failed/);
      expect((await run({ row: () => failed('ENTITY_IS_DELETED') }, write('a'))).words).toEqual(['key-burnt']);
      const named = await run({ row: () => failed('ENTITY_IS_DELETED', ['WhoId']) }, write('a'));
      expect(named.words[0]).toMatch(/^failed/);
    });

    test('for any other reason is not retried, nor is a row that was accepted with a warning', async () => {
      expect((await run({ row: () => failed('STRING_TOO_LONG') }, write('a'))).calls).toHaveLength(1);
      const warned = await run(
        { row: () => ({ errors: [{ statusCode: 'DUPLICATE_VALUE', fields: [] }] }) },
        write('a'),
      );
      expect([warned.calls.length, warned.words]).toEqual([1, ['written created']]);
    });

    test('by races in many collections is retried in collections of the same size', async () => {
      const row = (_: string, tries: number) => (tries === 1 ? failed('UNABLE_TO_LOCK_ROW') : {});
      const { calls, words } = await run({ row, rows: 2 }, ...writes(6));
      expect(calls.map((collections) => collections.map(({ length }) => length))).toEqual([[2, 2], [2], [2, 2], [2]]);
      expect(words).toEqual(Array(6).fill('written created'));
    });
  });

  describe('a collection that is refused', () => {
    test.each([400, 413])('by %i for one of its rows is halved until that row is separate', async (status) => {
      const all = writes(8);
      const collection = (ids: string[]) => (ids.includes('r003') ? refusal(status, 'JSON_PARSER_ERROR') : undefined);
      const { words, calls } = await run({ collection }, ...all);
      expect(words.filter((word) => word === 'written created')).toHaveLength(7);
      expect(words[3]).toMatch(/^failed/);
      expect(calls.flat().map(({ length }) => length)).toEqual([8, 4, 4, 2, 2, 1, 1]);
    });

    test('of an odd number is halved too, and nothing gets lost', async () => {
      const collection = (ids: string[]) => (ids.includes('r002') ? refusal(400, 'JSON_PARSER_ERROR') : undefined);
      const { words, calls } = await run({ collection }, ...writes(5));
      expect(words.map((word) => word === 'written created')).toEqual([true, true, false, true, true]);
      expect(calls[1]?.map(({ length }) => length)).toEqual([3, 2]);
    });

    test('for each of its rows is halved sixteen times at most', async () => {
      const { words, calls } = await run({ collection: () => refusal(400, 'JSON_PARSER_ERROR') }, ...writes(64));
      expect(calls.flat()).toHaveLength(1 + 2 * 16);
      expect(words.every((word) => word.startsWith('failed'))).toBe(true);
    });

    test('for another reason fails unchanged', async () => {
      const { words, calls } = await run({ collection: () => refusal(500, 'UNKNOWN_EXCEPTION') }, ...writes(4));
      expect(calls).toHaveLength(1);
      expect(words.every((word) => word.startsWith('failed'))).toBe(true);
    });

    test('because of the whole target ends the run: waiting collections are not sent', async () => {
      const collection = (ids: string[]) => (ids.includes('r000') ? refusal(403, 'REQUEST_LIMIT_EXCEEDED') : undefined);
      const one = writes(6).sort((a, b) => (a.key < b.key ? -1 : 1));
      const first = one.findIndex(({ recordId }) => recordId === 'r000');
      const { words, calls } = await run({ collection, rows: 1 }, ...one);
      expect(calls).toHaveLength(Math.floor(first / 2) + 1);
      const sent = new Set(calls.flat(2).filter((id) => id !== 'r000'));
      one.forEach(({ recordId }, index) => {
        expect(words[index]).toBe(sent.has(recordId) ? 'written created' : 'failed remote/api-limit-reached');
      });
      const bulk = await run({ collection: () => refusal(400, 'REQUEST_LIMIT_EXCEEDED') }, ...writes(4));
      expect(bulk.calls).toHaveLength(1);
    });

    test('whose answer is missing may have been written; the other one of the call is reported normally', async () => {
      const collection = (ids: string[]) => (ids.includes('a') ? null : undefined);
      const { words, outcomes } = await run({ collection, rows: 1 }, write('a'), write('b'));
      expect(words).toEqual(['failed remote/answer-missing', 'written created']);
      expect(outcomes.map(errorOf).find((one) => one !== null)).toMatchObject({ ambiguous: true });
    });

    test.each([
      ['one result too few', (ids: string[]) => ok(ids.slice(1).map(() => ({ id: 'x', success: true })))],
      ['no list of results', () => ok({ success: true })],
      ['results that are none', (ids: string[]) => ok(ids.map(() => 'yes'))],
    ])('with inconclusive rows, for %s, may have been written', async (_, collection) => {
      const { outcomes } = await run({ collection }, ...writes(3));
      for (const outcome of outcomes)
        expect(errorOf(outcome)).toMatchObject({ code: 'unexpected-answer', ambiguous: true });
    });
  });

  describe('a call that fails', () => {
    const away = (code: string) => new MirrorError('x', { actor: 'remote', code, retry: 'later', ambiguous: true });

    test('fails for all that were not settled: sent, waiting, or waiting for a second try', async () => {
      const error = away('connection-failed');
      const sorted = writes(5).sort((a, b) => (a.key < b.key ? -1 : 1));
      const raced = sorted[0]!.recordId;
      const { words, outcomes, calls } = await run(
        {
          rows: 1,
          call: (number) => (number === 2 ? error : undefined),
          row: (id) => (id === raced ? failed('UNABLE_TO_LOCK_ROW') : {}),
        },
        ...sorted,
      );
      expect(calls).toHaveLength(2);
      expect(words.map((word) => word.split(' ')[0])).toEqual(['failed', 'written', 'failed', 'failed', 'failed']);
      expect(outcomes.map(errorOf).filter((one) => one === error)).toHaveLength(4);
    });

    test('for its time is followed by collections half as large, down to ten rows', async () => {
      const paceAfter = async (rows: number, code = 'timeout') =>
        (await run({ rows, call: () => away(code) }, write('a'))).pace.rows;
      expect([await paceAfter(200), await paceAfter(25), await paceAfter(15), await paceAfter(10)]).toEqual([
        100, 13, 10, 10,
      ]);
      expect(await paceAfter(200, 'connection-failed')).toBe(200);
    });
  });
});
