import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileBookings } from '../../../src/clinic/read/appointment-rows.ts';
import { NO_SITE_ZONES } from '../../../src/clinic/read/place-zones.ts';
import { compileFullName } from '../../../src/clinic/read/records.ts';
import type { Shape } from '../../../src/clinic/schema/fields.ts';
import { RESOURCES, type ResourceName } from '../../../src/clinic/schema/resources.ts';
import { withTextForms } from '../../../src/clinic/write/text-forms.ts';
import { compileWriter } from '../../../src/clinic/write/writing.ts';
import type { MirrorError } from '../../../src/core/model/errors.ts';
import { profileOf, type WrittenProfile } from '../open-client.ts';

function openForms(name: ResourceName, written: WrittenProfile) {
  const profile = profileOf(written);
  const write = withTextForms(profile, name, (changed) =>
    compileWriter<Shape>(RESOURCES[name], { ...profile[name].fields, ...changed } as never, profile, profile[name]),
  ) as (values: object, base?: object) => Record<string, unknown>;
  return { profile, write };
}

const NO_NAMES = { firstName: [], lastName: [] };
const codeOf = (work: () => unknown) => {
  try {
    return work();
  } catch (error) {
    return (error as MirrorError).code;
  }
};

describe('a full name', () => {
  const rule = (order: 'given-first' | 'family-first') => ({ path: 'name', order, separator: ',' });
  const patients = (order: 'given-first' | 'family-first') =>
    openForms('patients', { patients: { fullName: rule(order), fields: NO_NAMES } });

  test.each([
    ['given-first', 'Mario', 'Rossi', 'Mario Rossi'],
    ['given-first', 'Anna', 'De Luca', 'Anna De Luca'],
    ['given-first', 'Anna Maria', 'Verdi Neri', 'Verdi Neri, Anna Maria'],
    ['family-first', 'Anna Maria', 'Rossi', 'Rossi Anna Maria'],
    ['family-first', 'Anna', 'Verdi Neri', 'Verdi Neri, Anna'],
    ['given-first', null, 'Rossi', 'Rossi'],
    ['given-first', 'Anna', null, ', Anna'],
    ['given-first', null, null, null],
  ] as const)('in the order %s: %s and %s become %s', (order, firstName, lastName, written) => {
    expect(patients(order).write({ firstName, lastName })).toEqual({ name: written });
  });

  test('is read back as it was written, or refused with its field', () => {
    const words = fc.constantFrom('Anna', 'de', 'Luca', 'Maria', 'von', 'Rossi', 'x,y');
    const names = fc.option(fc.array(words, { minLength: 1, maxLength: 3 }).map((each) => each.join(' ')));
    fc.assert(
      fc.property(fc.constantFrom('given-first', 'family-first'), names, names, (order, firstName, lastName) => {
        const { write, profile } = patients(order);
        const read = compileFullName(profile.patients.fullName, profile);
        const row = codeOf(() => write({ firstName, lastName }));
        if (row === 'bad-value') return /,/.test(`${firstName}${lastName}`);
        expect(read(row as never, { firstName: null, lastName: null })).toEqual({ firstName, lastName });
        return true;
      }),
    );
  });

  test('keeps the part that does not change, and the form of the record', () => {
    const { write } = patients('given-first');
    expect(write({ lastName: 'Verdi' }, { id: 'p', name: 'Anna Rossi' })).toEqual({ id: 'p', name: 'Anna Verdi' });
    expect(write({ email: 'a@b.example' }, { id: 'p', name: 'Anna Rossi' })).toMatchObject({ name: 'Anna Rossi' });
    const both = openForms('patients', { patients: { fullName: rule('given-first') } });
    const separate = { firstName: 'Anna', lastName: 'Rossi', name: 'Rossi Anna' };
    expect(both.write({ lastName: 'Verdi' }, separate)).toEqual({ ...separate, lastName: 'Verdi' });
    expect(both.write({ lastName: 'Verdi' }, { name: 'Anna Rossi' })).toEqual({ name: 'Anna Verdi' });
    expect(both.write({ firstName: 'Anna', lastName: 'Rossi' })).toEqual({ firstName: 'Anna', lastName: 'Rossi' });
  });
});

describe('an appointment', () => {
  const at = (time: string) => Date.parse(`2026-12-03T${time}:00Z`);
  const values = { start: at('09:00'), end: at('09:30') };

  test('is written as an interval if the profile names one path for both ends, and read back', () => {
    const fields = { start: ['slot'], end: ['slot'] };
    const { write, profile } = openForms('appointments', { appointments: { fields }, writes: { times: 'utc' } });
    const row = { id: 'a', agendaId: 'g', status: 'Booked', ...write(values) };
    expect(row).toMatchObject({ slot: '2026-12-03T09:00:00Z/2026-12-03T09:30:00Z' });
    expect(compileBookings(profile)(row, NO_SITE_ZONES)).toMatchObject({ record: values });
    expect(codeOf(() => write({ start: at('09:00') }))).toBe('bad-value');
  });

  test.each([
    ['2026-12-03T08:00Z/PT45M', { start: at('09:00') }, '2026-12-03T09:00:00Z/PT45M'],
    ['2026-12-03T08:00Z/2026-12-03T08:45Z', { end: at('09:00') }, '2026-12-03T08:00Z/2026-12-03T09:00:00Z'],
    ['2026-12-03T08:00Z/PT45M', { notes: 'x' }, '2026-12-03T08:00Z/PT45M'],
  ])('with the interval %s keeps the form and the other end', (slot, changes, written) => {
    const fields = { start: ['slot'], end: ['slot'] };
    const { write } = openForms('appointments', { appointments: { fields }, writes: { times: 'utc' } });
    expect(write(changes, { slot })).toMatchObject({ slot: written });
  });

  test.each([
    ['number', undefined, '90', 90],
    ['iso', undefined, '90', 'PT1H30M'],
    ['clock', undefined, '90', '01:30'],
    ['number', 'PT30M', '0.5', 'PT30S'],
    ['number', '0:30', '45', '00:45'],
    ['iso', 30, '45', 45],
    ['clock', undefined, '1440', 'bad-value'],
  ] as const)('has its duration as %s, or as before (%s): %s becomes %s', (durations, before, duration, written) => {
    const fields = { duration: ['length'] };
    const { write } = openForms('appointments', { appointments: { fields }, writes: { durations } });
    const base = before === undefined ? {} : { length: before };
    expect(codeOf(() => write({ duration }, base).length)).toBe(written);
  });

  test('with an interval and a duration is read by the command for bookings', () => {
    const { profile } = openForms('appointments', { appointments: { fields: { start: ['slot'], end: ['slot'] } } });
    const row = { id: 'a', agendaId: 'g', status: 'Booked', slot: '2026-12-03T09:00Z/PT30M' };
    expect(compileBookings(profile)(row, NO_SITE_ZONES)).toMatchObject({
      record: { start: at('09:00'), end: null, duration: '30' },
    });
  });
});
