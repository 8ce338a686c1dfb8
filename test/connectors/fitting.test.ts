import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  applyFitting,
  chooseOptions,
  fittedText,
  type PropertyRule,
  strangeWords,
} from '../../src/connectors/fitting.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import type { CrmItem, MappedProperty, PropertyValue } from '../../src/core/model/items.ts';
import type { Operation, Outcome } from '../../src/core/model/operations.ts';
import { render } from '../../src/messages/message.ts';

const TEXT = { kind: 'text' } as const;
const PROPERTIES: MappedProperty[] = [
  { ...TEXT, name: 'first', namePart: 'first' },
  { ...TEXT, name: 'last', namePart: 'last' },
  { ...TEXT, name: 'list' },
  { ...TEXT, name: 'other' },
  { ...TEXT, name: 'own', words: ['fixed'] },
];
const RULES = new Map<string, PropertyRule>([['last', { longest: 80, required: true }]]);

function create(recordId: string, properties: Record<string, PropertyValue>): Operation<CrmItem> {
  const item = { properties, contactKey: null, startAt: 0 };
  return { kind: 'create', recordId, key: recordId, sealedRecordId: recordId, item, revision: 1 };
}

/** A CRM that refuses what a rule names, one property at a time. */
function crm(refusedOf: (properties: Readonly<Record<string, PropertyValue>>) => string | null, batchSize = 100) {
  const calls: string[][] = [];
  const apply = async (operations: readonly Operation<CrmItem>[]) => {
    calls.push(operations.map(({ recordId }) => recordId));
    return operations.map((operation): Outcome<CrmItem> => {
      const { recordId } = operation;
      const name = operation.kind === 'delete' ? null : refusedOf(operation.item.properties);
      if (name === null) return { recordId, result: 'written', effect: 'created', versionTag: null, remoteId: '1' };
      const options = { actor: 'contract', code: 'record-refused', retry: 'never', about: name } as const;
      return {
        recordId,
        result: 'failed',
        error: new MirrorError(`refused: ${name}`, { ...options, refuses: [name] }),
      };
    });
  };
  const fitting = { properties: PROPERTIES, rules: RULES, log: silentLogger, batchSize, refused: new Map() };
  const write = (...operations: Operation<CrmItem>[]) => applyFitting(operations, fitting, apply);
  return { calls, write };
}

const storedOf = (outcome: Outcome<CrmItem> | undefined) =>
  outcome?.result === 'written' ? outcome.stored?.properties : outcome?.result;

describe('a text before it is written', () => {
  test.each(['mario.rossi@gmail,com', 'a1@example.org; b1@example.org', 'nobody', 'a@b', 'a@@example.org', 'a b@c.it'])(
    'is not an e-mail address: %s',
    (text) => {
      expect(fittedText(text, { form: 'email' })).toBeNull();
    },
  );

  test.each(['a.b+c@example.org', 'zoë@münchen.example', ' x@y-z.it ', "o'hara@a.b.co"])(
    'is an e-mail address: %s',
    (text) => {
      expect(fittedText(text, { form: 'email', longest: 80 })).toBe(text);
    },
  );

  test.each([
    ['+39 06 1234567', true],
    ['06/123.45-67 ext. 12', true],
    ['call the daughter', false],
    ['--', false],
  ])('is a telephone number: %s, %s', (text, isOne) => {
    expect(fittedText(text, { form: 'telephone' })).toBe(isOne ? text : null);
  });

  test('is shortened if it is free text, and omitted if a part of it is another value', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 20 }), (text, longest) => {
        const free = fittedText(text, { longest });
        expect(free?.length).toBeLessThanOrEqual(longest);
        if (text.length <= longest) expect(free).toBe(text);
        expect(fittedText(text, { longest, form: 'whole' })).toBe(text.length <= longest ? text : null);
      }),
    );
  });
});

describe('a record with a value that is refused', () => {
  test('is written again without that value, in a separate call, and reports the omission', async () => {
    const { calls, write } = crm(({ list }) => (list === 'east' ? 'list' : null));
    const outcomes = await write(create('a', { last: 'A', list: 'east' }), create('b', { last: 'B', list: 'north' }));
    expect(outcomes.map(storedOf)).toEqual([{ last: 'A', list: null }, undefined]);
    expect(calls).toEqual([['a', 'b'], ['a']]);
  });

  test('is written without each value that the CRM refuses in turn', async () => {
    const { calls, write } = crm(({ list, other }) => (list !== null ? 'list' : other !== null ? 'other' : null));
    const [outcome] = await write(create('a', { last: 'A', list: 'x', other: 'y' }));
    expect(storedOf(outcome)).toEqual({ last: 'A', list: null, other: null });
    expect(calls).toHaveLength(3);
  });

  test.each([
    ['that is required', { last: 'A' }, 'last'],
    ['that the operator wrote', { last: 'A', own: 'fixed' }, 'own'],
    ['that is empty', { last: 'A', list: null }, 'list'],
    ['outside the mapping', { last: 'A' }, 'strange'],
  ])('%s is refused, after one call', async (_, properties, name) => {
    const { calls, write } = crm(() => name);
    const [outcome] = await write(create('a', properties));
    expect(outcome).toMatchObject({ result: 'failed', error: { about: name } });
    expect(calls).toHaveLength(1);
  });

  test('stops with a CRM that refuses every value, and reports the first fault', async () => {
    const { calls, write } = crm(({ list }) => (list === null ? 'last' : 'list'));
    const [outcome] = await write(create('a', { last: 'A', list: 'x' }));
    expect(outcome).toMatchObject({ result: 'failed' });
    expect(calls).toHaveLength(2);
  });
});

