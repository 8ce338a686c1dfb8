import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { fromCursor, toCursor } from '../../src/connectors/cursor.ts';
import { STORED_LIMITS } from '../../src/core/model/stored-limits.ts';

const anyText = z.string();

describe('a cursor', () => {
  test('gives the place back to its container, and to no other', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 500 }), fc.string(), fc.string(), (place, container, other) => {
        const cursor = toCursor(container, place);
        expect(fromCursor(container, cursor, anyText)).toBe(place);
        if (other !== container) expect(fromCursor(other, cursor, anyText)).toBeNull();
      }),
    );
  });

  test('never fails, whatever is given for one', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), fc.base64String()), (text) => {
        expect(fromCursor('calendar', text, anyText)).toBeNull();
        expect(fromCursor('calendar', Buffer.from(text).toString('base64url'), anyText)).toBeNull();
      }),
    );
  });

  test('of another shape is none', () => {
    const cursor = toCursor('calendar', { path: '/x' });
    expect(fromCursor('calendar', cursor, anyText)).toBeNull();
    expect(fromCursor('calendar', null, anyText)).toBeNull();
  });

  test('is not given when it would be longer than the limit', () => {
    expect(toCursor('calendar', 'x'.repeat(4_000))?.length).toBeLessThanOrEqual(STORED_LIMITS.cursor);
    expect(toCursor('calendar', 'x'.repeat(STORED_LIMITS.cursor))).toBeNull();
  });

  test('does not show the container, which can be an e-mail address', () => {
    const cursor = toCursor('doctor@clinic.example', 'token') ?? '';
    expect(Buffer.from(cursor, 'base64url').toString()).not.toContain('clinic');
  });
});
