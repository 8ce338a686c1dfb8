import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readRefusal, toMirrorError, toRowError, untilMidnightMs } from '../../../src/connectors/hubspot/errors.ts';
import { DAY_MS, MINUTE_MS, toZonedIso } from '../../../src/core/model/time.ts';

describe('a refusal', () => {
  const message =
    'Property values were not valid: [{"isValid":false,"message":"Ada was not one of the allowed options","error":"INVALID_OPTION","name":"gender","propertyValue":"Ada"}]';

  test('lists properties and codes, from any part of the answer', () => {
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

  test('of the daily limit waits an hour if the zone is unknown', () => {
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
