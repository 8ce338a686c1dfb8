import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pathsOf } from '../../../src/connectors/hubspot/client.ts';
import { fromText, type Scope, toItem, toValues } from '../../../src/connectors/hubspot/from-model.ts';
import { fromStamp } from '../../../src/connectors/owner.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import type { CrmItem, PropertyKind, PropertyValue } from '../../../src/core/model/items.ts';

const MARK = 'values0test00000';
const SCOPE: Scope = {
  client: null as never,
  stream: 'patients',
  object: 'contacts',
  properties: [{ name: 'value', kind: 'text' }],
  ownerTag: MARK,
  keyProperty: 'mirror_key',
  stampProperty: 'mirror_stamp',
  propertyGroup: 'mirror',
  daysAsInstants: new Set(),
  choices: null,
  hasUniqueKey: true,
  catalogueNames: new Set(),
  subscriptions: [],
  paths: pathsOf('2026-09'),
  log: silentLogger,
};

const instant = fc.date({ min: new Date('1850-01-01'), max: new Date('2150-01-01'), noInvalidDate: true });
const VALUES: Readonly<Record<PropertyKind, fc.Arbitrary<PropertyValue>>> = {
  text: fc.string({ minLength: 1, unit: 'grapheme' }),
  number: fc.oneof(
    fc.integer(),
    fc.double({ min: -1e12, max: 1e12, noNaN: true }).map((value) => Math.round(value * 1e6) / 1e6 || 0),
  ),
  boolean: fc.boolean(),
  date: instant.map((date) => date.toISOString().slice(0, 10)),
  instant: instant.map((date) => date.toISOString()),
};

/** An item of one property. */
function itemWith(value: PropertyValue): CrmItem {
  return { properties: { value }, contactKey: null, startAt: 0 };
}

/** What is sent of an item. */
function sent(item: CrmItem) {
  return { key: 'key', sealedRecordId: 'sealedRecordId', item, revision: 12 };
}

describe('a value', () => {
  test.each(Object.keys(VALUES) as PropertyKind[])('of kind %s comes back as it went', (kind) => {
    const properties = [{ name: 'value', kind }];
    for (const daysAsInstants of [new Set<string>(), new Set(['value'])]) {
      const scope = { ...SCOPE, properties, daysAsInstants };
      fc.assert(
        fc.property(VALUES[kind], (value) => {
          const values = toValues(scope, sent(itemWith(value)));
          expect(toItem(scope, { values }, itemWith(null)).properties.value).toEqual(value);
        }),
      );
    }
  });

  test.each([
    [1e-7, '0.0000001'],
    [-1.5e-9, '-0.0000000015'],
    [12, '12'],
    [120.5, '120.5'],
  ])('%d is written without an exponent', (value, text) => {
    expect(toValues(SCOPE, sent(itemWith(value))).value).toBe(text);
  });

  test.each([
    ['date', '1767225600000', '2026-01-01'],
    ['date', '2026-01-01', '2026-01-01'],
    ['date', '2026-01-01T00:00:00Z', '2026-01-01'],
    ['date', '2026-01-01T09:00:00Z', '2026-01-01T09:00:00Z'],
    ['instant', '1767225600000', '2026-01-01T00:00:00.000Z'],
    ['instant', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000Z'],
    ['instant', 'tomorrow', 'tomorrow'],
    ['number', 'many', 'many'],
    ['number', '007', 7],
    ['boolean', 'yes', 'yes'],
    ['text', '', null],
  ] as const)('of kind %s that HubSpot returns as %j is read as %j', (kind, text, value) => {
    expect(fromText(kind, text)).toBe(value);
  });

  test('of half a character goes as the sign for it', () => {
    expect(toValues(SCOPE, sent(itemWith('a\uD83Db'))).value).toBe('a\uFFFDb');
  });

  test('that is absent from an answer equals the sent value', () => {
    const properties = [
      { name: 'told', kind: 'text' },
      { name: 'empty', kind: 'text' },
      { name: 'silent', kind: 'number' },
    ] as const;
    const item = toItem({ properties, choices: null }, { values: { told: 'A', empty: null } }, itemWith(null), {
      told: 'a',
      empty: 'b',
      silent: '3',
    });
    expect(item.properties).toEqual({ told: 'A', empty: null, silent: 3 });
  });

  test('of a stamp names record, contact, start and revision', () => {
    const belonging = { contactKey: 'contact', startAt: 1_767_225_600_000 };
    const values = toValues(SCOPE, sent({ properties: {}, ...belonging }));
    expect(fromStamp(MARK, values.mirror_stamp)).toEqual({
      sealedRecordId: 'sealedRecordId',
      ...belonging,
      revision: 12,
    });
  });
});
