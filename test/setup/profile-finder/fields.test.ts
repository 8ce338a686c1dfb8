import { describe, expect, test } from 'vitest';
import { changed, compared, undecidedAt, withAppointments } from './documents.ts';

describe('fields', () => {
  const row = (properties: Record<string, object>) => ({ type: 'object', properties });
  const text = { type: 'string' };

  test.each([
    ['start', { start_time: { type: 'string', format: 'date-time' } }, 'start_time'],
    ['start', { dataOraInizio: text }, 'dataOraInizio'],
    ['agendaId', { calendar: row({ id: text }) }, 'calendar.id'],
    ['patientId', { patient_id: text, patient: row({ id: text }) }, 'patient_id'],
    ['status', { stato: text }, 'stato'],
    ['updatedAt', { LastModified: text }, 'LastModified'],
  ])('%s is found in %j', (field, properties, path) => {
    expect(changed(withAppointments(row(properties)), `appointments.fields.${field}`)).toEqual([path]);
  });

  test('of another kind are not taken: a start in numbers, an id that is an object', () => {
    const findings = compared(withAppointments(row({ start: { type: 'integer' }, id: row({ a: text }) }))).findings;
    for (const field of ['start', 'id']) {
      expect(findings).toContainEqual(
        expect.objectContaining({
          location: `appointments.fields.${field}`,
          result: 'undecided',
          ask: expect.stringContaining('which field'),
        }),
      );
    }
  });

  test('two that could be the start are not guessed at', () => {
    const at = { type: 'string', format: 'date-time' };
    expect(changed(withAppointments(row({ alfa: at, beta: at })), 'appointments.fields.start')).toBe(undefined);
  });
});

describe('values that few clinics have are questions, with the available ones', () => {
  const properties = { id: { type: 'string' }, start: { type: 'string' } };

  test.each(['duration', 'durata'])('the unit of %s, unless its name says it', (name) => {
    const withDuration = (field: string) =>
      withAppointments({ type: 'object', properties: { ...properties, [field]: { type: 'integer' } } });
    const location = 'appointments.durationUnit';
    expect(undecidedAt(withDuration(name), location)?.ask).toBe(`does ${name} count minutes or seconds?`);
    expect(undecidedAt(withDuration(`${name}Minuti`), location)?.ask).toBe(undefined);
    expect(changed(withDuration('durationSeconds'), location)).toBe('seconds');
  });

  test('the words of a choice, unless they are known words in another spelling', () => {
    const source = { type: 'string', enum: ['front_desk', 'portale'] };
    const document = withAppointments({ type: 'object', properties: { ...properties, source } });
    expect(undecidedAt(document, 'appointments.words.source')?.ask).toContain(
      '"portale" in source mean, of FrontDesk, Online',
    );
    expect(changed(document, 'appointments.words.source.FrontDesk')).toBe('front_desk');
  });
});
