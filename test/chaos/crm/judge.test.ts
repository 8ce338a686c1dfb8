import { describe, expect, test } from 'vitest';
import { type ExpectedState, expectedState } from './expected.ts';
import { type CrmTotals, type Found, type Holdings, isExactCrm, judge } from './judge.ts';

const NOON = Date.parse('2026-03-10T11:00:00Z');
const HOUR_MS = 3_600_000;

type Clinic = Parameters<typeof expectedState>[0];
type Patient = ReturnType<Clinic['patients']> extends Iterable<infer One> ? One : never;
type Appointment = ReturnType<Clinic['appointments']> extends Iterable<infer One> ? One : never;

function patient(id: string, email: string | null, granted = true): Patient {
  const consents = { privacy: { granted, date: null }, marketing: { granted: false, date: null } };
  const details = { consents } as unknown as Patient['details'];
  const person = { id, firstName: 'Anna', lastName: `Rossi ${id}`, email, phone: `+39 333 000000${id}` };
  return { ...person, details, tenantId: 't', createdAt: 0, updatedAt: 0 };
}

function visit(id: string, patientId: string | null, start: number, more: Partial<Appointment> = {}): Appointment {
  const usual = { agendaId: 'a', allDay: false, status: 'Booked', deleted: false } as const;
  return { id, patientId, start, end: start + HOUR_MS, ...usual, ...more };
}

/** Two family members, one patient with a stranger's address, one without relatives, one without consent. */
const PATIENTS = [
  patient('1', 'family@example.com'),
  patient('2', 'Family@example.com'),
  patient('3', 'taken@example.com'),
  patient('4', 'own@example.com'),
  patient('5', 'no@example.com', false),
];
const APPOINTMENTS = [
  visit('a', '1', NOON + HOUR_MS),
  visit('b', '2', NOON + HOUR_MS),
  visit('c', '3', NOON - 48 * HOUR_MS, { status: 'Completed' }),
  visit('d', '4', NOON + 30 * HOUR_MS),
  visit('e', '5', NOON + HOUR_MS),
  visit('f', '4', NOON + 50 * HOUR_MS, { status: 'Cancelled' }),
  visit('g', '4', NOON + 60 * HOUR_MS, { deleted: true }),
  visit('h', null, NOON + HOUR_MS),
];
const RULES = { oneOwner: true, ofStrangers: new Set(['taken@example.com']) };
const CLINIC = { patients: () => PATIENTS, appointments: () => APPOINTMENTS };

function expectedAt(...times: number[]): ExpectedState {
  return expectedState(CLINIC, 't', times.length === 0 ? [NOON] : times, RULES);
}

interface Crm {
  contacts: Found[];
  activities: Found[];
  strangers: Holdings['strangers'] & { now: Map<string, string> };
}

/** A CRM in which everything is right, with a contact and an activity that people made. */
function rightCrm(): Crm {
  const contacts = PATIENTS.slice(0, 4).map(({ id, firstName, lastName, email, phone }): Found => {
    const days: Readonly<Record<string, string>> = { 1: '2026-03-10', 2: '2026-03-10', 4: '2026-03-11' };
    const address = id === '1' || id === '4' ? email : null;
    const said = { phone: (phone ?? '').replaceAll(' ', ''), marketing: 'false', nextOn: days[id] ?? null };
    return { id, isOurs: true, values: { firstName, lastName, email: address, ...said }, contactIds: [] };
  });
  const statuses: Readonly<Record<string, string>> = { c: 'completed' };
  const activities = APPOINTMENTS.slice(0, 4).map(({ id, patientId, start, end }): Found => {
    const [startAt, endAt] = [new Date(start).toISOString(), new Date(end).toISOString()];
    const values = { startAt, endAt, status: statuses[id] ?? 'booked' };
    return { id, isOurs: true, values, contactIds: [patientId ?? ''] };
  });
  const stranger = { id: 'x', isOurs: false, values: { lastName: 'Rossi 3', email: 'taken@example.com' } };
  contacts.push({ ...stranger, contactIds: [] });
  activities.push({ id: 'y', isOurs: false, values: { startAt: null, endAt: null, status: null }, contactIds: ['x'] });
  const bytes = () =>
    new Map([
      ['x', 'a contact'],
      ['y', 'an activity'],
    ]);
  return { contacts, activities, strangers: { before: bytes(), now: bytes() } };
}

function at<Entry>(list: Entry[], index: number): Entry {
  return list[index] as Entry;
}

function setValues(found: Found, values: Found['values']): void {
  found.values = { ...found.values, ...values };
}

type Faults = { contacts?: Partial<CrmTotals['contacts']>; activities?: Partial<CrmTotals['activities']> };

