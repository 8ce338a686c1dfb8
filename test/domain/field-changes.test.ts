import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CalendarItem, CrmItem } from '../../src/core/model/items.ts';
import type { TargetSetup } from '../../src/domain/cycle-input.ts';
import { fieldTeller } from '../../src/domain/field-changes.ts';
import type { Directory } from '../../src/domain/project.ts';
import type { TargetConfiguration } from '../../src/settings/configuration.ts';
import { items } from './arbitraries.ts';

const DIRECTORY: Directory = {
  agendas: new Map([['a1', { id: 'a1', name: 'Dr Bianchi', locationId: null, isActive: true }]]),
  locations: new Map([
    ['r1', { id: 'r1', name: 'Room 1', address: 'Via Roma 1', zone: null }],
    ['r2', { id: 'r2', name: 'Room 2', address: null, zone: null }],
  ] as never),
  treatments: new Map(),
  patients: new Map(),
  pageUrl: null,
};
const EVENT: CalendarItem = {
  title: 'Appointment',
  description: 'Dr Bianchi\nStatus: booked',
  location: 'Room 1, Via Roma 1',
  time: { kind: 'timed', start: '2026-06-15T10:00:00+02:00', end: '2026-06-15T10:30:00+02:00', zone: 'Europe/Rome' },
  busy: true,
};
const at = (time: string) => Date.parse(`2026-06-15T${time}:00+02:00`);
const text = (told: string) => ({ kind: 'text', text: told });

function tellerOf(changes: Partial<TargetConfiguration> = {}) {
  const configuration = { title: 'appointment', labels: [{ category: 'Dental' }], ...changes } as TargetConfiguration;
  return fieldTeller({ configuration, crm: null }, DIRECTORY);
}

describe('a change to an event', () => {
  test('is shown per field, before and after, without unchanged fields', () => {
    const wanted: CalendarItem = {
      ...EVENT,
      description: 'Dr Bianchi\nStatus: confirmed',
      location: 'Room 2',
      time: {
        kind: 'timed',
        start: '2026-06-15T11:00:00+02:00',
        end: '2026-06-15T11:30:00+02:00',
        zone: 'Europe/Rome',
      },
      busy: false,
      presets: { colour: 'gold', category: 'Dental', reminderMinutes: 30 },
    };
    const fields = ['time', 'location', 'description', 'busy', 'presets'];
    expect(tellerOf()({ fields, wanted, held: EVENT })).toEqual([
      {
        field: 'time',
        before: { kind: 'time', startAt: at('10:00'), endAt: at('10:30') },
        after: { kind: 'time', startAt: at('11:00'), endAt: at('11:30') },
      },
      { field: 'location', before: text('Room 1, Via Roma 1'), after: text('Room 2') },
      {
        field: 'description',
        before: text('Dr Bianchi, Status: booked'),
        after: text('Dr Bianchi, Status: confirmed'),
      },
      { field: 'busy', before: text('busy'), after: text('free') },
      { field: 'presets', before: { kind: 'none' }, after: text('gold, Dental, 30 min') },
    ]);
  });

  test('is all that comes, and all that goes', () => {
    const fields = ['time', 'title', 'location', 'description', 'busy', 'tentative', 'visibility'];
    const made = tellerOf()({ fields: [], wanted: EVENT, held: null });
    expect(made.map(({ field, before }) => [field, before.kind])).toEqual(fields.map((field) => [field, 'none']));
    const gone = tellerOf()({ fields: [], wanted: null, held: EVENT });
    expect(gone.map(({ field, after }) => [field, after.kind])).toEqual(fields.map((field) => [field, 'none']));
    expect(gone[0]?.before).toMatchObject({ kind: 'time', startAt: at('10:00') });
  });

  test('is shown without the previous value if the calendar could not be queried', () => {
    expect(tellerOf()({ fields: ['busy', 'unknown'], wanted: EVENT, held: 'unread' })).toEqual([
      { field: 'busy', before: { kind: 'unread' }, after: text('busy') },
    ]);
    expect(tellerOf()({ fields: [], wanted: null, held: 'unread' })).toEqual([]);
  });

  test('never shows text that a user wrote into the calendar, nor a title that names the patient', () => {
    const written = { title: 'Mario Rossi', description: 'Mario calls\nDr Bianchi', location: 'at the Rossi’s' };
    const fields = Object.keys(written);
    const told = tellerOf()({ fields, wanted: EVENT, held: { ...EVENT, ...written, presets: { category: 'Rossi' } } });
    expect(JSON.stringify(told)).not.toMatch(/Mario|Rossi/);
    expect(told).toContainEqual({ field: 'title', before: { kind: 'withheld' }, after: text('Appointment') });
    expect(told).toContainEqual({ field: 'description', before: text('…, Dr Bianchi'), after: expect.anything() });
    const named = tellerOf({ title: 'full' })({ fields: ['title'], wanted: { ...EVENT, ...written }, held: EVENT });
    expect(named).toContainEqual({ field: 'title', before: text('Appointment'), after: { kind: 'withheld' } });
  });

  test('contains no event text except that of the clinic', () => {
    const tell = tellerOf({ title: 'full' });
    const own = /^(busy|free|yes|no|private|default|Dr Bianchi|Room 2|Room 1.*|.*(Status|Stato): .*)$/;
    fc.assert(
      fc.property(items, items, (wanted, held) => {
        for (const { before, after } of tell({ fields: ['title', 'description', 'location'], wanted, held })) {
          for (const value of [before, after]) if (value.kind === 'text') expect(value.text).toMatch(own);
        }
      }),
    );
  });
});

test('of a CRM object shows the words of the mapping, and no other value that may name a patient', () => {
  const crm = {
    mapping: {
      properties: [
        { name: 'consent', kind: 'boolean' },
        { name: 'email', kind: 'text' },
        { name: 'stage', kind: 'text', words: ['lead', 'customer'] },
      ],
    },
  } as unknown as TargetSetup['crm'];
  const tell = fieldTeller({ configuration: {} as TargetConfiguration, crm }, DIRECTORY);
  const object = (properties: CrmItem['properties']): CrmItem => ({ properties, contactKey: null, startAt: 0 });
  const held = object({ email: 'anna@example.org', stage: 'Anna’s', consent: false });
  const wanted = object({ email: 'a.verdi@example.org', stage: 'customer', consent: true });
  expect(tell({ fields: ['consent', 'email', 'stage'], wanted, held })).toEqual([
    { field: 'consent', before: text('no'), after: text('yes') },
    { field: 'email', before: { kind: 'withheld' }, after: { kind: 'withheld' } },
    { field: 'stage', before: { kind: 'withheld' }, after: text('customer') },
  ]);
});
