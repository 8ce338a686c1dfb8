import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileRecords } from '../../../src/clinic/read/records.ts';
import { RESOURCES, type ResourceName } from '../../../src/clinic/schema/resources.ts';
import { compileWriter } from '../../../src/clinic/write/writing.ts';
import type { MirrorError } from '../../../src/core/model/errors.ts';
import { committedProfile, profileOf, type WrittenProfile } from '../open-client.ts';

function writerOf<Name extends ResourceName>(name: Name, written: WrittenProfile = {}) {
  const profile = profileOf(written);
  return compileWriter(RESOURCES[name] as never, profile[name].fields as never, profile, profile[name]) as (
    values: object,
    base?: Record<string, unknown>,
  ) => Record<string, unknown>;
}

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return (error as MirrorError).code;
  }
  throw new Error('nothing was thrown');
}

describe('what is written', () => {
  test('keeps unknown fields in each element of a nested list', () => {
    const base = {
      id: 'e1',
      secret: 1,
      practices: [
        { practiceId: 'a', price: 10, origin: 'import', doctors: [{ id: 'd1', badge: 7 }] },
        { practiceId: 'b', origin: 'desk' },
      ],
    };
    const values = {
      practices: [
        { practiceId: 'b', price: '5.5' },
        { practiceId: 'a', doctors: [{ id: 'd1', share: '50' }] },
        { treatmentId: 't' },
      ],
    };
    expect(writerOf('episodes')(values, base)).toEqual({
      id: 'e1',
      secret: 1,
      practices: [
        { practiceId: 'b', origin: 'desk', price: 5.5 },
        { practiceId: 'a', price: 10, origin: 'import', doctors: [{ id: 'd1', badge: 7, share: 50 }] },
        { treatmentId: 't' },
      ],
    });
    expect(base.practices[1]).toEqual({ practiceId: 'b', origin: 'desk' });
  });

  test('uses the values of the profile; a choice without a value is refused', () => {
    const pages = committedProfile('pages');
    const write = compileWriter(RESOURCES.episodes, pages.episodes.fields, pages, pages.episodes);
    expect(write({ status: 'InProgress' })).toEqual({ status: 'in_progress' });
    expect(codeOf(() => write({ status: 'in_progress' }))).toBe('word-unmapped');
    const without = writerOf('episodes', { episodes: { words: { status: { Cancelled: null } } } });
    expect(codeOf(() => without({ status: 'Cancelled' }))).toBe('word-unmapped');
    expect(without({ status: null })).toEqual({ status: null });
  });

  test.each([
    ['a decimal as a number', 'invoices', { withholdingTax: 1.5 }],
    ['a decimal with a comma', 'invoices', { withholdingTax: '1,5' }],
    ['more digits than a JSON number holds', 'invoices', { withholdingTax: '1234567890123.123' }],
    ['a date as an instant', 'patients', { birthDate: '2026-03-20T10:00:00Z' }],
    ['an instant as a text', 'episodes', { openedAt: '2026-03-20' }],
    ['a text as a number', 'patients', { notes: 5 }],
    ['a list as a record', 'invoices', { items: { description: 'x' } }],
    ['a row as a text', 'invoices', { items: ['x'] }],
  ] as const)('is refused when it is not of its kind: %s', (_what, name, values) => {
    expect(codeOf(() => writerOf(name)(values))).toBe('bad-value');
  });

  test('is a number if the profile requires it, and is refused if not numeric', () => {
    const write = writerOf('appointments', {
      appointments: { numbers: ['agendaId', 'isPaid', 'source'], words: { source: { Online: '-2' } } },
    });
    expect(write({ agendaId: '12', isPaid: true, patientId: '7', source: 'Online' })).toEqual({
      agendaId: 12,
      isPaid: 1,
      patientId: '7',
      source: -2,
    });
    for (const values of [
      { agendaId: 'a12' },
      { agendaId: '1.5' },
      { agendaId: '007000000000000000001' },
      { source: 'Api' },
    ])
      expect(codeOf(() => write(values))).toBe('bad-value');
    expect(JSON.stringify(write({ agendaId: '7000000000000000001' }))).toBe('{"agendaId":7000000000000000001}');
    expect(
      writerOf('invoices', { invoices: { numbers: ['items.vatExemptionCode'] } })({
        items: [{ vatExemptionCode: '4' }],
      }),
    ).toEqual({ Items: [{ vatExemptionCode: 4 }] });
  });

  const at = (text: string) => Date.parse(text);

  test.each([
    ['epoch-seconds', at('2026-03-30T07:00:00Z') / 1000],
    ['epoch-ms', at('2026-03-30T07:00:00Z')],
  ] as const)('holds times as numbers in the form %s', (times, expected) => {
    expect(writerOf('appointments', { writes: { times } })({ start: at('2026-03-30T07:00:00Z') })).toEqual({
      start: expected,
    });
  });

  test('holds a date and a time of day where the profile has them apart', () => {
    const write = writerOf('appointments', {
      appointments: { fields: { start: ['day + from'], end: ['day + to'], checkedInAt: ['seen.day + seen.at'] } },
    });
    const values = { start: at('2026-03-30T07:00:00Z'), end: at('2026-03-30T07:30:00Z') };
    const row = { day: '2026-03-30', from: '09:00:00', to: '09:30:00' };
    expect(write(values)).toEqual(row);
    expect(write({ end: at('2026-03-30T08:00:00Z') }, row)).toEqual({ ...row, to: '10:00:00' });
    expect(write({ end: null }, row)).toEqual({ ...row, to: null });
    expect(write({ start: at('2026-03-31T07:00:00Z') }, { day: '2026-03-30', from: '09:00' })).toEqual({
      day: '2026-03-31',
      from: '09:00:00',
    });
    expect(write({ checkedInAt: null }, { seen: { day: '2026-03-30', at: '09:00' } })).toEqual({
      seen: { day: null, at: null },
    });
    // The start would move with the end.
    expect(codeOf(() => write({ end: at('2026-03-31T08:00:00Z') }, row))).toBe('bad-value');
    expect(codeOf(() => write({ ...values, end: at('2026-03-31T08:00:00Z') }))).toBe('bad-value');
  });

  test('is refused for an unknown field', () => {
    expect(codeOf(() => writerOf('patients')({ shoeSize: '43' }))).toBe('field-unmapped');
  });

  test.each(['number', 'text'] as const)('is what is read again, decimals as %s', (decimals) => {
    const profile = profileOf({ writes: { decimals } });
    const { fields, words } = profile.priceLists;
    const write = compileWriter(RESOURCES.priceLists, fields, profile, { words });
    const read = compileRecords(RESOURCES.priceLists, fields, profile, words);
    const decimal = fc.tuple(fc.integer({ min: -9_999_999, max: 9_999_999 }), fc.integer({ min: 1, max: 99 }));
    fc.assert(
      fc.property(decimal, fc.boolean(), fc.string(), ([whole, hundredths], isActive, name) => {
        const price = `${whole}.${String(hundredths).padStart(2, '0')}`;
        const values = { isActive, name, prices: [{ treatmentId: 't', price } as never] };
        const mapped = read({ id: '1', ...JSON.parse(JSON.stringify(write(values))) });
        const told = 'record' in mapped ? mapped.record : null;
        expect(told?.name).toBe(name === '' ? null : name);
        expect(Number(told?.prices[0]?.price)).toBe(Number(price));
        expect(told?.isActive).toBe(isActive);
      }),
    );
  });
});

test('a choice is read in our words however it is spelled, and an unknown one is kept', () => {
  const profile = profileOf({ episodes: { words: { status: { Closed: 'chiuso' } } } });
  const { fields, words } = profile.episodes;
  const read = compileRecords(RESOURCES.episodes, fields, profile, words);
  const statusOf = (status: string) => {
    const mapped = read({ id: '1', status });
    return 'record' in mapped ? mapped.record.status : null;
  };
  expect(['CHIUSO', 'in-progress', 'Open', 'sospeso'].map(statusOf)).toEqual([
    'Closed',
    'InProgress',
    'Open',
    'sospeso',
  ]);
});
