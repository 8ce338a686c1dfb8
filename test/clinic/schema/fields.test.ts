import { describe, expect, test } from 'vitest';
import { choiceWords, field, fieldPaths, fullName } from '../../../src/clinic/schema/fields.ts';

const { id, instant, needed, choice, list, record, text } = field;
const LINE = { amount: text('amount'), kind: choice(['A', 'B'], 'kind') };
const SHAPE = {
  id: needed(id('id')),
  startAt: instant('start', 'begin'),
  state: choice(['Open', 'Closed'], 'status'),
  lines: list(LINE, 'rows'),
  owner: record({ name: text('name') }, 'owner'),
};

describe('the paths of fields', () => {
  const schema = fieldPaths(SHAPE);

  test('are the usual ones where a profile names none, those of nested rows too', () => {
    expect(schema.parse(undefined)).toEqual({
      id: ['id'],
      startAt: ['start', 'begin'],
      state: ['status'],
      lines: { at: ['rows'], fields: { amount: ['amount'], kind: ['kind'] } },
      owner: { at: ['owner'], fields: { name: ['name'] } },
    });
  });

  test('in a profile replace the defaults of that field only; an empty list means no value', () => {
    const paths = schema.parse({ startAt: [], lines: { fields: { amount: ['sum.value'] } } });
    expect(paths).toMatchObject({ id: ['id'], startAt: [] });
    expect(paths.lines).toEqual({ at: ['rows'], fields: { amount: ['sum.value'], kind: ['kind'] } });
  });

  test('for separate date and time are used only for times', () => {
    const apart = ['day + begin'];
    expect(schema.parse({ startAt: apart }).startAt).toEqual(apart);
    expect(schema.safeParse({ id: apart }).success).toBe(false);
    expect(schema.safeParse({ lines: { at: apart } }).success).toBe(false);
  });

  test('of a field that there is not are refused, in nested rows too, and so are more than ten', () => {
    expect(schema.safeParse({ nome: ['name'] }).success).toBe(false);
    expect(schema.safeParse({ owner: { fields: { nome: ['name'] } } }).success).toBe(false);
    const paths = Array.from({ length: 11 }, (_, index) => `p${index}`);
    expect(schema.safeParse({ id: paths }).success).toBe(false);
    expect(schema.safeParse({ id: paths.slice(1) }).success).toBe(true);
  });

  test('of one parse are no part of the next', () => {
    (schema.parse({}).startAt as string[]).push('changed');
    expect(schema.parse({}).startAt).toEqual(['start', 'begin']);
  });
});

describe('the words of choices', () => {
  const schema = choiceWords(SHAPE);

  test('default to the model’s words; null means that the clinic has none', () => {
    expect(schema.parse(undefined)).toEqual({ state: { Open: 'Open', Closed: 'Closed' } });
    expect(schema.parse({ state: { Open: null } })).toEqual({ state: { Open: null, Closed: 'Closed' } });
  });

  test.each([
    ['an unknown choice', { state: { Opened: 'aperto' } }],
    ['an empty word', { state: { Open: '' } }],
    ['a field that is no choice', { id: { Open: 'aperto' } }],
    ['a choice of nested rows', { lines: { A: 'a' } }],
  ])('are refused for %s', (_, words) => {
    expect(schema.safeParse(words).success).toBe(false);
  });
});

test('a name in one field needs its order; a comma parts it unless another separator is given', () => {
  expect(fullName.parse(undefined)).toBeNull();
  expect(fullName.parse({ path: 'name', order: 'family-first' })).toMatchObject({ separator: ',' });
  expect(fullName.safeParse({ path: 'name' }).success).toBe(false);
  expect(fullName.safeParse({ path: 'name', order: 'given-first', separator: '' }).success).toBe(false);
});
