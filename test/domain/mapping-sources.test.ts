import { describe, expect, test } from 'vitest';
import type { Appointment } from '../../src/core/model/records.ts';
import { indexByAgenda } from '../../src/domain/agenda-index.ts';
import {
  activityExclusion,
  beginningIn,
  exclusionOf,
  type FeedRules,
  listedFor,
  listedIn,
  remainingPatients,
  snapshotOf,
} from '../../src/domain/mapping-sources.ts';

const ALL: FeedRules = { agendas: 'all', treatments: 'all', blockedTime: 'show' };

function appointment(changes: Partial<Appointment> = {}): Appointment {
  return {
    id: '1',
    agendaId: 'a1',
    locationId: null,
    patientId: 'p1',
    patient: null,
    treatmentId: 't1',
    time: { kind: 'timed', startAt: 0, endAt: 1 },
    status: 'booked',
    rawStatus: 'Booked',
    updatedAt: null,
    ...changes,
  };
}

describe('an appointment feeds a target', () => {
  test.each<[string, Partial<Appointment>, Partial<FeedRules>, ReturnType<typeof exclusionOf>]>([
    ['of all agendas', {}, {}, null],
    ['of its agenda among several', {}, { agendas: ['a0', 'a1'] }, null],
    ['not of other agendas', {}, { agendas: ['a2'] }, 'agenda'],
    ['of its treatment', {}, { treatments: ['t1'] }, null],
    ['not of other treatments', {}, { treatments: ['t2'] }, 'treatment'],
    ['not without a treatment where treatments are chosen', { treatmentId: null }, { treatments: ['t1'] }, 'treatment'],
    ['as blocked time whatever the treatments', { patientId: null, treatmentId: null }, { treatments: ['t1'] }, null],
    ['not as blocked time if blocked time is hidden', { patientId: null }, { blockedTime: 'hide' }, 'blocked-time'],
    ['with a patient where blocked time is hidden', {}, { blockedTime: 'hide' }, null],
    ['not of another agenda as blocked time', { patientId: null }, { agendas: ['a2'] }, 'agenda'],
  ])('%s', (_, changes, rules, expected) => {
    expect(exclusionOf(appointment(changes), { ...ALL, ...rules })).toBe(expected);
  });
});

describe('an appointment of several patients', () => {
  const group = appointment({ id: 'g', patientIds: ['p1', 'p2'] });
  const unread = { recordId: 'u', code: 'bad-time', field: 'start' };
  const deleted = { recordId: 'd', code: 'tombstone', field: 'status', isTombstone: true as const };
  const unusable = [unread, deleted];
  const snapshot = { completeness: 'complete', records: new Map([['g', group]]), unusable, unidentified: 0 } as const;
  const shown = (crm: unknown) =>
    snapshotOf({ snapshot, streams: {} as never }, { stream: 'appointments', crm }) ?? snapshot;

  test('is listed with its visits for a CRM, and alone for a calendar', () => {
    expect([...shown({}).records.keys()]).toEqual(['g', 'g~patient:p1', 'g~patient:p2']);
    expect(shown(null)).toBe(snapshot);
  });

  test('keeps its visits listed while it is unread, not when it is deleted or a patient leaves', () => {
    const isListed = listedIn(shown({}));
    const ids = ['g', 'g~patient:p1', 'g~patient:p9', 'u', 'u~patient:p1', 'd', 'd~patient:p1'];
    expect(ids.filter(isListed)).toEqual(['g', 'g~patient:p1', 'u', 'u~patient:p1', 'd']);
  });

  test.each<[crm: unknown, agendas: 'all' | string[]]>([
    [null, 'all'],
    [null, ['a1']],
    [null, ['a2']],
    [{}, ['a1']],
  ])('is listed for a target with CRM %j and agendas %j as in the whole list', (crm, agendas) => {
    const records = shown(crm);
    const index = indexByAgenda(snapshot.records);
    const isListed = listedFor({ configuration: { agendas }, crm }, records, index);
    const ids = ['g', 'g~patient:p1', 'g~patient:p9', 'u', 'u~patient:p1', 'd', 'x'];
    expect(ids.filter(isListed)).toEqual(ids.filter(listedIn(records)));
    expect(isListed('g')).toBe(true);
  });

  test('gives its visits their start, and is no activity itself', () => {
    expect(beginningIn({ snapshot }, { stream: 'appointments' }, 'g~patient:p2')).toBe(0);
    const configuration = { ...ALL, statuses: ['booked'] };
    const exclusion = activityExclusion({ configuration: configuration as never }, new Set(['g']));
    expect(exclusion(group)).toBe('several-patients');
    expect(exclusion(shown({}).records.get('g~patient:p2') as Appointment)).toBeNull();
  });
});

describe('remainingPatients', () => {
  const merge = (recordId: string, mergedInto: string) =>
    ({ recordId, code: 'tombstone', field: 'merged', isTombstone: true, mergedInto }) as const;
  const patients = (unusable: ReturnType<typeof merge>[], merged: [string, string][]) => ({
    patients: {
      snapshot: { completeness: 'complete', records: new Map(), unusable, missed: 0 } as never,
      readAt: 0,
      gone: new Map(),
      merged: new Map(merged),
    },
  });

  test('follows merges of the list and of single answers, one after the other', () => {
    const remainingOf = remainingPatients(patients([merge('1', '2')], [['2', '3']]));
    expect(['1', '2', '3', '4'].map(remainingOf)).toEqual(['3', '3', '3', '4']);
  });

  test('ends if merges form a circle, and without a list', () => {
    expect(remainingPatients(patients([merge('1', '2'), merge('2', '1')], []))('1')).toMatch(/^[12]$/);
    expect(remainingPatients({ patients: null })('1')).toBe('1');
  });
});
