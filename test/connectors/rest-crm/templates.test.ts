import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addressOf } from '../../../src/connectors/rest-crm/client.ts';
import {
  BOOLEAN_STYLES,
  DATE_STYLES,
  INSTANT_STYLES,
  NULL_STYLES,
  readValue,
  renderBody,
  renderText,
  renderValue,
  type ValueStyles,
} from '../../../src/connectors/rest-crm/templates.ts';

const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '", "admin": true, "x": "',
    '{{key}}',
    '{{properties}}',
    '../../admin',
    '..',
    '.',
    '%2e%2e',
    '?a=b&c=d#e',
    '\u0000',
    "' or '1'='1",
  ),
);

describe('a template', () => {
  test('never lets a value become structure', () => {
    fc.assert(
      fc.property(hostile, fc.string({ unit: 'binary' }), (value, other) => {
        const body = renderBody(
          { list: [{ '...': '{{properties}}', id: '{{id}}' }], text: 'id {{id}}!', fixed: 1 },
          { properties: { name: value, inner: { note: other } }, id: value },
        );
        expect(JSON.parse(JSON.stringify(body))).toEqual({
          list: [{ name: value, inner: { note: other }, id: value }],
          text: `id ${value}!`,
          fixed: 1,
        });
      }),
    );
  });

  test('never lets a value leave its segment or its parameter', () => {
    const call = {
      method: 'GET',
      path: '/people/{{id}}/notes',
      query: { q: 'key:{{key}}', all: '{{keys}}' },
      headers: {},
      partial: false,
      nothing: [],
    } as const;
    fc.assert(
      fc.property(
        hostile.filter((text) => text.isWellFormed() && text !== ''),
        (value) => {
          const isDots = /^\.{1,2}$/.test(value);
          const make = () =>
            addressOf(
              'https://crm.example.com/api',
              { ...call, nothing: [] },
              { id: value, key: value, keys: [value, 'b'] },
            );
          if (isDots) {
            expect(make).toThrow('cannot be part of a URL');
            return;
          }
          const url = new URL(make());
          expect(url.origin).toBe('https://crm.example.com');
          expect(url.pathname.split('/')).toHaveLength(5);
          expect(decodeURIComponent(url.pathname.split('/')[3] ?? '')).toBe(value);
          expect([...url.searchParams]).toEqual([
            ['q', `key:${value}`],
            ['all', value],
            ['all', 'b'],
          ]);
          expect(url.hash).toBe('');
        },
      ),
    );
  });

  test('omits empty parts: elements of lists, objects of one value, parameters', () => {
    const template = { contacts: ['{{contactId}}'], who: { id: '{{contactId}}' }, contact: '{{contactId}}' };
    expect(renderBody(template, { contactId: null })).toEqual({ contacts: [], who: null, contact: null });
    expect(renderBody(template, { contactId: '7' })).toEqual({ contacts: ['7'], who: { id: '7' }, contact: '7' });
    expect(renderText('after {{cursor}}.', {})).toBe('after .');
  });

  test('merges properties into existing members, and the properties take precedence', () => {
    const template = { start: 'now', name: { title: 'Dr' }, '...': '{{properties}}' };
    const properties = { start: 'later', name: { first: 'Anna' } };
    expect(renderBody(template, { properties })).toEqual({ start: 'later', name: { title: 'Dr', first: 'Anna' } });
  });
});

describe('a value', () => {
  const styles: fc.Arbitrary<ValueStyles> = fc.record({
    date: fc.constantFrom(...DATE_STYLES),
    instant: fc.constantFrom(...INSTANT_STYLES),
    boolean: fc.constantFrom(...BOOLEAN_STYLES),
    null: fc.constantFrom(...NULL_STYLES),
  });
  const seconds = fc.integer({ min: Date.parse('1900-01-01') / 1000, max: Date.parse('2100-01-01') / 1000 });
  const known = fc.oneof(
    fc.record({ kind: fc.constant('text' as const), value: fc.string({ minLength: 1 }) }),
    fc.record({
      kind: fc.constant('number' as const),
      value: fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => one || 0),
    }),
    fc.record({ kind: fc.constant('boolean' as const), value: fc.boolean() }),
    fc.record({
      kind: fc.constant('date' as const),
      value: seconds.map((at) => new Date(at * 1000).toISOString().slice(0, 10)),
    }),
    fc.record({ kind: fc.constant('instant' as const), value: seconds.map((at) => new Date(at * 1000).toISOString()) }),
    fc.record({ kind: fc.constantFrom('text', 'number', 'boolean', 'date', 'instant'), value: fc.constant(null) }),
  );

  test('is read unchanged, in every style, as JSON and as text', () => {
    fc.assert(
      fc.property(known, styles, ({ kind, value }, style) => {
        const wire = renderValue(value, kind, style);
        expect(readValue(wire, kind, style)).toEqual(value);
        expect(readValue(wire === null ? null : String(wire), kind, style)).toEqual(value);
      }),
    );
  });

  test('that is not of its kind comes as text, so that it differs', () => {
    const style: ValueStyles = { date: 'date', instant: 'iso', boolean: 'boolean', null: 'null' };
    expect(readValue('soon', 'instant', style)).toBe('soon');
    expect(readValue('many', 'number', style)).toBe('many');
    expect(readValue('yes', 'boolean', style)).toBe('yes');
    expect(readValue('2027-03-01T09:30:00+02:00', 'instant', style)).toBe('2027-03-01T07:30:00.000Z');
    expect(readValue('2027-03-01 00:00:00', 'date', style)).toBe('2027-03-01');
  });
});
