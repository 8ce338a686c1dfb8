import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { clinicProfileSchema } from '../../src/clinic/schema/profile.ts';
import { propose } from '../../src/profile-finder/findings.ts';
import { compared, DOCUMENTED, withAppointments } from './documents.ts';

describe('a proposal', () => {
  test('with names that are traps is no trap', () => {
    const row = JSON.parse(
      '{"type": "object", "properties": {"__proto__": {"type": "string"}, "constructor": {"type": "string"}, "a.b": {"type": "string"}, "with space": {"type": "string"}, "id": {"type": "string"}}}',
    );
    const { changes } = compared(withAppointments(row));
    expect(clinicProfileSchema.safeParse(parse(propose(DOCUMENTED, changes).yaml)).success).toBe(true);
    expect(Object.hasOwn(Object.prototype, 'type')).toBe(false);
  });
});
