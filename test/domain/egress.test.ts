import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FactSearch } from '../../src/core/model/patient-facts.ts';
import type { Appointment, Patient } from '../../src/core/model/records.ts';
import { checkedObject, eventCheck } from '../../src/domain/egress.ts';
import { compileMapping } from '../../src/domain/mapping/compile.ts';
import { type Directory, type ProjectionPolicy, project } from '../../src/domain/project.ts';
import { egressStopped } from '../../src/engine/target-plan.ts';
import { crmSchema } from '../../src/settings/crm-schema.ts';
import { parseTitleFormat, type TitleFormat } from '../../src/settings/event-fields.ts';
import { patientOf } from '../tenant/world.ts';
import { appointmentOf, NAMED_DIRECTORY, STATUSES } from './arbitraries.ts';

const KEY = 'verdi'.padEnd(32, '0');
const POLICY: ProjectionPolicy = {
  ...{ title: 'appointment', fields: [], statuses: STATUSES, free: [] },
  ...{ tentative: [], visibility: 'private', labels: [], links: [], presets: [] },
  ...{ language: 'en', zone: 'Europe/Rome' },
};

const [SEEN_BY, GLUED] = ['Seen by {agenda}: {title}', '{agenda}{title}'].map(
  (format) => parseTitleFormat(format)!,
) as [TitleFormat, TitleFormat];

/** What a policy may let events tell. */
const TOLD = {
  title: fc.constantFrom(
    'busy' as const,
    'appointment' as const,
    'code' as const,
    'initials' as const,
    'full' as const,
  ),
  fields: fc.subarray(['location', 'agenda', 'treatment', 'status'] as const),
};

