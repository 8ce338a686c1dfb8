import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withoutGuard } from '../../../src/core/model/csv.ts';
import type { Patient } from '../../../src/core/model/records.ts';
import { compileMapping } from '../../../src/domain/mapping/compile.ts';
import type { Mapped, Mapping, MappingSource } from '../../../src/domain/mapping/contract.ts';
import { fieldPaths } from '../../../src/domain/mapping/fields.ts';
import {
  CRM_SOURCES,
  type CrmFile,
  type CrmRule,
  type CrmStream,
  crmSourceOf,
  type SourceKind,
} from '../../../src/settings/crm-schema.ts';
import { crmBesideContacts, crmOf, faultsOf, tenantWithPart } from '../../settings/crm-file.ts';
import { BARE_PATIENT, ofAppointment, ofInvoice, ofPatient, PATIENT } from './sources.ts';

function mappingOf(lines: string, zone = 'Europe/Rome'): Mapping {
  return compileMapping(crmOf(lines), zone);
}

/** A part that maps every field of a stream, each under a property with its number in the table. */
function everyField(stream: CrmStream): { paths: string[]; crm: CrmFile } {
  const paths = Object.keys(CRM_SOURCES[stream]);
  const rules = paths.map((path, index): [string, CrmRule] => [
    `p${String(index).padStart(2, '0')}`,
    { from: path, transforms: [] },
  ]);
  const sensitive = new Map(paths.map((path) => [path, 'decided']));
  return { paths, crm: { ...crmOf('mapping: { a: email }'), stream, sensitive, mapping: new Map(rules) } };
}

function mapEvery(source: MappingSource): Record<string, unknown> {
  const { crm, paths } = everyField(source.stream);
  const { properties } = compileMapping(crm, 'Europe/Rome').map(source);
  return Object.fromEntries(Object.values(properties).map((value, index) => [paths[index], value]));
}

describe('a record is mapped', () => {
  test('a patient, in every field', () => {
    expect(mapEvery(ofPatient())).toEqual({
      firstName: 'Maria Pia',
      lastName: 'D’Angelo',
      fullName: 'Maria Pia D’Angelo',
      email: 'maria@example.test',
      phone: '+390669812345',
      mobilePhone: '+393331234567',
      language: 'it',
      isActive: true,
      gender: 'F',
      birthDate: '1980-01-01',
      taxCode: 'DNGMRP80A41H501X',
      'address.street': 'Via Roma 1\nint. 3',
      'address.postalCode': '00100',
      'address.city': 'Roma',
      'address.province': 'RM',
      'address.country': 'IT',
      updatedAt: '2026-06-01T10:00:00.000Z',
      'derived.lastVisitAt': '2026-01-31T23:30:00.000Z',
      'derived.lastVisitOn': '2026-02-01',
      'derived.nextAppointmentAt': '2026-07-01T21:59:00.000Z',
      'derived.nextAppointmentOn': '2026-07-01',
      'derived.visits': 3,
      'derived.noShows': 1,
      'derived.firstSeenOn': '2020-02-29',
      'derived.standing': 'active',
      'derived.invoiced': 100.3,
      'derived.paid': 80.1,
      'derived.open': 20.2,
    });
  });

  test('a patient without data has every property, empty', () => {
    const values = mapEvery(ofPatient(BARE_PATIENT, null));
    expect(values).toEqual({ ...Object.fromEntries(Object.keys(values).map((path) => [path, null])), isActive: false });
  });

  test('an appointment, on the day that it is in the clinic', () => {
    expect(mapEvery(ofAppointment())).toEqual({
      startAt: '2026-06-30T22:15:00.000Z',
      endAt: '2026-06-30T23:00:00.000Z',
      date: '2026-07-01',
      durationMinutes: 45,
      status: 'confirmed',
      location: 'Centro',
      agenda: 'Dr. Bianchi',
      treatment: 'Igiene',
    });
  });

  test('an appointment of a whole day has the day that the clinic says', () => {
    const time = { kind: 'all-day', startDate: '2026-03-29', endDate: '2026-03-30' } as const;
    const at = { startAt: Date.UTC(2026, 2, 28, 23), endAt: Date.UTC(2026, 2, 29, 22) };
    expect(mapEvery(ofAppointment({ time: { ...time, ...at } })).date).toBe('2026-03-29');
  });

  test('an invoice, its open amount to the cent', () => {
    expect(mapEvery(ofInvoice())).toEqual({
      number: '12/2026',
      date: '2026-03-01',
      total: 100.1,
      paid: 70.05,
      open: 30.05,
      currency: 'EUR',
      doctors: 'Anna Bianchi, Ugo Verdi',
      isPaid: false,
      status: 'Issued',
    });
  });

  test.each([
    [100, 100, 0, true],
    [100, 100.01, -0.01, true],
    [0, 0, 0, true],
    [-50, 0, -50, false],
    [-50, -50, 0, true],
    [100, null, null, null],
    [null, 0, null, null],
  ])('of a total of %s with %s paid, %s is open', (total, paid, open, isPaid) => {
    expect(mapEvery(ofInvoice({ total, paid }))).toMatchObject({ open, isPaid });
  });

  test('every field of the table can be read, and no other', () => {
    for (const stream of Object.keys(CRM_SOURCES) as CrmStream[]) {
      expect(fieldPaths(stream).sort()).toEqual(Object.keys(CRM_SOURCES[stream]).sort());
    }
  });

  test('each value is of the kind that the table says', () => {
    const isOf: Record<SourceKind, (value: unknown) => boolean> = {
      text: (value) => typeof value === 'string',
      number: (value) => typeof value === 'number',
      boolean: (value) => typeof value === 'boolean',
      date: (value) => /^\d{4}-\d\d-\d\d$/.test(String(value)),
      instant: (value) => new Date(String(value)).toISOString() === value,
    };
    for (const source of [ofPatient(), ofAppointment(), ofInvoice()]) {
      const wrong = Object.entries(mapEvery(source)).filter(
        ([path, value]) => !isOf[crmSourceOf(source.stream, path)?.kind ?? 'text'](value),
      );
      expect(wrong).toEqual([]);
    }
  });

  test("the clinic's id is in none of the values", () => {
    expect(JSON.stringify(mapEvery(ofPatient()))).not.toContain('secret-id');
  });
});

