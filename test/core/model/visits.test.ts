import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asId } from '../../../src/clinic/http/rows.ts';
import type { Appointment } from '../../../src/core/model/records.ts';
import type { Lookup } from '../../../src/core/model/snapshots.ts';
import {
  appointmentIdOf,
  isOfSeveralPatients,
  isShared,
  partsOf,
  readingVisits,
  VISIT_SEPARATOR,
  visitId,
  visitsOf,
  withLastPatients,
  withVisits,
} from '../../../src/core/model/visits.ts';
import { appointmentOf } from '../../domain/arbitraries.ts';
import { NEVER } from '../../tenant/cycle.ts';

/** Texts of the separator's own characters, between others. */
const texts = fc
  .array(fc.oneof(fc.string(), fc.constantFrom('~', ':', 'patient', '~patient', 'patient:', VISIT_SEPARATOR)))
  .map((parts) => parts.join(''));
/** Every id that a clinic can have. */
const ids = fc
  .oneof(texts, fc.integer())
  .map(asId)
  .filter((id) => id !== null);

const group = (changes: Partial<Appointment> = {}): Appointment => ({
  ...appointmentOf('g', { patientId: 'p1' }),
  patientIds: ['p1', 'p2', 'p3'],
  ...changes,
});

describe('the id of a visit', () => {
  test('returns both ids of the clinic, whatever they are', () => {
    fc.assert(
      fc.property(ids, ids, (appointmentId, patientId) => {
        const id = visitId(appointmentId, patientId);
        expect(partsOf(id)).toEqual({ appointmentId, patientId });
        expect(appointmentIdOf(id)).toBe(appointmentId);
        expect(asId(id)).toBeNull();
        expect(partsOf(appointmentId)).toBeNull();
        expect(appointmentIdOf(appointmentId)).toBe(appointmentId);
      }),
    );
  });
});

describe('visits', () => {
  test('are one for each patient of a list, without the names of another, and the appointment itself without a list', () => {
    const visits = visitsOf(group({ patient: { id: 'p1', firstName: 'Anna', lastName: 'Verdi' } }));
    expect(visits.map(({ id, patientId, patient, patientIds }) => [id, patientId, patient, patientIds])).toEqual(
      ['p1', 'p2', 'p3'].map((patient) => [`g~patient:${patient}`, patient, null, undefined]),
    );
    const single = appointmentOf('a');
    expect(visitsOf(single)).toEqual([single]);
  });

  test('keep their ids in any order, and if other patients come or leave', () => {
    const idOf = (patientIds: string[]) =>
      visitsOf(group({ patientIds })).find(({ patientId }) => patientId === 'p2')?.id;
    const lists = [
      ['p1', 'p2'],
      ['p2', 'p1'],
      ['p0', 'p2', 'p3'],
    ];
    expect(new Set(lists.map(idOf)).size).toBe(1);
  });

  test('are listed in addition to their appointment; a list without them is the same', () => {
    const records = new Map([group(), appointmentOf('a')].map((one) => [one.id, one]));
    expect([...withVisits({ records }).records.keys()]).toEqual([
      'g',
      'a',
      'g~patient:p1',
      'g~patient:p2',
      'g~patient:p3',
    ]);
    const plain = { records: new Map([['a', appointmentOf('a')]]) };
    expect(withVisits(plain)).toBe(plain);
  });
});

test.each<[string, Partial<Appointment>, several: boolean, shared: boolean]>([
  ['one patient', { patientIds: undefined as never }, false, false],
  ['several patients with a visit each', {}, true, true],
  ['several patients of whom the first is used', { patientIds: undefined as never, cut: ['patientId'] }, true, true],
  ['several agendas', { patientIds: undefined as never, cut: ['agendaId'] }, false, false],
  ['one of several patients', { patientIds: undefined as never, id: 'g~patient:p2' }, false, true],
])('an appointment of %s is shared or not', (_, changes, several, shared) => {
  expect(isOfSeveralPatients(group(changes))).toBe(several);
  expect(isShared(group(changes))).toBe(shared);
});

test('a visit remains comparable if its patient is the last one, and ends if another is', () => {
  const records = new Map([['g', appointmentOf('g', { patientId: 'p1' })]]);
  const learned = withLastPatients(records, new Set(['g~patient:p1', 'g~patient:p2', 'h~patient:p1', 'x']));
  expect([...learned.vanished]).toEqual(['g~patient:p2', 'h~patient:p1', 'x']);
  expect([...learned.records.keys()]).toEqual(['g', 'g~patient:p1']);
  expect(learned.records.get('g~patient:p1')).toMatchObject({ patientId: 'p1', patientIds: ['p1'] });
});

describe('a single read', () => {
  const answering = (answer: Lookup<Appointment>) => {
    const asked: string[] = [];
    const read = readingVisits(async (id) => {
      asked.push(id);
      return answer;
    });
    return { asked, read: (id: string) => read(id, NEVER) };
  };

  test('of a visit asks for its appointment, and finds the visit while the patient is named', async () => {
    const { asked, read } = answering({ found: group() });
    expect(await read('g~patient:p2')).toMatchObject({ found: { id: 'g~patient:p2', patientId: 'p2' } });
    expect(await read('g~patient:p9')).toEqual({ absent: true });
    expect(await read('g')).toEqual({ found: group() });
    expect(asked).toEqual(['g', 'g', 'g']);
  });

  test('of a visit is absent when one patient is left, and says no more than the clinic', async () => {
    expect(await answering({ found: appointmentOf('g', { patientId: 'p1' }) }).read('g~patient:p1')).toEqual({
      absent: true,
    });
    const unusable = { unusable: { recordId: 'g', code: 'bad-time', field: 'start' } };
    for (const answer of [unusable, { absent: true as const }])
      expect(await answering(answer).read('g~patient:p1')).toEqual(answer);
    const deleted = answering({ absent: true, deleted: group() });
    expect(await deleted.read('g~patient:p2')).toMatchObject({ absent: true, deleted: { patientId: 'p2' } });
    expect(await deleted.read('g~patient:p9')).toEqual({ absent: true });
  });
});