describe('an event', () => {
  const checked = (policy: ProjectionPolicy) => eventCheck(policy, NAMED_DIRECTORY, new FactSearch());
  const made = (appointment: Appointment, policy: ProjectionPolicy) => {
    const item = project(appointment, policy, NAMED_DIRECTORY, () => KEY);
    if (item === null) throw new Error('expected an item');
    return item;
  };
  const decided = (
    changes: { title?: string; description?: string; location?: string },
    policy: Partial<ProjectionPolicy> = {},
  ) => {
    const appointment = appointmentOf('1', { treatmentId: 't1' });
    const all = { ...POLICY, ...policy };
    return checked(all)({ ...made(appointment, all), ...changes }, appointment, () => KEY);
  };

  test.each(['busy', 'appointment', 'code', 'initials'] as const)(
    'at %s that names the patient stays here',
    (title) => {
      expect(decided({ title: 'Mario Rossi' }, { title })).toEqual({ retain: 'egress-last-name', stopsWriting: true });
      expect(decided({ description: 'chiamare MARIO' }, { title })).toMatchObject({ retain: 'egress-first-name' });
      expect(decided({ location: 'Casa Rossi' }, { title })).toMatchObject({ retain: 'egress-last-name' });
    },
  );

  test.each(['busy', 'appointment', 'code'] as const)('at %s that names another patient is blocked', (title) => {
    for (const changes of [{ title: 'Anna Neri' }, { description: 'after Anna' }, { location: 'Casa Neri' }])
      expect(decided(changes, { title })).toEqual({ retain: 'egress-other-person', stopsWriting: true });
  });

  test('at a level below full has no name in its title, however short', () => {
    const appointment = appointmentOf('1', { patient: { id: 'p1', firstName: 'Ada', lastName: 'Li' } });
    const item = { ...made(appointment, POLICY), title: 'Ada Li' };
    const decision = eventCheck(POLICY, NAMED_DIRECTORY, new FactSearch())(item, appointment, () => KEY);
    expect(decision).toEqual({ retain: 'egress-other-person', stopsWriting: true });
  });

  test('at full that names another patient, or an additional one, is blocked for any title format', () => {
    const glued = { title: 'full', fields: ['agenda'], titleFormat: GLUED } as const;
    const other = { retain: 'egress-other-person', stopsWriting: true };
    expect(decided({ title: 'Anna Neri' }, { title: 'full' })).toEqual(other);
    expect(decided({ title: 'Mario Rossi, Anna' }, { title: 'full' })).toEqual(other);
    expect(decided({ description: 'Mario Rossi' }, { title: 'full' })).toEqual(other);
    expect(decided({ title: 'Dr. VerdiAnna Neri' }, glued)).toEqual(other);
    expect(decided({}, glued)).toMatchObject({ item: { title: 'Dr. VerdiMario Rossi' } });
  });

  test('that another appointment made stays here by its time', () => {
    const [one, other] = [appointmentOf('1', { inHours: 1 }), appointmentOf('2', { inHours: 2 })];
    const decision = checked(POLICY)(made(other, POLICY), one, () => KEY);
    expect(decision).toEqual({ retain: 'egress-other-person', stopsWriting: true });
  });

  describe('is at the time of its appointment, to the second', () => {
    const timed = appointmentOf('1').time as { kind: 'timed'; startAt: number; endAt: number };
    const whole = { ...timed, kind: 'all-day', startDate: '2026-06-16', endDate: '2026-06-18' } as const;
    const times: Appointment['time'][] = [
      timed,
      { ...timed, startAt: timed.startAt - 1_000 },
      { ...timed, endAt: timed.endAt + 1_000 },
      whole,
      { ...whole, startDate: '2026-06-15' },
      { ...whole, endDate: '2026-06-19' },
    ];
    const pairs = times.flatMap((shown) => times.map((time) => [JSON.stringify(shown), JSON.stringify(time)] as const));
    test.each(pairs)('%s of %s', (shown, time) => {
      const [one, other] = [shown, time].map((text) =>
        appointmentOf('1', { time: JSON.parse(text) as Appointment['time'] }),
      );
      const item = made(one!, POLICY);
      const decision = eventCheck(POLICY, NAMED_DIRECTORY, new FactSearch())(item, other!, () => KEY);
      expect(decision).toEqual(shown === time ? { item } : { retain: 'egress-other-person', stopsWriting: true });
    });
  });

  test('is checked against the patient in the registry if the appointment names none', () => {
    const appointment = appointmentOf('1', { patient: null });
    const patients = new Map([['p1', { id: 'p1', firstName: 'Mario', lastName: 'Rossi' }]]);
    const item = { ...made(appointment, POLICY), title: 'Rossi' };
    const decision = (given: Appointment) =>
      eventCheck(POLICY, { ...NAMED_DIRECTORY, patients } as Directory, new FactSearch())(item, given, () => KEY);
    expect(decision(appointment)).toMatchObject({ retain: 'egress-last-name' });
    // Without a known patient, the check only shows that the title is not the expected one.
    expect(decision({ ...appointment, patientId: null })).toMatchObject({ retain: 'egress-other-person' });
  });

  test('at full of an unknown patient has the title for no patient', () => {
    const appointment = appointmentOf('1', { patient: null, patientId: null });
    const policy = { ...POLICY, title: 'full' } as const;
    const item = made(appointment, policy);
    const decision = (title: string) =>
      eventCheck(policy, NAMED_DIRECTORY, new FactSearch())({ ...item, title }, appointment, () => KEY);
    expect(decision(item.title)).toMatchObject({ item: { title: item.title } });
    expect(decision('Mario Rossi')).toMatchObject({ retain: 'egress-other-person' });
  });

  test('at full has the name in one or all positions of the title, and no other text there', () => {
    const twice = parseTitleFormat('{title} / {title} @ {agenda}')!;
    const policy = { title: 'full', fields: ['agenda'], titleFormat: twice } as const;
    const desk = {
      ...NAMED_DIRECTORY,
      agendas: new Map([['a1', { ...NAMED_DIRECTORY.agendas.get('a1')!, name: 'Appointment desk' }]]),
    };
    const appointment = appointmentOf('1');
    const decision = (title: string) => {
      const all = { ...POLICY, ...policy };
      return eventCheck(all, desk, new FactSearch())({ ...made(appointment, all), title }, appointment, () => KEY);
    };
    expect(decision('Mario Rossi / Appointment @ Appointment desk')).toMatchObject({ item: {} });
    expect(decision('Appointment / Mario Rossi @ Appointment desk')).toMatchObject({ item: {} });
    expect(decision('Mario Rossi / Mario Rossi @ Mario Rossi desk')).toMatchObject({ item: {} });
    const other = { retain: 'egress-other-person', stopsWriting: true };
    expect(decision('Mario Rossi / Mario Rossi @ Appointment')).toEqual(other);
    expect(decision('Mario Rossi Appointment / Appointment @ Appointment desk')).toEqual(other);
    expect(decision('Mario Rossi')).toEqual(other);
  });

  test('at full names the patient', () => {
    expect(decided({ title: 'Mario Rossi' }, { title: 'full' })).toMatchObject({ item: { title: 'Mario Rossi' } });
  });

  test('is judged by a check that has seen others as by one that has seen none', () => {
    const directory: Directory = {
      ...NAMED_DIRECTORY,
      agendas: new Map(['a1', 'a2'].map((id) => [id, { id, name: `Dr. ${id}`, locationId: 'l1', isActive: true }])),
      pageUrl: 'https://clinic.example/{id}',
    };
    const policy = fc.record({
      ...TOLD,
      links: fc.subarray(['page', 'teleVisit'] as const),
    });
    const look = fc.record({
      agendaId: fc.constantFrom('a1', 'a2'),
      treatmentId: fc.constantFrom('t1', null),
      patientId: fc.constantFrom('p1', null),
      status: fc.constantFrom('booked' as const, 'confirmed' as const),
      teleVisitUrl: fc.constantFrom('https://visit.example/1', 'https://visit.example/rossi'),
      // What a defect would make of it.
      changes: fc.constantFrom({}, { title: 'Mario' }, { description: 'Dr. a2' }, { location: 'Anna' }),
    });
    fc.assert(
      fc.property(policy, fc.array(look, { maxLength: 20 }), (given, looks) => {
        const all = { ...POLICY, ...given };
        const remembering = eventCheck(all, directory, new FactSearch());
        for (const [index, { changes, ...rest }] of looks.entries()) {
          const appointment = { ...appointmentOf(String(index), rest), ...rest };
          const item = { ...project(appointment, all, directory, () => KEY)!, ...changes };
          const anew = eventCheck(all, directory, new FactSearch());
          const decision = remembering(item, appointment, () => KEY);
          expect(decision).toEqual(anew(item, appointment, () => KEY));
          if (Object.keys(changes).length === 0) expect(decision).toEqual({ item });
        }
      }),
    );
  });

  test('that is as its policy says is never kept back, whatever the patient is called', () => {
    // Names that also occur in texts of clinic-mirror and of the clinic.
    const words = [
      'Busy',
      'Appointment',
      'Status',
      'booked',
      'Verdi',
      'Centro',
      'Roma',
      'Ultrasound',
      'Verd',
      'Seen',
      'Via Roma 1',
      'Appo',
      'Appointmentson',
      'Großmann',
      'O’Brien',
    ];
    const name = fc.option(fc.oneof(fc.constantFrom(...words), fc.string({ unit: 'grapheme', maxLength: 12 })));
    const policy = fc.record({
      ...TOLD,
      titleFormat: fc.constantFrom(undefined, SEEN_BY, GLUED),
    });
    fc.assert(
      fc.property(name, name, policy, (firstName, lastName, given) => {
        const patient = { id: 'p1', firstName, lastName };
        const appointment = appointmentOf('1', { patient, treatmentId: 't1' });
        // If initials directly follow a doctor's name, only the full name can be separated from it.
        const titleFormat = given.titleFormat === GLUED && given.title !== 'full' ? SEEN_BY : given.titleFormat;
        const all = {
          ...POLICY,
          ...given,
          titleFormat,
          fields: given.titleFormat === undefined ? given.fields : [...new Set([...given.fields, 'agenda' as const])],
        };
        const item = made(appointment, all);
        expect(checked(all)(item, appointment, () => KEY)).toEqual({ item });
      }),
    );
  });
});