describe('a value that is refused in a full call', () => {
  const refusesList = () => crm(({ list }) => (list === 'east' || list === 'west' ? 'list' : null), 2);
  const odd = (recordId: string, list: string) => create(recordId, { last: recordId, list, other: 'z' });

  test('puts its record off, which is written with the next call without it', async () => {
    const { calls, write } = refusesList();
    expect((await write(odd('a', 'east'), odd('b', 'north'))).map(({ result }) => result)).toEqual([
      'put-off',
      'written',
    ]);
    expect((await write(odd('c', 'west'), odd('d', 'north'))).map(({ result }) => result)).toEqual([
      'put-off',
      'written',
    ]);
    const outcomes = await write(odd('a', 'east'), odd('c', 'west'));
    expect(outcomes.map(storedOf)).toEqual([
      { last: 'a', list: null, other: 'z' },
      { last: 'c', list: null, other: 'z' },
    ]);
    expect(calls).toEqual([
      ['a', 'b'],
      ['c', 'd'],
      ['a', 'c'],
    ]);
  });

  test('is retried when the value changes, and after the record was written without the value', async () => {
    const { calls, write } = refusesList();
    await write(odd('a', 'east'), odd('b', 'north'));
    expect((await write(odd('a', 'south'))).map(storedOf)).toEqual([undefined]);
    await write(odd('a', 'east'), odd('b', 'north'));
    await write(odd('a', 'east'));
    await write(odd('a', 'east'));
    expect(calls.map((call) => call.join(' '))).toEqual(['a b', 'a', 'a b', 'a', 'a', 'a']);
  });

  test('is left out with each other one that is refused in turn', async () => {
    const { write } = crm(({ list, other }) => (list !== null ? 'list' : other !== null ? 'other' : null), 1);
    const results: string[] = [];
    for (let tries = 0; tries < 4 && results.at(-1) !== 'written'; tries += 1) {
      const [outcome] = await write(odd('a', 'east'));
      results.push(outcome!.result);
    }
    expect(results).toEqual(['put-off', 'put-off', 'written']);
  });
});

describe('a patient with one name', () => {
  test.each([
    [
      { first: 'Mario', last: null },
      { first: null, last: 'Mario' },
    ],
    [{ first: 'Mario', last: 'Rossi' }, undefined],
    [{ first: null, last: null }, undefined],
    [{ last: null }, undefined],
  ])('%j is written as %j', async (given, stored) => {
    const [outcome] = await crm(() => null).write(create('a', given));
    expect(storedOf(outcome)).toEqual(stored);
  });
});

const OPTIONS = [
  { value: '812', label: 'Paid' },
  { value: '813', label: 'Open' },
  { value: 'Open', label: 'Not begun' },
  { value: '900', label: 'Lost' },
  { value: '901', label: 'Lost' },
];

describe('words of a mapping in a list of a CRM', () => {
  test('are values or displayed labels, regardless of case', () => {
    const { toValue, toWord, strange } = chooseOptions(['812', 'Open', ' paid', 'not begun'], OPTIONS);
    expect(Object.fromEntries(toValue)).toEqual({ ' paid': '812', 'not begun': 'Open' });
    expect(Object.fromEntries(toWord)).toEqual({ 812: ' paid', Open: 'not begun' });
    expect(strange).toEqual([]);
  });

  test('that are absent or ambiguous are listed with the available names', () => {
    const { strange } = chooseOptions(['Gone', 'Lost', 'Paid'], OPTIONS);
    expect(strange).toEqual(['Gone', 'Lost']);
    expect(render(strangeWords('deals.dealstage', ['Gone'], OPTIONS.slice(0, 2)))).toBe(
      'deals.dealstage has no "Gone"; available: Paid (812), Open (813)',
    );
    expect(render(strangeWords('deals.dealstage', ['Lost'], OPTIONS))).toContain(
      'has several options with the name "Lost"',
    );
  });
});
