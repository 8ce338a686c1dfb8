import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addressOf } from '../../src/connectors/rest-crm/client.ts';
import { renderBody, renderText } from '../../src/described-api/templates.ts';

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
