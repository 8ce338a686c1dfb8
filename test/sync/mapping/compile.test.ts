import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Patient } from '../../../src/model/records.ts';
import {
  CRM_SOURCES,
  type CrmFile,
  type CrmRule,
  type CrmStream,
  crmSourceOf,
  type SourceKind,
} from '../../../src/settings/crm-schema.ts';
import { compileMapping } from '../../../src/sync/mapping/compile.ts';
import type { Mapped, Mapping, MappingSource } from '../../../src/sync/mapping/contract.ts';
import { fieldPaths } from '../../../src/sync/mapping/fields.ts';
import { withoutGuard } from '../../../src/sync/mapping/text.ts';
import { crmBesideContacts, crmOf, faultsOf, tenantWithPart } from '../../settings/crm-file.ts';
import { BARE_PATIENT, noExpressions, ofAppointment, ofInvoice, ofPatient, PATIENT } from './sources.ts';

function mappingOf(lines: string, zone = 'Europe/Rome'): Mapping {
  return compileMapping(crmOf(lines), zone, noExpressions);
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
  const { properties } = compileMapping(crm, 'Europe/Rome', noExpressions).mapNow(source);
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
    ['a: { expression: "derived.visits" }', { history: true, invoices: false, doctors: false, treatment: false }],
    ['a: { expression: "derived.(invoiced - paid)", kind: number }', { history: true, invoices: true }],
    ['a: { expression: "$$.lastName" }', { history: false, invoices: false }],
    ['a: { expression: "$count(**)", kind: number }', { history: true, invoices: true, treatment: true }],
    ['a: { expression: "$string($)" }', { history: true, invoices: true }],
  ])('%s: the additional data to fetch', (rule, needs) => {
    expect(mappingOf(`mapping: { ${rule} }\nexpressions: allowed`).needs).toMatchObject(needs);
  });

  test('the same record gives the same values, in the same order', () => {
    const [one, other] = ['mapping: { b: email, a: phone }', 'mapping: { a: phone, b: email }'].map((lines) =>
      JSON.stringify(mappingOf(lines).mapNow(ofPatient())),
    );
    expect(one).toBe(other);
  });
});

describe('values', () => {
  const patient = (change: Partial<Patient>) => ofPatient({ ...PATIENT, ...change });

  test('consents are true, false, or empty where the clinic does not tell', () => {
    const mapping = mappingOf('mapping: { a: consents.privacy, b: consents.marketing }');
    expect(mapping.mapNow(ofPatient()).properties).toEqual({ a: true, b: false });
    expect(mapping.mapNow(ofPatient(BARE_PATIENT)).properties).toEqual({ a: null, b: null });
  });

  test('what looks like a formula is guarded; what the operator wrote is not', () => {
    const mapping = mappingOf('mapping: { a: lastName, b: phone, c: { value: "=x" } }');
    const { properties } = mapping.mapNow(patient({ lastName: '\t=cmd()', phone: '+39 333 1234567' }));
    expect(properties).toEqual({ a: "'=cmd()", b: '+393331234567', c: '=x' });
  });

  test('an invalid number stays unchanged, unless e164 is set', () => {
    const mapping = mappingOf('mapping: { a: phone, b: { from: phone, transforms: [e164] } }');
    expect(mapping.mapNow(patient({ phone: ' 333  chiedere di Ugo' }))).toEqual({
      properties: { a: '333 chiedere di Ugo', b: null },
      unusablePhones: ['b'],
    });
    expect(mapping.mapNow(patient({ phone: null }))).toEqual({ properties: { a: null, b: null } });
  });

  test('numbers without a prefix are of the region', () => {
    const swiss = mappingOf('mapping: { a: phone }\nregion: CH');
    expect(swiss.mapNow(patient({ phone: '044 668 18 00' })).properties).toEqual({ a: '+41446681800' });
  });

  test('transforms run in order, on each present value', () => {
    const mapping = mappingOf(
      'mapping: { a: { from: address.street, transforms: [first-line, upper] }, b: { from: derived.lastVisitAt, transforms: [date, year] }, c: { from: lastName, transforms: [title-case] } }',
    );
    const source = patient({ lastName: 'DE LUCA' });
    expect(mapping.mapNow(source).properties).toEqual({ a: 'VIA ROMA 1', b: 2026, c: 'De Luca' });
    expect(mapping.mapNow(ofPatient(BARE_PATIENT, null)).properties).toEqual({ a: null, b: null, c: null });
  });

  test("a day is the day of the clinic's zone", () => {
    const lines = 'mapping: { a: derived.lastVisitOn }';
    expect(mappingOf(lines, 'America/New_York').mapNow(ofPatient()).properties).toEqual({ a: '2026-01-31' });
    expect(mappingOf(lines, 'Pacific/Auckland').mapNow(ofPatient()).properties).toEqual({ a: '2026-02-01' });
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
      return mapping.mapNow(patient({ lastName: a ?? null, phone: b ?? null, address }));
    };
    fc.assert(
      fc.property(texts, texts, texts, (lastName, phone, street) => {
        const address = { street, postalCode: null, city: null, province: null, country: null };
        const once = mapping.mapNow(patient({ lastName, phone, address }));
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
  const numbers = new Set(patients.map((patient) => mapping.mapNow(ofPatient(patient)).properties.b));
  expect(numbers.size).toBe(10_000);
});

test('a record of another stream is refused', () => {
  expect(() => mappingOf('mapping: { a: email }').mapNow(ofInvoice())).toThrow(TypeError);
});

test('thousands of records are mapped with breaks, so that others have their turn', async () => {
  const told = async (_: readonly unknown[], inputs: readonly unknown[]) => inputs.map(() => [{ value: 'told' }]);
  const crm = crmOf("mapping: { a: { expression: 'lastName' }, b: phone }\nexpressions: allowed");
  const sources = Array.from({ length: 2_000 }, () => ofPatient());
  let turns = 0;
  let isOver = false;
  const countTurns = () => {
    turns += 1;
    if (!isOver) setImmediate(countTurns);
  };
  setImmediate(countTurns);
  const mapped = await compileMapping(crm, 'Europe/Rome', told).mapAll(sources, new AbortController().signal);
  isOver = true;
  expect(mapped).toHaveLength(2_000);
  expect(turns).toBeGreaterThan(30);
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
    expect(mapping.mapNow(refused).properties).toEqual({ do_not_mail: true, gender: null, language: 'Italiano' });
    const untold = { ...source, patient: { ...source.patient, consents: {} } };
    expect(mapping.mapNow(untold).properties).toMatchObject({ do_not_mail: null });
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
    const mapping = compileMapping(crmBesideContacts(stream, lines), 'Europe/Rome', noExpressions);
    expect(mapping.mapNow(source).properties).toEqual({ OwnerId: owner });
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
