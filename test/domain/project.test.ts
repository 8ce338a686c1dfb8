import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Appointment } from '../../src/core/model/records.ts';
import { formatText, valuesOf } from '../../src/core/model/text-format.ts';
import { type Directory, type ProjectionPolicy, project } from '../../src/domain/project.ts';
import { parseTitleFormat, TITLE_VALUES } from '../../src/settings/event-fields.ts';
import type { Label } from '../../src/settings/tenant-schema.ts';
import { appointmentOf, EMPTY_DIRECTORY, NOTHING_MORE, STATUSES } from './arbitraries.ts';

const KEY = 'k7m2'.padEnd(32, '0');
const POLICY: ProjectionPolicy = {
  ...NOTHING_MORE,
  presets: [],
  title: 'appointment',
  fields: [],
  statuses: STATUSES.filter((status) => status !== 'cancelled'),
  free: [],
  language: 'en',
  zone: 'Europe/Rome',
};
const DIRECTORY: Directory = {
  agendas: new Map([['a1', { id: 'a1', name: 'Dr. Verdi', locationId: 'l1', isActive: true }]]),
  locations: new Map([
    ['l1', { id: 'l1', name: 'Centro', address: 'Via Roma 1', zone: 'Europe/Lisbon' }],
    ['l2', { id: 'l2', name: 'Nord', address: null, zone: null }],
  ]),
  treatments: new Map([['t1', { id: 't1', name: 'Ultrasound' }]]),
  patients: new Map([['p1', { id: 'p1', firstName: 'Mario', lastName: 'Rossi' }]]),
  pageUrl: null,
};

function itemOf(changes: Partial<Appointment> = {}, policy: Partial<ProjectionPolicy> = {}, directory = DIRECTORY) {
  const item = project(
    appointmentOf('1', { treatmentId: 't1', ...changes }),
    { ...POLICY, ...policy },
    directory,
    () => KEY,
  );
  if (item === null) throw new Error('expected an item');
  return item;
}

describe('a title with a format', () => {
  const given = (format: string) => ({ titleFormat: parseTitleFormat(format) ?? undefined });

  test.each([
    ['{agenda}: {title}', {}, 'Dr. Verdi: Appointment'],
    ['[{agenda}: ]{title}[ ({treatment})]', {}, 'Dr. Verdi: Appointment (Ultrasound)'],
    ['[{agenda}: ]{title}[ ({treatment})]', { treatmentId: null }, 'Dr. Verdi: Appointment'],
    ['[{agenda}: ]{title}[ ({treatment})]', { treatmentId: null, agendaId: 'unknown' }, 'Appointment'],
    ['{treatment} · {status}', {}, 'Ultrasound · booked'],
    ['{treatment}', { treatmentId: null }, 'Appointment'],
    ['{location}, {title}', { patientId: null, patient: null }, 'Centro, Busy'],
  ])('%s of %o reads %s', (format, changes, expected) => {
    const fields = ['agenda', 'treatment', 'status', 'location'] as const;
    expect(itemOf({ locationId: 'l1', ...changes }, { ...given(format), fields }).title).toBe(expected);
  });

  test('is not said again in the description', () => {
    const policy = { ...given('{treatment}'), fields: ['agenda', 'treatment'] as const };
    expect(itemOf({}, policy).description).toBe('Dr. Verdi');
  });

  test.each(['', 'visit', '{patient}', '{title', 'title}', '[{title}', '[[{title}]]', '{}', '[x] {title} {taxCode}'])(
    'is refused where it reads %s',
    (format) => {
      expect(parseTitleFormat(format)).toBeNull();
    },
  );

  test('contains only the fields that it names', () => {
    const values = fc.dictionary(fc.constantFrom(...TITLE_VALUES), fc.string({ unit: fc.constantFrom('a', ' ', 'b') }));
    const texts = fc.string({ unit: fc.constantFrom('·', ' ', ':') });
    const sections = fc.array(fc.tuple(fc.boolean(), texts, fc.constantFrom(...TITLE_VALUES), texts), { minLength: 1 });
    fc.assert(
      fc.property(sections, values, (all, told) => {
        const format = all.map(([isOptional, before, value, after]) =>
          isOptional ? `[${before}{${value}}${after}]` : `${before}{${value}}${after}`,
        );
        const parsed = parseTitleFormat(format.join('')) ?? [];
        expect(valuesOf(parsed)).toEqual(all.map(([, , value]) => value));
        const shown = formatText(parsed, (name) => told[name] ?? null);
        const [letters, expected] = [
          shown.replaceAll(/[^ab]/g, ''),
          all.map(([, , value]) => (told[value] ?? '').replaceAll(' ', '')).join(''),
        ];
        expect(letters).toBe(expected);
      }),
    );
  });
});

