import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkSpecification } from '../../../src/setup/check-spec/check-spec.ts';
import { concluded, type ProfileCheck, readRows } from '../../../src/setup/profile-finder/profile-check.ts';
import { renderProfileCheck } from '../../../src/setup/profile-finder/render-profile-check.ts';
import { profileOf, type WrittenProfile } from '../../clinic/open-client.ts';

const ROW = {
  id: 'a-17',
  agendaId: 'g-3',
  patientId: 'p-8',
  patient: { firstName: 'Annamaria', lastName: 'Bellini' },
  start: '2026-03-29T09:00:00+02:00',
  end: '2026-03-29T09:30:00+02:00',
  status: 'Booked',
  notes: 'afraid of needles',
  telefono: '3331234567',
};

function shown(rows: readonly unknown[], written: WrittenProfile = {}) {
  const read = readRows(rows, profileOf(written));
  if (read === null) throw new Error('there were no rows');
  return read;
}

test('check-spec and probe report a zone that rows contain and the profile ignores', () => {
  const rows = [1, 2].map((id) => ({
    ...{ ...ROW, id, start: '2026-03-29T09:00:00', end: '2026-03-29T09:30:00' },
    site: { tz: 'Asia/Tokyo' },
  }));
  const document = JSON.stringify({ openapi: '3.0.0', info: { title: 'x', version: '1' }, paths: {} });
  const values = (check: ProfileCheck) => renderProfileCheck(check).replaceAll(/\s+/g, ' ');
  const sentence = 'appointments: site.tz names the zone Asia/Tokyo in 2 records';
  const profile = profileOf({ appointments: { fields: { zone: ['timeZone'] } } });
  expect(values(checkSpecification(document, profile, JSON.stringify(rows)))).toContain(sentence);
  // A probe concludes in the same way, from rows of the clinic itself.
  const compared = { findings: [], changes: [] } as unknown as Parameters<typeof concluded>[0];
  expect(values(concluded(compared, profile, [], (proposed) => readRows(rows, proposed)))).toContain(sentence);
  const named = profileOf({ appointments: { fields: { zone: ['site.tz'] } } });
  expect(values(checkSpecification(document, named, JSON.stringify(rows)))).not.toContain('site.tz names');
});

describe('the values that a profile reads from some rows', () => {
  test('are shown with one row, the clinic’s value next to the parsed one, and the unread parts', () => {
    const { fields, notRead, ...counts } = shown([ROW, { ...ROW, id: 'a-18', status: 'Cancelled' }, ROW, ROW]);
    expect(counts).toEqual({
      of: 'clinic',
      remarks: [],
      rows: 4,
      read: 4,
      unusable: [],
      statuses: [
        { status: 'booked', values: ['Booked'], rows: 3 },
        { status: 'cancelled', values: ['Cancelled'], rows: 1 },
      ],
    });
    const start = '2026-03-29T09:00:00+02:00';
    expect(fields).toContainEqual({ field: 'start', path: 'start', value: start, read: start });
    expect(fields).toContainEqual({ field: 'status', path: 'status', value: 'Booked', read: 'booked' });
    expect(fields).toContainEqual({
      field: 'patientLastName',
      path: 'patient.lastName',
      value: '(text)',
      read: '(text)',
    });
    expect(notRead).toEqual(['telefono']);
  });

  test('reveal a wrong path: unreadable values are marked next to the value', () => {
    const { fields, read, unusable } = shown([ROW], { appointments: { fields: { start: ['status'] } } });
    expect([read, unusable]).toEqual([0, [{ code: 'bad-time', field: 'start', rows: 1 }]]);
    expect(fields).toContainEqual(expect.objectContaining({ field: 'start', path: 'status', read: 'cannot be read' }));
  });

  test('show twenty of many rows, chosen from every part of the list', () => {
    const many = Array.from({ length: 95 }, (_, index) => ({
      ...ROW,
      id: `a-${index}`,
      status: index < 48 ? 'Booked' : 'Lost',
    }));
    expect(shown(many)).toMatchObject({
      rows: 20,
      statuses: [{ rows: 12 }, { status: 'unknown', values: ['Lost'], rows: 8 }],
    });
  });

  test('contain no patient data, for any path in a profile', () => {
    const word = fc.stringMatching(/^[A-Z][a-z]{5,9}$/);
    const sentence = fc.tuple(word, word).map((words) => words.join(' '));
    const field = fc.constantFrom(
      'id',
      'agendaId',
      'doctorId',
      'start',
      'status',
      'source',
      'notes',
      'locationId',
      'duration',
    );
    fc.assert(
      fc.property(fc.uniqueArray(word, { minLength: 6, maxLength: 6 }), sentence, field, (names, note, mistaken) => {
        const rows = names.map((name, index) => ({
          ...ROW,
          id: `a-${index}`,
          cognome: name,
          notes: note,
          patient: { firstName: name, lastName: name },
        }));
        for (const path of ['cognome', 'notes', 'patient.lastName']) {
          const read = shown(rows, { appointments: { fields: { [mistaken]: [path] } } });
          const said = JSON.stringify(read);
          expect([...names, note].filter((secret) => said.includes(secret))).toEqual([]);
        }
      }),
      { numRuns: 100 },
    );
  });

  test('fit into 100 columns, at the end of the output', () => {
    const rows = shown([{ ...ROW, agendaId: `agenda-${'1'.repeat(200)}` }]);
    const check = { fits: true, toDecide: [], findings: [], proposedProfile: '', omitted: [], remarks: [], rows };
    const lines = renderProfileCheck(check).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(lines.at(-1)).toBe('Not read in this record: telefono.');
  });
});
