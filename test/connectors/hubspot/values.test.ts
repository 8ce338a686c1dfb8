import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pathsOf } from '../../../src/connectors/hubspot/client.ts';
import { readRefusal, toMirrorError, toRowError, untilMidnightMs } from '../../../src/connectors/hubspot/errors.ts';
import type { Scope } from '../../../src/connectors/hubspot/from-model.ts';
import { fromText, toItem, toValues } from '../../../src/connectors/hubspot/from-model.ts';
import { fromStamp } from '../../../src/connectors/owner.ts';
import { silentLogger } from '../../../src/log/logger.ts';
import type { CrmItem, PropertyKind, PropertyValue } from '../../../src/model/items.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/model/time.ts';
import { toZonedIso } from '../../../src/model/zones.ts';

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
  ] as const)('of kind %s that HubSpot tells as %j reads as %j', (kind, text, value) => {
    expect(fromText(kind, text)).toBe(value);
  });

  test('of half a character goes as the sign for it', () => {
    expect(toValues(SCOPE, sent(itemWith('a\uD83Db'))).value).toBe('a\uFFFDb');
  });

  test('that an answer does not tell is as it was sent', () => {
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

describe('a refusal', () => {
  const message =
    'Property values were not valid: [{"isValid":false,"message":"Ada was not one of the allowed options","error":"INVALID_OPTION","name":"gender","propertyValue":"Ada"}]';

  test('names properties and codes, from wherever HubSpot tells them', () => {
    expect(readRefusal(400, { category: 'VALIDATION_ERROR', message })).toMatchObject({
      codes: ['INVALID_OPTION'],
      properties: ['gender'],
    });
    const errors = [{ message: 'Ada', code: 'INVALID_EMAIL', context: { propertyName: ['email'] } }];
    expect(readRefusal(400, { errors })).toMatchObject({ codes: ['INVALID_EMAIL'], properties: ['email'] });
    const where =
      'Cannot set PropertyValueCoordinates{portalId=1, objectTypeId=0-1, propertyName=email, value=a@b.c} on 2.';
    expect(readRefusal(400, { message: `${where} 3 already has that value.` })).toMatchObject({
      properties: ['email'],
      isTaken: true,
    });
  });

  test.each([null, undefined, 'text', 5, [], { message: 5, errors: 'x' }, { message: 'was [{broken' }])(
    'that is %j says nothing but its status',
    (body) => {
      expect(readRefusal(400, body)).toMatchObject({ status: 400, codes: [], properties: [], isTaken: false });
    },
  );

  test('repeats no value, whatever HubSpot says', () => {
    const secret = fc.stringMatching(/^[a-z]{6}[a-z ]{0,20}$/);
    fc.assert(
      fc.property(secret, fc.constantFrom('INVALID_OPTION', 'INVALID_DATE', 'CONFLICT'), (value, code) => {
        const body = {
          category: 'VALIDATION_ERROR',
          message: `propertyName=${value} ${message.replaceAll('Ada', value)}`,
          errors: [{ message: value, code, context: { propertyName: [value, 'gender'] } }],
        };
        const error = toRowError(readRefusal(400, body), 'contacts', new Set(['gender', 'email']));
        const whole = toMirrorError({ status: 400, body, retryAfterMs: null }, { at: 0, zone: null });
        expect(error.message).toContain('gender');
        for (const text of [error.message, error.remedy ?? '', whole.message]) {
          expect(text.replaceAll(/HubSpot|gender|contacts/g, '')).not.toContain(` ${value} `);
        }
      }),
    );
  });

  test.each([
    ['PROPERTY_DOESNT_EXIST', 'crm-property-missing'],
    ['READ_ONLY_VALUE', 'property-read-only'],
    ['INVALID_OPTION', 'property-option-missing'],
    ['CONFLICTING_UNIQUE_VALUE', 'unique-value-taken'],
    ['INVALID_SOMETHING_NEW', 'property-value-refused'],
  ])('by %s is the code %s', (code, ours) => {
    const body = { category: 'VALIDATION_ERROR', errors: [{ code, context: { propertyName: ['gender'] } }] };
    const error = toRowError(readRefusal(400, body), 'contacts', new Set(['gender']));
    expect(error).toMatchObject({ code: ours, actor: 'settings', retry: 'never' });
    expect(error.message).toContain('gender');
  });

  test.each([
    [400, 'refused'],
    [403, 'crm-forbidden'],
    [404, 'not-found'],
    [409, 'changed-meanwhile'],
    [415, 'refused'],
    [302, 'unexpected-status'],
  ])('of the whole call with %i is the code %s', (status, code) => {
    expect(toMirrorError({ status, body: undefined, retryAfterMs: null }, { at: 0, zone: null }).code).toBe(code);
  });

  test('by day is waited for an hour while the zone is not known', () => {
    const answer = { status: 429, body: { policyName: 'DAILY' }, retryAfterMs: null };
    expect(toMirrorError(answer, { at: 0, zone: null }).retryAfterMs).toBe(60 * MINUTE_MS);
  });
});

describe('midnight', () => {
  test('is the next one of the zone', () => {
    const zones = fc.constantFrom('Europe/Zurich', 'America/New_York', 'Asia/Kolkata', 'Pacific/Auckland', 'UTC');
    const at = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2028, 0, 1) });
    fc.assert(
      fc.property(zones, at, (zone, now) => {
        const waitMs = untilMidnightMs(now, zone);
        expect(waitMs).toBeGreaterThan(0);
        expect(waitMs).toBeLessThanOrEqual(DAY_MS + 60 * MINUTE_MS);
        expect(toZonedIso(zone, now + waitMs)).toContain('T00:00:00');
        expect(toZonedIso(zone, now + waitMs - 1_000)).toContain('T23:59:59');
      }),
    );
  });
});