describe('an object in a CRM', () => {
  const mappingOf = (mapping: object, rest: object = {}) =>
    compileMapping(crmSchema.parse({ mapping, ...rest }), 'Europe/Rome');
  const anna = patientOf('1', {
    ...{ lastName: 'Verdi', taxCode: 'VRDNNA80E52H501X', birthDate: '1980-05-12' },
    address: { street: 'Via Appia 12', postalCode: '00183', city: 'Verdi', province: null, country: null },
  });

  function decided(
    mapping: object,
    properties: Record<string, string>,
    patient: Patient = anna,
    others: string[] = [],
  ) {
    const target = {
      stream: 'patients' as const,
      crm: { mapping: mappingOf(mapping), patientHistory: null, refusals: [] },
    };
    return checkedObject({ properties, contactKey: null, startAt: 0 }, patient, target, {
      others,
      facts: new FactSearch(),
    });
  }

  test.each([
    [{ note: 'language' }, 'VRDNNA80E52H501X', 'egress-tax-code'],
    [{ note: 'firstName' }, 'Anna Verdi', 'egress-last-name'],
    [{ note: 'email' }, 'family@example.org 333 1234567', 'egress-phone'],
    [{ note: 'fullName' }, 'Anna Verdi 12.05.1980', 'egress-birth-date'],
    [{ note: 'language' }, 'via appia 12', 'egress-address'],
  ])('that the mapping %o does not make so stays here: %s', (mapping, value, code) => {
    expect(decided(mapping, { note: value })).toEqual({ retain: code, stopsWriting: true });
  });

  test.each([
    [{ note: 'firstName' }, 'Bruno'],
    [{ note: { from: 'lastName', transforms: ['upper'] } }, 'BIANCHI'],
    [{ note: 'fullName' }, 'Bruno Bianchi'],
    [{ note: 'email' }, 'bruno@example.org'],
    [{ note: 'taxCode' }, 'BNCBRN80A01H501U'],
    [{ note: { from: 'mobilePhone', transforms: ['e164'] } }, '+393477654321'],
  ])('that the mapping %o fills from another patient is blocked: %s', (mapping, value) => {
    expect(decided(mapping, { note: value })).toEqual({ retain: 'egress-other-person', stopsWriting: true });
  });

  /** Numbers as receptions write them: two in a field, with words, or with the zero for domestic calls. */
  const frontDeskPhones = fc.constantFrom(
    ...[
      '333 1234567 / 06 1234567',
      '06 1234567; cell. 347 7654321 (madre)',
      'tel. 06 1234567',
      '333 1234567 333 7654321',
    ],
    ...[
      '+32 (0)2 123 45 67',
      '+320100000 00',
      '+44 (0)7700 900123',
      '+47 21 23 45 67',
      '0039 06 1234567',
      '333-1234567-8',
    ],
  );

  test('is never blocked for values that its mapping derives from its own patient', () => {
    const text = fc.option(fc.string({ unit: 'grapheme', maxLength: 20 }));
    const transform = fc.constantFrom('upper', 'lower', 'title-case', 'first-line', null);
    const field = fc.constantFrom('firstName', 'lastName', 'fullName', 'email', 'taxCode', 'mobilePhone');
    const phone = fc.option(fc.oneof(text, fc.stringMatching(/^\+?3[0-9 ]{5,14}$/), frontDeskPhones));
    const given = fc.record({ firstName: text, lastName: text, email: text, taxCode: text, mobilePhone: phone });
    fc.assert(
      fc.property(given, field, transform, fc.boolean(), (values, from, change, isNumber) => {
        const wanted = isNumber && from === 'mobilePhone' ? 'e164' : change;
        const rule = { note: { from, ...(wanted === null ? {} : { transforms: [wanted] }) } };
        const patient = { ...anna, ...values };
        const { properties } = mappingOf(rule).map({ stream: 'patients', patient, derived: null });
        expect(decided(rule, properties as Record<string, string>, patient)).toMatchObject({ item: { properties } });
      }),
    );
  });

  test('may contain the fields that a template, a list of fields or a condition reads', () => {
    expect(decided({ note: { template: 'c/o {lastName}' } }, { note: 'c/o Verdi' })).toMatchObject({ item: {} });
    expect(decided({ note: { first: ['email', 'address.street'] } }, { note: 'Via Appia 12' })).toMatchObject({
      item: {},
    });
    const condition = { field: 'lastName', empty: false };
    expect(decided({ note: { value: 'x', when: condition } }, { note: 'Verdi' })).toMatchObject({ item: {} });
  });

  test.each([
    [{ note: 'address.street' }, 'Via Appia 12'],
    [{ note: 'phone' }, '+39 06 1234567'],
    [{ note: 'birthDate' }, '12.05.1980'],
  ])('may hold of its patient what the mapping %o takes: %s', (mapping, value) => {
    const patient = { ...anna, phone: '061234567' };
    expect(decided(mapping, { note: value }, patient)).toMatchObject({ item: {} });
    expect(decided({ note: 'language' }, { note: value }, patient)).toMatchObject({ stopsWriting: true });
  });

  test('whose telephone is another one stays here, however it is written', () => {
    const patient = { ...anna, phone: '06 1234567', mobilePhone: null };
    expect(decided({ note: 'phone' }, { note: '+39 (06) 123-4567' }, patient)).toMatchObject({ item: {} });
    expect(decided({ note: 'phone' }, { note: '06 7654321' }, patient)).toMatchObject({
      retain: 'egress-other-person',
    });
    expect(decided({ note: 'mobilePhone' }, { note: '333' }, patient)).toMatchObject({ retain: 'egress-other-person' });
    expect(decided({ note: 'mobilePhone' }, { note: '' }, patient)).toMatchObject({ item: {} });
  });

  test('of a visit contains no data of its patient under any mapping; its service name is not checked', () => {
    const crm = { mapping: mappingOf({ note: 'firstName' }), patientHistory: null, refusals: [] };
    const decision = (note: string, given: typeof crm | null = crm) =>
      checkedObject(
        { properties: { note }, contactKey: null, startAt: 0 },
        anna,
        { stream: 'appointments', crm: given },
        { others: [], facts: new FactSearch() },
      );
    expect(decision('Anna')).toMatchObject({ retain: 'egress-first-name' });
    expect(decision('Bruno')).toMatchObject({ item: {} });
    expect(decision('Anna', null)).toMatchObject({ item: {} });
  });

  test('may hold texts of the operator and of the clinic that a patient is called by', () => {
    expect(decided({ note: { value: 'Verdi' } }, { note: 'Verdi' })).toMatchObject({ item: {} });
    expect(decided({ note: 'address.city' }, { note: 'Verdi' }, anna, ['Verdi'])).toMatchObject({ item: {} });
  });

  test('is not looked through for numbers and dates that are other things', () => {
    const first = { note: 'derived.firstSeenOn' };
    expect(decided(first, { note: '1980-05-12' })).toMatchObject({ item: {} });
  });
});

test('blocked objects are counted by code, together with objects excluded by rules', () => {
  expect(egressStopped({ agenda: 3, 'egress-phone': 2, 'no-egress-': 1 })).toEqual([['egress-phone', 2]]);
});
