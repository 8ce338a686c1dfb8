import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { type CachedPage, cachedStretches, type PageForm, pageOf } from '../../../src/clinic/read/list-page.ts';
import { ReceivedBytes } from '../../../src/core/http/received-bytes.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { MOST_VALUES } from '../../../src/core/model/json.ts';
import { atOnce } from '../../../src/core/model/pieces.ts';
import { mayBeMisread } from '../../support/misread-names.ts';

/** A mapped row: the row itself in a new object. */
type Mapped = { row: unknown };

const FORM: Omit<PageForm<Mapped>, 'map'> = {
  ...{ label: 'clinic.appointments.list', list: 'appointments', path: null, mostValues: MOST_VALUES },
  idOf: (row) => String((row as { id?: unknown } | null)?.id),
  isEmpty: () => false,
};
const NOTHING = cachedStretches<Mapped>([]);

function formOf(more: Partial<Omit<PageForm<Mapped>, 'map'>> = {}) {
  const map = vi.fn((row: unknown): Mapped => ({ row }));
  return { ...FORM, map, ...more };
}

function answerOf(text: string) {
  return { body: Buffer.from(text), headers: new Headers({ 'content-type': 'application/json' }) };
}

/** A list of a page, as clinics write them. */
function rowsOf(ids: readonly number[], changed?: number) {
  return ids.map((id) => ({ id: `appointment-${id}`, status: id === changed ? 'Cancelled' : 'Booked', notes: 'x' }));
}

/** Pages of 200 rows, and the results of reading them. */
function read(rows: readonly object[], form: ReturnType<typeof formOf>, known = NOTHING) {
  const starts = Array.from({ length: Math.ceil(rows.length / 200) }, (_, page) => page * 200);
  return starts.map((from) =>
    atOnce(pageOf(answerOf(JSON.stringify({ data: rows.slice(from, from + 200), total: rows.length })), form, known)),
  );
}

test('of pages that shifted, one row in ten at most is parsed and mapped again, and the others are the very same', () => {
  const ids = Array.from({ length: 2_000 }, (_, index) => index);
  const form = formOf();
  const before = read(rowsOf(ids), form);
  expect(form.map).toHaveBeenCalledTimes(2_000);
  // One row is inserted at the start, one removed, one changed.
  const shifted = rowsOf([5_000, ...ids.filter((id) => id !== 700)], 1_300);
  form.map.mockClear();
  const parse = vi.spyOn(JSON, 'parse');
  const after = read(shifted, form, cachedStretches(before));
  expect(form.map.mock.calls.length).toBeLessThan(200);
  const parsed = parse.mock.calls.reduce((sum, [text]) => sum + String(text).length, 0);
  expect(parsed).toBeLessThan(JSON.stringify(shifted).length / 10);
  expect(after.flatMap(({ rows }) => rows.map(({ row }) => row))).toEqual(shifted);
  const known = new Set(before.flatMap(({ rows }) => rows));
  expect(after.flatMap(({ rows }) => rows).filter((row) => known.has(row)).length).toBeGreaterThan(1_800);
});

