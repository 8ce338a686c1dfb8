import { describe, expect, test } from 'vitest';
import { toStamp } from '../../../src/connectors/owner.ts';
import type { OrgClient } from '../../../src/connectors/salesforce/client.ts';
import type { RecordForm } from '../../../src/connectors/salesforce/description.ts';
import { quoted, readPages, type Scope, selectIn, wholeResult } from '../../../src/connectors/salesforce/reading.ts';
import type { WireResponse } from '../../../src/connectors/wire.ts';

const MARK = 'salesforcemark00';
const AT = Date.UTC(2026, 5, 22, 8);
/** An id as Salesforce makes them, of 15 characters. */
const idOf = (name: string) => name.padStart(15, '0');
const PREFIX = '/services/data/v68.0';

/** An org that answers each query with the next of these bodies. */
function orgWith(...bodies: unknown[]) {
  const asked: string[] = [];
  const next = (path: string) => {
    asked.push(decodeURIComponent(path));
    return bodies.shift();
  };
  const client = {
    pathOf: (path: string) => `${PREFIX}${path}`,
    send: async ({ path }: { path: string }) => next(path),
    composite: async (_label: string, parts: { path: string }[]) =>
      parts.map(({ path }) => ({ status: 200, body: next(path) }) as WireResponse),
  };
  return { client: client as unknown as OrgClient, asked };
}

function scopeOf(client: OrgClient, changes: Partial<RecordForm> = {}): Scope {
  const form = {
    ...{ stream: 'appointments', object: 'Event', keyField: 'Key__c', stampField: 'Stamp__c', refusalFields: [] },
    ...{ properties: [], choices: new Map(), contact: null },
    ...changes,
  };
  return { client, form: form as unknown as RecordForm, ownerTag: MARK } as Scope;
}

const stamped = (id: string, startAt = AT, more: object = {}) => ({
  ...{ attributes: { type: 'Event' }, Id: idOf(id), Key__c: `key-${id}` },
  ...{ Stamp__c: toStamp(MARK, { sealedRecordId: 'sealed', contactKey: null, startAt }), ...more },
});
const pageOf = (records: object[], nextRecordsUrl?: string) => ({
  ...{ totalSize: records.length, done: nextRecordsUrl === undefined, records },
  ...(nextRecordsUrl === undefined ? {} : { nextRecordsUrl }),
});

async function idsOf(scope: Scope, window: Parameters<typeof readPages>[1] = null) {
  const pages: string[][] = [];
  for await (const items of readPages(scope, window))
    pages.push(items.map(({ remoteId }) => remoteId?.replace(/^0+/, '') ?? ''));
  return pages;
}

describe('a read of all records', () => {
  test('requests the records of the owner tag, follows the pages, and omits records without the tag', async () => {
    const { client, asked } = orgWith(
      pageOf([stamped('1'), { ...stamped('2'), Stamp__c: 'damaged' }], `${PREFIX}/query/01g-2000`),
      pageOf([stamped('3')]),
    );
    expect(await idsOf(scopeOf(client))).toEqual([['1'], ['3']]);
    expect(asked).toEqual([
      `${PREFIX}/query?q=SELECT Id, Key__c, Stamp__c FROM Event WHERE Stamp__c LIKE '${MARK}.%'`,
      `${PREFIX}/query/01g-2000`,
    ]);
  });

  test('takes activities by the time of their stamp, and contacts whenever', async () => {
    const records = () => pageOf([stamped('before', AT - 1_000), stamped('in'), stamped('end', AT + 5_000)]);
    const window = { fromAt: AT, toAt: AT + 5_000 };
    expect(await idsOf(scopeOf(orgWith(records()).client), window)).toEqual([['in']]);
    const contacts = scopeOf(orgWith(records()).client, { stream: 'patients' });
    expect(await idsOf(contacts, window)).toEqual([['before', 'in', 'end']]);
  });

  test.each([
    'https://elsewhere.example/services/data/v68.0/query/1',
    `${PREFIX}/sobjects/Contact`,
    `${PREFIX}/query/../sobjects`,
    `${PREFIX}/query/`,
  ])('follows no next page elsewhere: unexpected-answer for %s', async (next) => {
    const { client, asked } = orgWith(pageOf([stamped('1')], next));
    await expect(idsOf(scopeOf(client))).rejects.toMatchObject({ code: 'unexpected-answer' });
    expect(asked).toHaveLength(1);
  });

  test('learns the key of each contact once; one without a key has an empty one', async () => {
    const contact = { object: 'Contact', keyField: 'Key__c', field: 'WhoId', relationship: 'Who' };
    const { client, asked } = orgWith(
      pageOf([stamped('1', AT, { WhoId: idOf('c1') }), stamped('2', AT, { WhoId: idOf('c2') })], `${PREFIX}/query/2`),
      pageOf([
        { attributes: { type: 'Contact' }, Id: idOf('c1'), Key__c: 'anna' },
        { attributes: { type: 'Contact' }, Id: idOf('c2'), Key__c: null },
      ]),
      pageOf([stamped('3', AT, { WhoId: idOf('c1') }), stamped('4', AT, { WhoId: null })]),
    );
    const keys: (string | null | undefined)[] = [];
    for await (const items of readPages(scopeOf(client, { contact }), null))
      keys.push(...items.map(({ item }) => item?.contactKey));
    expect(keys).toEqual(['anna', '', 'anna', null]);
    expect(asked.filter((path) => path.includes('FROM Contact'))).toEqual([
      `/query?q=SELECT Id, Key__c FROM Contact WHERE Id IN ('${idOf('c1')}','${idOf('c2')}')`,
    ]);
  });
});

describe('a selection by values', () => {
  test('is cut into queries of 200 values', async () => {
    const { client, asked } = orgWith(pageOf([]), pageOf([stamped('1')]));
    const values = Array.from({ length: 201 }, (_, index) => `v${index}`);
    const found = await selectIn(client, {
      fields: ['Id'],
      object: 'Event',
      field: 'Key__c',
      where: 'IsDeleted = true',
      values,
    });
    expect(found.map(({ Id }) => Id)).toEqual([idOf('1')]);
    expect(asked[1]).toBe(`/query?q=SELECT Id FROM Event WHERE IsDeleted = true AND Key__c IN ('v200')`);
  });

  test.each([
    ['answer-missing', null],
    ['unexpected-answer', { status: 200, body: pageOf([], 'more') }],
    ['unexpected-answer', { status: 200, body: 'text' }],
    ['server-error', { status: 500, body: [] }],
  ])('with an incomplete result does not prove absence: %s', async (code, answer) => {
    await expect(wholeResult(answer as WireResponse | null)).rejects.toMatchObject({ code });
  });

  test('can not be left by a quote or a backslash in a value', () => {
    expect(quoted(`O'Hara \\' OR Id != '`)).toBe(`'O\\'Hara \\\\\\' OR Id != \\''`);
  });
});
