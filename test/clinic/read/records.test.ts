import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { compileAppointmentRows } from '../../../src/clinic/read/appointment-rows.ts';
import { compilePatientRows } from '../../../src/clinic/read/catalogue-rows.ts';
import { compileRecords, splitName } from '../../../src/clinic/read/records.ts';
import { type ClinicProfile, clinicProfileSchema } from '../../../src/clinic/schema/profile.ts';
import { episode, invoice, priceList } from '../../../src/clinic/schema/shapes.ts';
import { profileOf } from '../open-client.ts';

type Written = Parameters<typeof clinicProfileSchema.parse>[0];

function profileWith(written: Written = {}): ClinicProfile {
  return clinicProfileSchema.parse(written);
}

function invoices(written: Written = {}) {
  const profile = profileWith(written);
  return compileRecords(invoice, profile.invoices.fields, profile);
}

function recordOf<Model>(mapped: { record: Model } | { unusable: object }): Model {
  if ('unusable' in mapped) throw new Error(`set aside: ${JSON.stringify(mapped.unusable)}`);
  return mapped.record;
}

const INVOICE = {
  id: 12,
  number: '3/A',
  issueDate: '2026-03-02',
  totalAmount: 125.1,
  netAmount: '1250,50',
  status: 'Issued',
  createdAt: '2026-03-02T09:00:00+01:00',
  Items: [
    {
      description: 'Visita',
      quantity: '1',
      vatExemptionCode: 'Art10_n18',
      LinkedPractices: [
        { episodeId: 7, practiceId: '1' },
        { episodeId: '7', practiceId: 2 },
      ],
    },
    { description: 'Bollo', quantity: 1, vatExemptionCode: 'Art99_NotYetKnown', LinkedPractices: null },
  ],
};

describe('an invoice', () => {
  test('is read with its lines, its links and its amounts as decimal texts', () => {
    expect(recordOf(invoices()(INVOICE))).toMatchObject({
      id: '12',
      number: '3/A',
      issueDate: '2026-03-02',
      totalAmount: '125.1',
      netAmount: '1250.50',
      createdAt: Date.parse('2026-03-02T08:00:00Z'),
      customer: null,
      reimbursements: [],
      items: [
        {
          quantity: '1',
          vatExemptionCode: 'Art10_n18',
          linkedPractices: [
            { episodeId: '7', practiceId: '1' },
            { episodeId: '7', practiceId: '2' },
          ],
        },
        { vatExemptionCode: 'Art99_NotYetKnown', linkedPractices: [] },
      ],
    });
  });

  test('under other names needs no more than another profile', () => {
    const read = invoices({
      zone: 'Europe/Rome',
      invoices: {
        fields: {
          totalAmount: ['total'],
          createdAt: ['created_at'],
          items: { at: ['lines'], fields: { linkedPractices: { at: ['links'], fields: { practiceId: ['line_id'] } } } },
        },
      },
    });
    const row = {
      id: '1',
      total: '10.00',
      created_at: '2026-07-01 09:00:00',
      lines: [{ links: [{ line_id: 5 }] }],
    };
    expect(recordOf(read(row))).toMatchObject({
      totalAmount: '10.00',
      createdAt: Date.parse('2026-07-01T07:00:00Z'),
      items: [{ linkedPractices: [{ practiceId: '5', episodeId: null }] }],
    });
  });

  test.each([
    [
      { ...INVOICE, id: undefined },
      { recordId: null, code: 'missing-id', field: 'id' },
    ],
    [
      { ...INVOICE, Items: 'none' },
      { recordId: '12', code: 'wrong-type', field: 'items' },
    ],
    [
      { ...INVOICE, Items: [7] },
      { recordId: '12', code: 'wrong-type', field: 'items' },
    ],
    [
      { ...INVOICE, totalAmount: '1.250,50' },
      { recordId: '12', code: 'wrong-type', field: 'totalAmount' },
    ],
    [
      { ...INVOICE, totalAmount: 'NaN' },
      { recordId: '12', code: 'wrong-type', field: 'totalAmount' },
    ],
    [
      { ...INVOICE, issueDate: '2026-02-30' },
      { recordId: '12', code: 'bad-time', field: 'issueDate' },
    ],
    [
      { ...INVOICE, Items: [{ quantity: {} }] },
      { recordId: '12', code: 'wrong-type', field: 'items.quantity' },
    ],
    ['text', { recordId: null, code: 'wrong-type', field: 'row' }],
    [null, { recordId: null, code: 'wrong-type', field: 'row' }],
  ])('is reported unusable with the faulty field (%#)', (row, unusable) => {
    expect(invoices()(row)).toEqual({ unusable });
  });
});