test.each([
  ['free', [], true],
  ['free', ['no_show'], false],
] as const)('the time of a no-show appointment is busy unless its status is %s: %j', (_name, free, busy) => {
  expect(itemOf({ status: 'no_show' }, { free }).busy).toBe(busy);
});

function timed(startAt: string, endAt: string): Pick<Appointment, 'time'> {
  return { time: { kind: 'timed', startAt: Date.parse(startAt), endAt: Date.parse(endAt) } };
}

describe('a title', () => {
  test.each([
    ['busy', 'Busy'],
    ['appointment', 'Appointment'],
    ['code', 'Appointment K7M2'],
    ['initials', 'M. R.'],
    ['full', 'Mario Rossi'],
  ] as const)('of level %s reads %s', (title, expected) => {
    expect(itemOf({}, { title }).title).toBe(expected);
  });

  test('speaks the language of the tenant', () => {
    expect(itemOf({}, { language: 'it' }).title).toBe('Appuntamento');
    expect(itemOf({}, { language: 'it', title: 'busy' }).title).toBe('Occupato');
  });

  test.each(['appointment', 'code', 'initials', 'full'] as const)('of blocked time is Busy at level %s', (title) => {
    expect(itemOf({ patientId: null, patient: null }, { title }).title).toBe('Busy');
  });

  test.each(['initials', 'full'] as const)('at level %s falls back to Appointment if no patient is known', (title) => {
    for (const firstName of [' ', '\u200b', '\u00ad\u2060', '\u3164']) {
      expect(itemOf({ patient: { id: 'p1', firstName, lastName: null } }, { title }).title).toBe('Appointment');
    }
    expect(itemOf({ patient: null, patientId: 'p9' }, { title }).title).toBe('Appointment');
  });

  test.each(['initials', 'full'] as const)('at level %s names none of several patients', (title) => {
    expect(itemOf({ patient: null, patientIds: ['p1', 'p2'] }, { title }).title).toBe('Appointment');
  });

  test('takes the name from the registry if the appointment has none', () => {
    expect(itemOf({ patient: null }, { title: 'full' }).title).toBe('Mario Rossi');
  });

  test.each([
    ['élodie', 'de Sà', 'É. D.'],
    ['e\u0301va', 'x', 'E\u0301. X.'],
    ['👩🏽‍⚕️nora', 'ibsen', '👩🏽‍⚕️. I.'],
    ['李', '王', '李. 王.'],
    ['\u200bMario', 'Rossi', 'M. R.'],
  ])('of initials keeps a letter with its combining marks: %s %s', (firstName, lastName, expected) => {
    expect(itemOf({ patient: { id: 'p1', firstName, lastName } }, { title: 'initials' }).title).toBe(expected);
  });
});

describe('canaries of a patient', () => {
  const personal = fc.string({ minLength: 3, maxLength: 30, unit: 'grapheme' }).map((text) => `~${text}~`);
  const policies = fc.record({
    title: fc.constantFrom('busy', 'appointment', 'code'),
    fields: fc.subarray(['location', 'agenda', 'treatment', 'status'] as const),
    language: fc.constantFrom('it', 'en'),
  });

  test('are in no item below the level of initials, whatever fields are allowed', () => {
    fc.assert(
      fc.property(policies, personal, personal, personal, fc.boolean(), (policy, first, last, id, inline) => {
        const patient = { id, firstName: first, lastName: last, phone: `+39${first}`, email: `${last}@example.org` };
        const directory = { ...DIRECTORY, patients: new Map([[id, patient]]) };
        const item = itemOf({ patientId: id, patient: inline ? patient : null }, policy, directory);
        const text = JSON.stringify(item);
        for (const canary of [first, last, id]) expect(text).not.toContain(JSON.stringify(canary).slice(1, -1));
      }),
    );
  });

  test('other than the name are in no item at all', () => {
    const patient = { id: 'P-CANARY', firstName: 'Mario', lastName: 'Rossi', phone: '+39333', email: 'm@example.org' };
    const all = { title: 'full', fields: ['location', 'agenda', 'treatment', 'status'] } as const;
    const text = JSON.stringify(itemOf({ patientId: 'P-CANARY', patient }, all));
    expect(text).toContain('Mario Rossi');
    expect(text).not.toMatch(/CANARY|39333|example/);
  });
});