describe('the properties of a mapping', () => {
  test('are listed by name, with the kind after the transforms', () => {
    const { properties } = mappingOf(
      'mapping: { z: firstName, B: { value: true }, a: { from: updatedAt, transforms: [year] }, N: { value: 2 } }',
    );
    expect(properties).toEqual([
      { name: 'B', kind: 'boolean' },
      { name: 'N', kind: 'number' },
      { name: 'a', kind: 'number' },
      { name: 'z', kind: 'text', namePart: 'first' },
    ]);
  });

  test.each([
    ['a: firstName', { history: false, invoices: false, doctors: false, treatment: false }],
    ['a: derived.visits', { history: true, invoices: false, doctors: false, treatment: false }],
    ['a: derived.open', { history: true, invoices: true, doctors: false, treatment: false }],
    ['a: { template: "{lastName}[ ({derived.visits})]" }', { history: true, invoices: false }],
    ['a: { first: [derived.open, derived.invoiced] }', { history: true, invoices: true }],
    ['a: { value: x, when: { field: derived.standing, equals: new } }', { history: true, invoices: false }],
  ])('%s: the additional data to fetch', (rule, needs) => {
    expect(mappingOf(`mapping: { ${rule} }`).needs).toMatchObject(needs);
  });

  test('the same record gives the same values, in the same order', () => {
    const [one, other] = ['mapping: { b: email, a: phone }', 'mapping: { a: phone, b: email }'].map((lines) =>
      JSON.stringify(mappingOf(lines).map(ofPatient())),
    );
    expect(one).toBe(other);
  });
});