test('any answer becomes the same page, whether or not its rows are compared by bytes', () => {
  const text = fc.oneof(fc.constantFrom('id', 'data', 'items', '"', '\\', 'rows are cut out here', '},{'), fc.string());
  const name = text.filter((one) => !mayBeMisread(one));
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'small' },
      text,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      tie('list'),
      tie('object'),
    ),
    list: fc.array(tie('any'), { maxLength: 3 }),
    object: fc.dictionary(name, tie('any'), { maxKeys: 4 }),
  }));
  const rows = fc.oneof(
    { weight: 4, arbitrary: fc.array(value.object, { maxLength: 12 }) },
    value.list as fc.Arbitrary<unknown[]>,
  );
  const answer = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(fc.constantFrom('data', 'items', 'other'), rows, value.object, fc.boolean()) },
    { weight: 1, arbitrary: fc.tuple(fc.constant(null), rows, value.object, fc.boolean()) },
  );
  const written = fc
    .tuple(
      answer,
      fc.constantFrom(0, 1, '\t'),
      fc.option(fc.tuple(fc.nat(), fc.constantFrom('', ',', '{', ']', ' ', '"')), { freq: 4 }),
    )
    .map(([[name, list, rest, isFirst], indent, fault]) => {
      const whole = name === null ? list : isFirst ? { [name]: list, ...rest } : { ...rest, [name]: list };
      const json = JSON.stringify(whole, null, indent);
      if (fault === null) return json;
      const at = fault[0] % json.length;
      return json.slice(0, at) + fault[1] + json.slice(at + 1);
    });
  const path = fc.constantFrom(null, 'data', '.', 'holder.data');
  const attempt = (work: () => CachedPage<Mapped>) => {
    try {
      const { body, rows, ids, ...rest } = work();
      return { body, rows, ids, page: { body, rows, ids, ...rest } };
    } catch (error) {
      if (!(error instanceof MirrorError)) throw error;
      return { error: error.code };
    }
  };
  // Of two faults in one answer, each way may find the other one first.
  const told = (one: ReturnType<typeof attempt>) => ('page' in one ? { ...one, page: null } : 'refused');
  fc.assert(
    fc.property(written, path, fc.boolean(), fc.constantFrom(MOST_VALUES, 20), (json, path, isNested, mostValues) => {
      const form = formOf({ path, mostValues });
      const answer = answerOf(isNested ? `{"holder":${json}}` : json);
      const whole = attempt(() => atOnce(pageOf(answer, form, null)));
      const cut = attempt(() => atOnce(pageOf(answer, form, NOTHING)));
      // Rows and the rest of the answer are parsed apart, each within the limit.
      const isOneTooLarge = 'error' in whole && whole.error === 'answer-too-large';
      if (!isOneTooLarge) expect(told(cut)).toEqual(told(whole));
      if (!('page' in cut) || cut.page === undefined) return;
      form.map.mockClear();
      const again = attempt(() => atOnce(pageOf(answer, form, cachedStretches([cut.page]))));
      expect(told(again)).toEqual(told(cut));
      if (cut.page.stretches.length > 0) expect(form.map).not.toHaveBeenCalled();
    }),
    { numRuns: 300 },
  );
});

test('a list that occurs twice is read as the JSON parser reads it', () => {
  for (const json of ['{"data":[{"id":1}],"data":[{"id":2}]}', '{"data":[{"id":1}],"data":[]}']) {
    const [cut, whole] = [NOTHING, null].map((known) => atOnce(pageOf(answerOf(json), formOf(), known)).rows);
    expect(cut).toEqual(whole);
  }
});

test.each(['', ',,', ';', ',null,', ',[],'])(
  'rows that "%s" parts are no list of objects, wherever it stands',
  (sign) => {
    const texts = rowsOf(Array.from({ length: 60 }, (_, id) => id)).map((row) => JSON.stringify(row));
    for (let at = 1; at < texts.length; at += 1) {
      const rows = `${texts.slice(0, at).join(',')}${sign}${texts.slice(at).join(',')}`;
      const [cut, whole] = [NOTHING, null].map((known) => {
        try {
          return atOnce(pageOf(answerOf(`{"data":[${rows}]}`), formOf(), known)).rows.length;
        } catch (error) {
          return (error as MirrorError).code;
        }
      });
      expect(cut).toBe(whole);
      expect(whole).toBe(sign === ',null,' || sign === ',[],' ? 61 : 'not-json');
    }
  },
);

test('a long page without cached rows is parsed in pieces, each with a share of the limit', () => {
  const rows = rowsOf(Array.from({ length: 20_000 }, (_, id) => id));
  const answer = answerOf(JSON.stringify({ data: rows }));
  const parse = vi.spyOn(JSON, 'parse');
  expect(atOnce(pageOf(answer, formOf(), null)).rows.map(({ row }) => row)).toEqual(rows);
  const longest = Math.max(...parse.mock.calls.map(([text]) => String(text).length));
  expect(longest).toBeLessThan(answer.body.length / 4);
  expect(() => atOnce(pageOf(answer, formOf({ mostValues: 60_000 }), null))).toThrow('60000');
});