describe('fields other than the title', () => {
  test('no field is shown unless it is allowed', () => {
    expect(itemOf()).toMatchObject({ description: null, location: null, busy: true });
  });

  test('each allowed field is shown, in lines', () => {
    const item = itemOf({}, { fields: ['agenda', 'treatment', 'status', 'location'] });
    expect(item.description).toBe('Dr. Verdi\nUltrasound\nStatus: booked');
    expect(item.location).toBe('Centro, Via Roma 1');
  });

  test('what the catalogue does not know is left out', () => {
    const fields = ['agenda', 'treatment', 'location'] as const;
    expect(itemOf({}, { fields }, EMPTY_DIRECTORY)).toMatchObject({ description: null, location: null });
    expect(itemOf({ treatmentId: null }, { fields: ['treatment'] }).description).toBeNull();
  });

  test("the appointment's own location goes before its agenda's", () => {
    expect(itemOf({ locationId: 'l2' }, { fields: ['location'] }).location).toBe('Nord');
  });

  test.each(STATUSES)('the status %s is shown in both languages', (status) => {
    const shown = { statuses: STATUSES, fields: ['status'] } as const;
    const texts = (['en', 'it'] as const).map((language) => itemOf({ status }, { ...shown, language }).description);
    expect(texts[0]).toMatch(/^Status: [a-z ]+$/);
    expect(texts[1]).toMatch(/^Stato: [a-z ]+$/);
    expect(texts[0]).not.toContain('undefined');
  });
});

test('an appointment whose status the target does not show has no item', () => {
  for (const status of STATUSES) {
    const item = project(appointmentOf('1', { status }), { ...POLICY, statuses: ['booked'] }, DIRECTORY, () => KEY);
    expect(item === null, status).toBe(status !== 'booked');
  }
});

describe('a time', () => {
  test('is in the zone of the location, or of the tenant if the location has none', () => {
    const summer = timed('2026-06-16T07:00:00Z', '2026-06-16T08:00:00Z');
    expect(itemOf(summer).time).toEqual({
      kind: 'timed',
      start: '2026-06-16T08:00:00+01:00',
      end: '2026-06-16T09:00:00+01:00',
      zone: 'Europe/Lisbon',
    });
    expect(itemOf({ ...summer, locationId: 'l2' }).time).toMatchObject({
      start: '2026-06-16T09:00:00+02:00',
      zone: 'Europe/Rome',
    });
  });

  test('that lies across the hour that is skipped keeps its length', () => {
    const { time } = itemOf(timed('2026-03-29T00:30:00Z', '2026-03-29T01:30:00Z'), {}, EMPTY_DIRECTORY);
    expect(time).toMatchObject({ start: '2026-03-29T01:30:00+01:00', end: '2026-03-29T03:30:00+02:00' });
  });

  test('in the repeated hour is distinguished by its offset', () => {
    const first = itemOf(timed('2026-10-25T00:15:00Z', '2026-10-25T00:45:00Z'), {}, EMPTY_DIRECTORY).time;
    const second = itemOf(timed('2026-10-25T01:15:00Z', '2026-10-25T01:45:00Z'), {}, EMPTY_DIRECTORY).time;
    expect(first).toMatchObject({ start: '2026-10-25T02:15:00+02:00', end: '2026-10-25T02:45:00+02:00' });
    expect(second).toMatchObject({ start: '2026-10-25T02:15:00+01:00', end: '2026-10-25T02:45:00+01:00' });
  });

  test('of whole days is dates, in any zone', () => {
    const time = { kind: 'all-day', startDate: '2026-06-16', endDate: '2026-06-18', startAt: 1, endAt: 2 } as const;
    expect(itemOf({ time }).time).toEqual({ kind: 'all-day', startDate: '2026-06-16', endDate: '2026-06-18' });
  });
});