describe('values', () => {
  const patient = (change: Partial<Patient>) => ofPatient({ ...PATIENT, ...change });

  test('consents are true, false, or empty where the clinic does not tell', () => {
    const mapping = mappingOf('mapping: { a: consents.privacy, b: consents.marketing }');
    expect(mapping.map(ofPatient()).properties).toEqual({ a: true, b: false });
    expect(mapping.map(ofPatient(BARE_PATIENT)).properties).toEqual({ a: null, b: null });
  });

  test('what looks like a formula is guarded; what the operator wrote is not', () => {
    const mapping = mappingOf('mapping: { a: lastName, b: phone, c: { value: "=x" } }');
    const { properties } = mapping.map(patient({ lastName: '\t=cmd()', phone: '+39 333 1234567' }));
    expect(properties).toEqual({ a: "'=cmd()", b: '+393331234567', c: '=x' });
  });

  test('an invalid number stays unchanged, unless e164 is set', () => {
    const mapping = mappingOf('mapping: { a: phone, b: { from: phone, transforms: [e164] } }');
    expect(mapping.map(patient({ phone: ' 333  chiedere di Ugo' }))).toEqual({
      properties: { a: '333 chiedere di Ugo', b: null },
      unusablePhones: ['b'],
    });
    expect(mapping.map(patient({ phone: null }))).toEqual({ properties: { a: null, b: null } });
  });

  test('numbers without a prefix are of the region', () => {
    const swiss = mappingOf('mapping: { a: phone }\nregion: CH');
    expect(swiss.map(patient({ phone: '044 668 18 00' })).properties).toEqual({ a: '+41446681800' });
  });

  test('transforms run in order, on each present value', () => {
    const mapping = mappingOf(
      'mapping: { a: { from: address.street, transforms: [first-line, upper] }, b: { from: derived.lastVisitAt, transforms: [date, year] }, c: { from: lastName, transforms: [title-case] } }',
    );
    const source = patient({ lastName: 'DE LUCA' });
    expect(mapping.map(source).properties).toEqual({ a: 'VIA ROMA 1', b: 2026, c: 'De Luca' });
    expect(mapping.map(ofPatient(BARE_PATIENT, null)).properties).toEqual({ a: null, b: null, c: null });
  });

  test("a day is the day of the clinic's zone", () => {
    const lines = 'mapping: { a: derived.lastVisitOn }';
    expect(mappingOf(lines, 'America/New_York').map(ofPatient()).properties).toEqual({ a: '2026-01-31' });
    expect(mappingOf(lines, 'Pacific/Auckland').map(ofPatient()).properties).toEqual({ a: '2026-02-01' });
  });

  test('a string that is mapped again stays unchanged, except for the guard', () => {
    const mapping = mappingOf('mapping: { a: lastName, b: phone, c: address.street }');
    const texts = fc.string({ unit: 'binary', maxLength: 20 });
    const again = (mapped: Mapped) => {
      if ('fault' in mapped) throw new Error(mapped.fault);
      const [a, b, c] = ['a', 'b', 'c'].map((name) => {
        const value = mapped.properties[name];
        return typeof value === 'string' ? withoutGuard(value) : null;
      });
      const address = { street: c ?? null, postalCode: null, city: null, province: null, country: null };
      return mapping.map(patient({ lastName: a ?? null, phone: b ?? null, address }));
    };
    fc.assert(
      fc.property(texts, texts, texts, (lastName, phone, street) => {
        const address = { street, postalCode: null, city: null, province: null, country: null };
        const once = mapping.map(patient({ lastName, phone, address }));
        expect(again(once)).toEqual(once);
      }),
      { numRuns: 150 },
    );
  });
});

test('10,000 patients are mapped, in less time than a test has', () => {
  const mapping = mappingOf('mapping: { a: fullName, b: mobilePhone, c: derived.nextAppointmentOn, d: email }');
  const patients = Array.from({ length: 10_000 }, (_, count) => ({
    ...PATIENT,
    mobilePhone: `333 ${1_000_000 + count}`,
  }));
  const numbers = new Set(patients.map((patient) => mapping.map(ofPatient(patient)).properties.b));
  expect(numbers.size).toBe(10_000);
});

test('a record of another stream is refused', () => {
  expect(() => mappingOf('mapping: { a: email }').map(ofInvoice())).toThrow(TypeError);
});

describe('a template', () => {
  const textFrom = (template: string, source = ofPatient()) =>
    mappingOf(`mapping: { a: { template: '${template}' } }`).map(source).properties.a;

  test('joins fields and texts, without the sections of empty fields', () => {
    expect(textFrom('{address.city}[ ({address.province})]')).toBe('Roma (RM)');
    const address = { street: null, postalCode: null, city: 'Roma', province: null, country: null };
    expect(textFrom('{address.city}[ ({address.province})]', ofPatient({ ...PATIENT, address }))).toBe('Roma');
  });

  test('shows days, instants, numbers and flags as the CRM gets them', () => {
    expect(textFrom('{derived.lastVisitOn} {updatedAt} {derived.visits} {isActive}')).toBe(
      '2026-02-01 2026-06-01T10:00:00.000Z 3 true',
    );
  });

  test('is empty if all of its fields are, and not a formula in a spreadsheet', () => {
    expect(textFrom('Dear {firstName}', ofPatient(BARE_PATIENT))).toBeNull();
    expect(textFrom('={firstName}')).toBe("'=Maria Pia");
  });

  test('has at most the length of a CRM text, whatever the clinic tells', () => {
    const patient = { ...PATIENT, lastName: '😀'.repeat(20_000) };
    const value = textFrom('{lastName}{lastName}', ofPatient(patient));
    expect(String(value).length).toBeLessThanOrEqual(65_536);
    expect(String(value).isWellFormed()).toBe(true);
  });
});

describe('several fields', () => {
  const first = () => mappingOf('mapping: { a: { first: [mobilePhone, phone, email] } }');

  test('give the first value that is not empty', () => {
    expect(first().map(ofPatient()).properties).toEqual({ a: '+393331234567' });
    expect(first().map(ofPatient({ ...PATIENT, mobilePhone: ' ' })).properties).toEqual({ a: '+390669812345' });
    expect(first().map(ofPatient(BARE_PATIENT)).properties).toEqual({ a: null });
  });

  test('are no copy of one field', () => {
    expect(first().copies.size).toBe(0);
    expect(['mobilePhone', 'phone', 'email', 'taxCode'].map(first().reads.field)).toEqual([true, true, true, false]);
  });
});

