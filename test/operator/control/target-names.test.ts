import { describe, expect, test } from 'vitest';
import {
  agendaNameOf,
  configuredCalendarOf,
  type NamedTenant,
  targetNamesOf,
} from '../../../src/operator/control/target-names.ts';

const AGENDAS = ['Dr Rossi', 'Dr Bianchi', 'Dr Verdi', 'Dr Gallo'].map((name, index) => ({
  ...{ id: `${index + 1}`, name, locationId: null, isActive: true },
}));

type Target = [agendas: 'all' | string[], vendor?: string, stream?: 'appointments' | 'patients'];

function tenantOf(targets: Record<string, Target>, agendas: typeof AGENDAS = AGENDAS): NamedTenant {
  return {
    clinic: { cachedAgendas: () => agendas },
    targets: new Map(
      Object.entries(targets).map(([id, [shown, vendor = 'CalDAV', stream = 'appointments']]) => [
        id,
        { id, stream, vendor, configuration: { agendas: shown, settings: {} } },
      ]),
    ),
  };
}

const nameIn = (target: Target, agendas = AGENDAS) =>
  targetNamesOf(tenantOf({ one: target }, agendas)).get('one')?.name;

describe('the name of a target', () => {
  test('is its doctor with the vendor', () => {
    expect(nameIn([['1'], 'Google Calendar'])).toBe('Dr Rossi (Google Calendar)');
  });

  test('joins two doctors, and counts the others', () => {
    expect(nameIn([['1', '3']])).toBe('Dr Rossi, Dr Verdi (CalDAV)');
    expect(nameIn(['all'])).toBe('Dr Rossi, Dr Bianchi +2 (CalDAV)');
  });

  test('of all agendas leaves out inactive ones', () => {
    const agendas = AGENDAS.map((agenda) => ({ ...agenda, isActive: agenda.id === '2' }));
    expect(nameIn(['all'], agendas)).toBe('Dr Bianchi (CalDAV)');
  });

  test('is the id while no agenda was read, and the id of a single unknown agenda among known ones', () => {
    expect(nameIn([['1']], [])).toBe('one (CalDAV)');
    expect(nameIn(['all'], [])).toBe('one (CalDAV)');
    expect(nameIn([['1', '99']])).toBe('Dr Rossi, 99 (CalDAV)');
    expect(nameIn([['99']])).toBe('one (CalDAV)');
  });

  test('of contacts is the id, because patients have no doctor', () => {
    expect(nameIn(['all', 'HubSpot', 'patients'])).toBe('one (HubSpot)');
  });

  test('is unique in its clinic: two calendars of one doctor and vendor also show their ids', () => {
    const names = targetNamesOf(tenantOf({ home: [['1']], work: [['1']], room: [['2']] }));
    expect([...names.values()].map(({ name }) => name)).toEqual([
      'Dr Rossi (CalDAV, home)',
      'Dr Rossi (CalDAV, work)',
      'Dr Bianchi (CalDAV)',
    ]);
  });
});

test('an agenda that was not read keeps its id', () => {
  expect(['1', '99'].map((id) => agendaNameOf(tenantOf({}), id))).toEqual(['Dr Rossi', '99']);
});

test.each([
  [{ calendar: { create: 'Dr Rossi', home: 'discover' } }, { name: 'Dr Rossi', id: null }],
  [{ calendar: { id: 'primary' } }, { name: null, id: 'primary' }],
  [{ calendar: 'rooms.json' }, { name: null, id: 'rooms.json' }],
  [{ name: 'Feed of room 2' }, { name: 'Feed of room 2', id: null }],
  [{ calendar: { url: 'https://dav.example/rossi' } }, { name: null, id: null }],
  [{ name: 7 }, { name: null, id: null }],
  [null, { name: null, id: null }],
])('a calendar with the settings %j is named by them', (settings, expected) => {
  expect(configuredCalendarOf({ settings })).toEqual(expected);
});