test('an episode keeps practices with no, one and several doctors apart', () => {
  const profile = profileWith();
  const read = compileRecords(episode, profile.episodes.fields, profile);
  const doctors = [{ id: 1, lastName: 'Rossi' }, { id: '2' }];
  const row = { id: 'e', practices: [{ practiceId: 1 }, { practiceId: 2, doctors: [] }, { practiceId: '3', doctors }] };
  const { practices } = recordOf(read(row));
  expect(practices.map((one) => [one.practiceId, one.doctors.map(({ id }) => id)])).toEqual([
    ['1', []],
    ['2', []],
    ['3', ['1', '2']],
  ]);
});

test('a price list without a needed id in a line names the line', () => {
  const profile = profileWith();
  const read = compileRecords(priceList, profile.priceLists.fields, profile);
  expect(read({ id: 'p', prices: [{ price: 5 }] })).toEqual({
    unusable: { recordId: 'p', code: 'missing-field', field: 'prices.treatmentId' },
  });
});

test('any JSON is read or reported unusable, never thrown', () => {
  const read = invoices();
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (whole, items) => {
      for (const row of [whole, { id: 'x', Items: items }, { ...INVOICE, totalAmount: whole, issueDate: items }]) {
        const mapped = read(row);
        expect('record' in mapped || 'unusable' in mapped).toBe(true);
      }
    }),
  );
});

describe('a name in one field', () => {
  it.each([
    ['Mario Rossi', 'given-first', 'Mario', 'Rossi'],
    ['Maria Grazia Rossi', 'given-first', 'Maria Grazia', 'Rossi'],
    ['Mario De Luca', 'given-first', 'Mario', 'De Luca'],
    ['Anna van der Berg', 'given-first', 'Anna', 'van der Berg'],
    ['Rossi Maria Grazia', 'family-first', 'Maria Grazia', 'Rossi'],
    ['De Luca Mario', 'family-first', 'Mario', 'De Luca'],
    ['Rossi, Mario', 'given-first', 'Mario', 'Rossi'],
    ['De Luca ,  Maria Grazia', 'family-first', 'Maria Grazia', 'De Luca'],
    ['  Rossi ', 'given-first', null, 'Rossi'],
    ['Rossi', 'family-first', null, 'Rossi'],
  ] as const)('"%s", %s, has its parts', (text, order, firstName, lastName) => {
    expect(splitName(text, { order, separator: ',' })).toEqual({ firstName, lastName });
  });

  it('is read for patients without separate name fields', () => {
    const map = compilePatientRows(
      profileOf({ patients: { fullName: { path: 'names[].text', order: 'given-first' } } }),
    );
    const row = { id: 'p', names: [{ text: 'Mario De Luca' }] };
    expect(map(row)).toMatchObject({ record: { firstName: 'Mario', lastName: 'De Luca' } });
    expect(map({ ...row, lastName: 'Rossi' })).toMatchObject({ record: { firstName: null, lastName: 'Rossi' } });
  });

  it('is read of the patient in an appointment', () => {
    const rule = { path: 'patient.name', order: 'family-first' } as const;
    const map = compileAppointmentRows(profileOf({ appointments: { patientFullName: rule } }));
    const times = { start: '2026-12-01T09:00:00Z', end: '2026-12-01T09:30:00Z' };
    const mapped = map({ id: 'a', agendaId: 'g', patient: { id: 'p', name: 'Rossi Anna' }, ...times });
    expect(mapped).toMatchObject({ record: { patient: { id: 'p', firstName: 'Anna', lastName: 'Rossi' } } });
  });
});