test.each(['\uFEFF', '\n \n'])('a long list behind %j is parsed in pieces', (before) => {
  const rows = rowsOf(Array.from({ length: 20_000 }, (_, id) => id));
  const parse = vi.spyOn(JSON, 'parse');
  expect(atOnce(pageOf(answerOf(before + JSON.stringify(rows)), formOf(), null)).rows).toHaveLength(20_000);
  expect(Math.max(...parse.mock.calls.map(([text]) => String(text).length))).toBeLessThan(300_000);
});

test('a long text that cannot be split has a lower limit, and one that was cut off is no JSON', () => {
  const values = `{"data":[${Array(200_000).fill('1').join(',')}]}`;
  const failed = (text: string) => {
    try {
      return atOnce(pageOf(answerOf(text), formOf(), null)).rows.length;
    } catch (error) {
      return (error as MirrorError).code;
    }
  };
  expect(failed(values)).toBe('answer-too-large');
  expect(failed(`["${'x'.repeat(2_097_152)}"]`)).toBe('answer-too-large');
  expect(failed(values.slice(0, -2))).toBe('not-json');
  expect(failed(`{"data":[{"id":1},${'{"id":2},'.repeat(50_000)}{"id":3`)).toBe('not-json');
});

test('a body in parts is joined in pieces', () => {
  const text = JSON.stringify({ data: rowsOf([1, 2, 3]) });
  const { headers } = answerOf('');
  const chunks = [text.slice(0, 20), text.slice(20, 21), text.slice(21)].map((part) => Buffer.from(part));
  const parts = new ReceivedBytes(chunks);
  const body = Buffer.from('not read');
  expect(atOnce(pageOf({ headers, body, parts }, formOf(), null)).rows.map(({ row }) => row)).toEqual(
    rowsOf([1, 2, 3]),
  );
});

test('records within the elements of a list are read, and elements that miss a condition are none, cached or not', () => {
  const element = (id: number) => ({ kind: id % 3 === 0 ? 'note' : 'visit', inner: { id } });
  const path = 'entry[kind=visit].inner';
  const elements = (from: number) => Array.from({ length: 200 }, (_, at) => element(from + at));
  const visits = (from: number) =>
    elements(from).flatMap(({ kind, inner }) => (kind === 'visit' ? [{ row: inner }] : []));
  const form = formOf({ path });
  const pages = [0, 200].map((from) =>
    atOnce(pageOf(answerOf(JSON.stringify({ entry: elements(from) })), form, NOTHING)),
  );
  for (const [at, page] of pages.entries()) {
    expect(page.rows).toEqual(visits(200 * at));
    expect(page.ids).toEqual(page.rows.map(({ row }) => String((row as { id: number }).id)));
    expect(page.body).toEqual({ entry: [] });
  }
  form.map.mockClear();
  // All later rows moved down by seven.
  const shifted = atOnce(pageOf(answerOf(JSON.stringify({ entry: elements(7) })), form, cachedStretches(pages)));
  expect(shifted.rows).toEqual(visits(7));
  expect(form.map.mock.calls.length).toBeLessThan(40);
  const whole = atOnce(pageOf(answerOf(JSON.stringify({ entry: elements(7) })), formOf({ path }), null));
  expect(whole.rows).toEqual(visits(7));
  const bare = atOnce(pageOf(answerOf('{"entry":[{}]}'), formOf({ path: 'entry[].inner' }), null));
  expect(bare.rows).toEqual([{ row: undefined }]);
});

test.each<[string, string | null, boolean]>([
  ['{"type":"searchset","total":0}', 'entry[].resource', true],
  ['{"type":"searchset","entry":null}', 'entry[].resource', true],
  ['{"type":"searchset"}', null, true],
  ['{"type":"searchset"}', 'a.b', true],
  ['{"type":"batch"}', 'entry[].resource', false],
  ['{"type":"searchset","entry":{}}', 'entry[].resource', false],
  ['[]', 'entry[].resource', false],
])('%s without the list at %s is empty if the answer says so: %s', (text, path, isEmpty) => {
  const form = formOf({ path, isEmpty: ({ type }) => type === 'searchset' });
  const read = () => atOnce(pageOf(answerOf(text), form, null)).rows;
  if (isEmpty) expect(read()).toEqual([]);
  else expect(read).toThrow(/no list|not a list|list/);
});