/** Possible defects, and the differences that the judge reports for each. */
const BREAKS: [what: string, how: (crm: Crm) => void, shows: Faults | 'strangers'][] = [
  [
    'a contact twice',
    ({ contacts }) => contacts.push({ ...at(contacts, 3), id: 'z' }),
    { contacts: { duplicates: 1 } },
  ],
  [
    'a contact without a key',
    ({ contacts }) => contacts.push({ ...at(contacts, 3), id: 'z', isOurs: false }),
    { contacts: { duplicates: 1 } },
  ],
  [
    'a contact of a patient without consent',
    ({ contacts }) => contacts.push({ id: 'z', isOurs: true, values: { lastName: 'Rossi 5' }, contactIds: [] }),
    { contacts: { duplicates: 1 } },
  ],
  [
    'a contact missing',
    ({ contacts }) => contacts.splice(3, 1),
    { contacts: { missing: 1 }, activities: { wrong: 1 } },
  ],
  ['an old number', ({ contacts }) => setValues(at(contacts, 3), { phone: '+39333' }), { contacts: { wrong: 1 } }],
  ['a lost address', ({ contacts }) => setValues(at(contacts, 3), { email: null }), { contacts: { wrong: 1 } }],
  [
    'the address of a stranger',
    ({ contacts }) => setValues(at(contacts, 2), { email: 'taken@example.com' }),
    { contacts: { wrong: 1 } },
  ],
  [
    "a family's address lost",
    ({ contacts }) => setValues(at(contacts, 0), { email: null }),
    { contacts: { wrong: 1 } },
  ],
  [
    'a day that is over',
    ({ contacts }) => setValues(at(contacts, 0), { nextOn: '2026-03-09' }),
    { contacts: { wrong: 1 } },
  ],
  [
    'an activity twice',
    ({ activities }) => activities.push({ ...at(activities, 0), id: 'z' }),
    { activities: { duplicates: 1 } },
  ],
  ['an activity missing', ({ activities }) => activities.splice(3, 1), { activities: { missing: 1 } }],
  [
    'an activity at its old time',
    ({ activities }) => setValues(at(activities, 3), { startAt: new Date(NOON).toISOString() }),
    { activities: { missing: 1, duplicates: 1 } },
  ],
  [
    'an old status',
    ({ activities }) => setValues(at(activities, 2), { status: 'booked' }),
    { activities: { wrong: 1 } },
  ],
  [
    'an activity of another contact',
    ({ activities }) => Object.assign(at(activities, 0), { contactIds: ['4'] }),
    { activities: { wrong: 1 } },
  ],
  [
    'activities of one time exchanged',
    ({ activities }) => {
      Object.assign(at(activities, 0), { contactIds: ['2'] });
      Object.assign(at(activities, 1), { contactIds: ['1'] });
      setValues(at(activities, 1), { status: 'confirmed' });
    },
    { activities: { wrong: 1 } },
  ],
  [
    'an activity without a contact',
    ({ activities }) => Object.assign(at(activities, 3), { contactIds: [] }),
    { activities: { wrong: 1 } },
  ],
  [
    'an activity of two contacts',
    ({ activities }) => Object.assign(at(activities, 3), { contactIds: ['4', '1'] }),
    { activities: { wrong: 1 } },
  ],
  [
    "an activity of a stranger's contact",
    ({ activities }) => Object.assign(at(activities, 2), { contactIds: ['x'] }),
    { activities: { wrong: 1 } },
  ],
  ["a stranger's contact changed", ({ strangers }) => strangers.now.set('x', 'another contact'), 'strangers'],
  ["a stranger's contact gone", ({ strangers }) => strangers.now.delete('x'), 'strangers'],
];

describe('the judge of a CRM', () => {
  test('finds no defect in a correct CRM', () => {
    const totals = judge(rightCrm(), expectedAt());
    expect(totals).toEqual({
      contacts: { records: 4, remoteRecords: 4, duplicates: 0, missing: 0, wrong: 0, texts: [] },
      activities: { records: 4, remoteRecords: 4, duplicates: 0, missing: 0, wrong: 0, texts: [] },
      strangers: { records: 2, changed: 0 },
    });
    expect(isExactCrm(totals)).toBe(true);
  });

  test.each(BREAKS)('sees %s', (_what, how, shows) => {
    const crm = rightCrm();
    how(crm);
    const totals = judge(crm, expectedAt());
    expect(isExactCrm(totals)).toBe(false);
    const none = { duplicates: 0, missing: 0, wrong: 0 };
    const { contacts = {}, activities = {} } = shows === 'strangers' ? {} : shows;
    expect(totals).toMatchObject({
      contacts: { ...none, ...contacts },
      activities: { ...none, ...activities },
      strangers: { changed: shows === 'strangers' ? 1 : 0 },
    });
  });

  test('allows for a day that changed during the cycle, and for no other', () => {
    const afterFirst = NOON + 2 * HOUR_MS;
    const crm = rightCrm();
    expect(isExactCrm(judge(crm, expectedAt(NOON, afterFirst)))).toBe(true);
    expect(isExactCrm(judge(crm, expectedAt(afterFirst)))).toBe(false);
  });

  test('accepts either family member with the address, but not both if an address has one owner', () => {
    const crm = rightCrm();
    setValues(at(crm.contacts, 0), { email: null });
    setValues(at(crm.contacts, 1), { email: 'family@example.com' });
    expect(isExactCrm(judge(crm, expectedAt()))).toBe(true);
    setValues(at(crm.contacts, 0), { email: 'family@example.com' });
    expect(judge(crm, expectedAt()).contacts.wrong).toBe(1);
    const everywhere = expectedState(CLINIC, 't', [NOON], { oneOwner: false, ofStrangers: new Set() });
    setValues(at(crm.contacts, 2), { email: 'taken@example.com' });
    expect(isExactCrm(judge(crm, everywhere))).toBe(true);
  });
});