describe('a condition', () => {
  const owner = (when: string) =>
    mappingOf(`mapping: { a: { value: yes, when: ${when}, otherwise: 'no' } }`).map(ofPatient()).properties.a;

  test.each([
    ['{ field: address.city, equals: Roma }', 'yes'],
    ['{ field: address.city, equals: roma }', 'no'],
    ['{ field: derived.visits, equals: 3 }', 'yes'],
    ['{ field: derived.visits, in: [1, 2] }', 'no'],
    ['{ field: consents.privacy, equals: true }', 'yes'],
    ['{ field: consents.privacy, equals: false }', 'no'],
    ['{ field: derived.lastVisitOn, in: ["2026-02-01"] }', 'yes'],
    ['{ field: email, empty: false }', 'yes'],
    ['{ field: email, empty: true }', 'no'],
  ])('%s gives %s', (when, value) => {
    expect(owner(when)).toBe(value);
  });

  test('that is not met leaves the property empty without another value', () => {
    const mapping = mappingOf('mapping: { a: { from: email, when: { field: email, empty: true } } }');
    expect(mapping.map(ofPatient()).properties).toEqual({ a: null });
  });

  test('another value stands for every empty one, and is a word of the mapping', () => {
    const mapping = mappingOf('mapping: { a: { from: language, values: { en: English }, otherwise: Other } }');
    expect(mapping.properties).toEqual([{ name: 'a', kind: 'text', words: ['English', 'Other'] }]);
    expect(mapping.reads.texts).toEqual(['English', 'Other']);
    expect([ofPatient(), ofPatient(BARE_PATIENT)].map((one) => mapping.map(one).properties.a)).toEqual([
      ...['Other', 'Other'],
    ]);
  });
});

describe("the CRM's own words", () => {
  test('stand for the field’s, after the transforms; what is not listed is left empty', () => {
    const mapping = mappingOf(
      [
        'mapping:',
        '  language: { from: language, transforms: [upper], values: { IT: Italiano, EN: English } }',
        '  gender: { from: gender, values: { M: Herr } }',
        '  do_not_mail: { from: consents.marketing, values: { "true": false, "false": true } }',
        'sensitive: { gender: decided by R. }',
      ].join('\n'),
    );
    expect(mapping.properties).toEqual([
      { name: 'do_not_mail', kind: 'boolean' },
      { name: 'gender', kind: 'text', words: ['Herr'] },
      { name: 'language', kind: 'text', words: ['Italiano', 'English'] },
    ]);
    const source = ofPatient();
    if (source.stream !== 'patients') throw new Error('not a patient');
    const refused = { ...source, patient: { ...source.patient, consents: { marketing: false } } };
    expect(mapping.map(refused).properties).toEqual({ do_not_mail: true, gender: null, language: 'Italiano' });
    const untold = { ...source, patient: { ...source.patient, consents: {} } };
    expect(mapping.map(untold).properties).toMatchObject({ do_not_mail: null });
  });

  test.each<[string, MappingSource, string, string | null]>([
    ['location', ofAppointment(), 'Centro', '005A'],
    ['location', ofAppointment(), 'Mare', null],
    ['agenda', ofAppointment(), 'Dr. Bianchi', '005A'],
    ['doctors', ofInvoice({ doctors: ['Anna Bianchi'] }), 'Anna Bianchi', '005A'],
    ['doctors', ofInvoice({ doctors: ['Anna Bianchi', 'Ugo Verdi'] }), 'Anna Bianchi', null],
  ])('identify the owner of a record by its %s; an unlisted value has no owner (%#)', (from, source, listed, owner) => {
    const why = from === 'location' ? '' : `\nsensitive: { ${from}: decided }`;
    const lines = `mapping: { OwnerId: { from: ${from}, values: { ${listed}: 005A } } }${why}`;
    const stream = source.stream === 'invoices' ? 'invoices' : 'appointments';
    const mapping = compileMapping(crmBesideContacts(stream, lines), 'Europe/Rome');
    expect(mapping.map(source).properties).toEqual({ OwnerId: owner });
  });

  test.each(['location', 'agenda', 'doctors'])(
    'cannot name the owner of a contact by its %s, which patients do not have',
    (from) => {
      const lines = `mapping: { OwnerId: { from: ${from}, values: { Centro: 005A } } }`;
      expect(faultsOf(tenantWithPart(lines)).map(({ path }) => path)).toEqual([
        'targets.people.crm.mapping.OwnerId.from',
      ]);
    },
  );
});