describe('how an item is shown', () => {
  test('is unchanged without further options', () => {
    expect(Object.keys(itemOf())).toEqual(['title', 'description', 'location', 'time', 'busy']);
  });

  test('as not yet certain by its status, and as public as its calendar', () => {
    const policy = { tentative: ['booked'], visibility: 'default' } as const;
    expect(itemOf({ status: 'booked' }, policy)).toMatchObject({ busy: true, tentative: true, visibility: 'default' });
    expect(itemOf({ status: 'confirmed' }, policy)).not.toHaveProperty('tentative');
  });

  test.each<[string, Partial<Appointment>, object | undefined]>([
    ['the first label that fits', { status: 'no_show', treatmentId: 't1' }, { colour: 'gray' }],
    [
      'a label that matches all conditions',
      { agendaId: 'a2', treatmentId: 't1' },
      { colour: 'red', category: 'Surgery' },
    ],
    [
      'a label of a further agenda',
      { agendaId: 'a1', agendaIds: ['a1', 'a2'], treatmentId: 't1' },
      { colour: 'red', category: 'Surgery' },
    ],
    ['none if only half of the conditions match', { agendaId: 'a1', treatmentId: 't1' }, undefined],
    ['none by a treatment that it has not', { agendaId: 'a2', treatmentId: null }, undefined],
  ])('gets %s', (_, changes, expected) => {
    const labels: Label[] = [
      { statuses: ['no_show'], colour: 'gray' },
      { agendas: ['a2'], treatments: ['t1'], colour: 'red', category: 'Surgery' },
    ];
    expect(itemOf(changes, { labels }).presets).toEqual(expected);
  });

  test('with a reminder, or with none at all', () => {
    expect(itemOf({}, { reminderMinutes: 15 }).presets).toEqual({ reminderMinutes: 15 });
    expect(itemOf({}, { reminderMinutes: 'none' }).presets).toEqual({ reminderMinutes: 'none' });
    expect(itemOf({}, { reminderMinutes: 15, free: ['booked'] })).not.toHaveProperty('presets');
  });
});

describe('the links of an item', () => {
  const PAGES: Directory = { ...DIRECTORY, pageUrl: 'https://clinic.example/agenda?open={id}' };
  const VISIT = { id: 'a/1 &x', teleVisitUrl: 'https://visit.example/r/7' };
  const both = { links: ['page', 'teleVisit'] } as const;
  const shown = (policy: Partial<ProjectionPolicy>, directory = PAGES) =>
    project(appointmentOf('1', VISIT), { ...POLICY, ...policy }, directory, () => KEY);

  test('are omitted unless they are configured', () => {
    expect(shown({})).toEqual(shown({}, DIRECTORY));
    expect(JSON.stringify(shown({}))).not.toContain('https');
  });

  test('are in the field of the vendor for links, with no data of the appointment except its id', () => {
    const item = shown({ ...both, presets: ['pageUrl', 'teleVisitUrl'] });
    expect(item).toMatchObject({
      description: null,
      location: null,
      presets: {
        pageUrl: 'https://clinic.example/agenda?open=a%2F1%20%26x',
        teleVisitUrl: 'https://visit.example/r/7',
      },
    });
  });

  test('are in the text if the vendor has no field for links', () => {
    const item = shown({ ...both, fields: ['status', 'location'] });
    expect(item).toMatchObject({
      description:
        'Status: booked\nVideo visit: https://visit.example/r/7\nIn the clinic system: https://clinic.example/agenda?open=a%2F1%20%26x',
    });
    expect(item).not.toHaveProperty('presets');
  });

  test('are omitted if they are longer than calendars accept', () => {
    const appointment = appointmentOf('x'.repeat(500));
    expect(project(appointment, { ...POLICY, ...both }, PAGES, () => KEY)?.description).toBeNull();
  });

  test('are omitted if the clinic sends none', () => {
    const item = project(appointmentOf('1'), { ...POLICY, ...both }, DIRECTORY, () => KEY);
    expect(item).toMatchObject({ description: null, location: null });
    expect(item).not.toHaveProperty('presets');
  });
});

test('a text that is too long to be stored is shortened', () => {
  const name = 'n'.repeat(1_000_000);
  const long = { ...DIRECTORY, treatments: new Map([['t1', { id: 't1', name }]]) };
  const { title } = itemOf({}, { titleFormat: parseTitleFormat('{treatment}') ?? undefined }, long);
  expect(title).toBe(`${'n'.repeat(8_191)}…`);
});
