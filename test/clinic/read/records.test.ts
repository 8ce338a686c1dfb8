import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileRecords } from '../../../src/clinic/read/records.ts';
import { type ClinicProfile, clinicProfileSchema } from '../../../src/clinic/schema/profile.ts';
import { episode, invoice, priceList } from '../../../src/clinic/schema/shapes.ts';

type Written = Parameters<typeof clinicProfileSchema.parse>[0];

function profileOf(written: Written = {}): ClinicProfile {
  return clinicProfileSchema.parse(written);
}

function invoices(written: Written = {}) {
  const profile = profileOf(written);
  return compileRecords(invoice, profile.invoices.fields, profile);
}

function recordOf<Model>(mapped: { record: Model } | { setAside: object }): Model {
  if ('setAside' in mapped) throw new Error(`set aside: ${JSON.stringify(mapped.setAside)}`);
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
  ])('that can not be used is set aside with the field at fault (%#)', (row, setAside) => {
    expect(invoices()(row)).toEqual({ setAside });
  });
});

test('an episode keeps practices with no, one and several doctors apart', () => {
  const profile = profileOf();
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
  const profile = profileOf();
  const read = compileRecords(priceList, profile.priceLists.fields, profile);
  expect(read({ id: 'p', prices: [{ price: 5 }] })).toEqual({
    setAside: { recordId: 'p', code: 'missing-field', field: 'prices.treatmentId' },
  });
});

test('any JSON is read or set aside, never thrown', () => {
  const read = invoices();
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (whole, items) => {
      for (const row of [whole, { id: 'x', Items: items }, { ...INVOICE, totalAmount: whole, issueDate: items }]) {
        const mapped = read(row);
        expect('record' in mapped || 'setAside' in mapped).toBe(true);
      }
    }),
  );
});
