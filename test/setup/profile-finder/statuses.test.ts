import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { propose } from '../../../src/setup/profile-finder/findings.ts';
import { raisedFlags } from '../../../src/setup/profile-finder/statuses.ts';
import { profileOf } from '../../clinic/open-client.ts';
import { changed, compared, DOCUMENTED, undecidedAt, withAppointments } from './documents.ts';

describe('statuses', () => {
  const words: [string, string][] = [
    ['prenotato', 'booked'],
    ['Confermata', 'confirmed'],
    ['ACCETTATO', 'arrived'],
    ['in corso', 'in_progress'],
    ['eseguito', 'completed'],
    ['Annullato', 'cancelled'],
    ['disdetta', 'cancelled'],
    ['non-presentato', 'no_show'],
    ['assente', 'no_show'],
    ['entered-in-error', 'cancelled'],
    ['checked_in', 'arrived'],
    ['fulfilled', 'completed'],
  ];
  test('in the words of clinics are known', () => {
    const row = { type: 'object', properties: { status: { type: 'string', enum: words.map(([word]) => word) } } };
    expect(changed(withAppointments(row), 'appointments.statuses')).toEqual(Object.fromEntries(words));
  });
});

describe('states', () => {
  const withState = (state: object, more: object = {}) =>
    withAppointments({ type: 'object', properties: { id: { type: 'string' }, state, ...more } });

  test('that are numbers are separate questions, and are unknown in the profile', () => {
    const document = withState({ type: 'integer', enum: [0, 1, -1] });
    expect(undecidedAt(document, 'appointments.statuses')).toMatchObject({ there: '0, 1, -1' });
    const { yaml } = propose(DOCUMENTED, compared(document).changes);
    expect(parse(yaml).appointments.statuses).toEqual({ 0: 'unknown', 1: 'unknown', [-1]: 'unknown' });
    expect(yaml).toContain('to decide: booked, confirmed');
  });

  test.each([
    ['names next to them', { 'x-enum-varnames': ['BOOKED', 'IN_CARE', 'CANCELLED'] }],
    ['a description', { description: 'One of 1 = booked, 2 = in care, 9: cancelled.' }],
  ])('that are numbers are questions despite %s', (_what, state) => {
    const document = withState({ type: 'integer', enum: [1, 2, 9], ...state });
    expect(undecidedAt(document, 'appointments.statuses')).toMatchObject({ there: '1, 2, 9' });
  });

  test('without a cancelled one are a question, unless a flag marks cancellation', () => {
    const state = { type: 'string', enum: ['booked', 'done'] };
    const location = 'appointments.statuses (cancelled)';
    expect(undecidedAt(withState(state), location)).toMatchObject({ there: 'booked, done' });
    expect(undecidedAt(withState(state, { cancelled_at: { type: 'string' } }), location)).toBe(undefined);
    expect(undecidedAt(withState({ ...state, enum: ['booked', 'void'] }), location)).toBe(undefined);
  });

  test('without evidence are a question, with the fields that have few values', () => {
    const document = withAppointments({
      type: 'object',
      properties: { id: { type: 'string' }, esito: { type: 'integer' }, motivo: { type: 'string', enum: ['a', 'b'] } },
    });
    const question = undecidedAt(document, 'appointments.fields.status');
    expect(question?.ask).toMatch(/cancelled appointments remain\. Few different values have: esito, motivo\.$/);
  });
});

describe('flags of rows', () => {
  const profile = profileOf({
    appointments: {
      flags: [
        { path: 'confirmedAt', when: 'present', status: 'confirmed', over: ['booked'] },
        { path: 'noShow', when: true, status: 'no_show' },
      ],
    },
  });
  const raisedIn = (...rows: Record<string, unknown>[]) => raisedFlags(profile, rows).map(({ path }) => path);

  test('are flags only if they differ from the status of a row that they may override', () => {
    expect(raisedIn({ status: 'Booked', confirmedAt: 'x' })).toContain('confirmedAt');
    expect(raisedIn({ status: 'Confirmed', confirmedAt: 'x' })).not.toContain('confirmedAt');
    expect(raisedIn({ status: 'Completed', confirmedAt: 'x' })).not.toContain('confirmedAt');
    expect(raisedIn({ status: 'Booked', confirmedAt: null })).not.toContain('confirmedAt');
  });

  test('of a status that frees the time stay until the status of a row replaces them', () => {
    expect(raisedIn({ status: 'Booked' })).toEqual(['noShow']);
    expect(raisedIn({ status: 'NoShow' })).toEqual([]);
    expect(raisedIn({ status: 'NoShow' }, { status: 'Booked', noShow: true })).toEqual(['noShow']);
  });
});
