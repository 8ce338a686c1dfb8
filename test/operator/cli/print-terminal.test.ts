import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FieldValue, PlanLineView, PlanView } from '../../../src/core/model/plan-view.ts';
import { withOutputOptions } from '../../../src/operator/cli/output.ts';
import { plainText, printTerminal } from '../../../src/operator/cli/print-terminal.ts';
import type { Explanation } from '../../../src/operator/control/record-schemas.ts';
import { type Block, command, time, toned } from '../../../src/operator/documents/document.ts';
import { explanationDocument } from '../../../src/operator/documents/explain.ts';
import { planDocument } from '../../../src/operator/documents/plan.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { counts, expectTidy, flat, foreign, names, oneOf, texts, times } from './arbitraries.ts';

const values: fc.Arbitrary<FieldValue> = fc.oneof(
  fc.constantFrom<FieldValue>({ kind: 'none' }, { kind: 'withheld' }, { kind: 'unread' }),
  fc.record({ kind: fc.constant('time' as const), startAt: fc.nat(NOW), endAt: fc.nat(NOW) }),
  fc.constant<FieldValue>({ kind: 'days', startDate: '2026-06-15', endDate: '2026-06-17' }),
  fc.record({ kind: fc.constant('text' as const), text: foreign }),
);

const lines: fc.Arbitrary<PlanLineView> = fc.record({
  record: foreign,
  operation: fc.constantFrom('create', 'update', 'delete'),
  reason: fc.constantFrom('new', 'content-changed', 'cancelled', 'excluded', 'vanished'),
  fields: fc.subarray(['title', 'description', 'location', 'time', 'busy', 'unknown']),
  startAt: times,
  agenda: fc.option(names),
  title: fc.option(foreign),
  decision: fc.constantFrom('write', 'on-hold', 'refused'),
  fingerprint: fc.option(names),
  fieldChanges: fc.array(fc.record({ field: names, before: values, after: values }), { maxLength: 4 }),
});

const plans: fc.Arbitrary<PlanView> = fc.record({
  tenant: names,
  asOf: fc.nat(NOW),
  snapshot: fc.record({
    completeness: fc.constantFrom('complete', 'partial'),
    reason: fc.option(names),
    records: counts,
    unusable: counts,
  }),
  unconfirmed: counts,
  skippedTargets: fc.array(fc.record({ target: names, code: names }), { maxLength: 3 }),
  targets: fc.array(
    fc.record({
      target: names,
      calendar: fc.option(foreign),
      links: counts,
      unchanged: counts,
      failing: counts,
      waiting: counts,
      released: counts,
      existing: fc.oneof(
        fc.constant(null),
        fc.record({ unread: names }),
        fc.record({ contacts: counts, alike: counts }),
      ),
      lines: fc.array(lines, { maxLength: 40 }),
    }),
    { maxLength: 3 },
  ),
});

const explanations: fc.Arbitrary<Explanation> = fc.record({
  ...{ tenant: names, appointment: foreign, askedAt: fc.nat(NOW), lastCycle: fc.constant(null) },
  doctor: fc.option(foreign),
  source: fc.oneof(
    fc.record({
      state: fc.constant('there' as const),
      status: names,
      agenda: foreign,
      startAt: fc.nat(NOW),
      updatedAt: times,
    }),
    fc.constant({ state: 'absent' as const }),
    fc.record({ state: fc.constant('unusable' as const), code: names, field: foreign }),
    fc.record({ state: fc.constant('unknown' as const), code: names, message: texts }),
  ),
  targets: fc.array(
    fc.record({
      ...{ target: names, name: foreign, isConcerned: fc.boolean() },
      connector: names,
      decision: fc.record({ shown: fc.boolean(), code: fc.constant('shown' as const), because: texts }),
      way: fc.record({
        compared: fc.record({ at: times, found: fc.constant('same' as const), fields: fc.constant([]) }),
        written: fc.record({
          at: times,
          version: fc.option(foreign),
          revision: fc.option(counts),
          changes: fc.constant([]),
        }),
        readBack: fc.record({ at: times, covers: fc.option(fc.boolean()) }),
      }),
      link: fc.option(fc.record({ startAt: fc.nat(NOW), idAttempt: fc.nat(8), remoteId: foreign })),
      byHand: fc.option(
        fc.record({
          done: fc.constantFrom('edited', 'removed'),
          fields: fc.subarray(['title', 'description', 'location', 'time', 'busy', 'unknown']),
          policy: fc.constantFrom('repair', 'keep', 'report'),
        }),
      ),
      pending: fc.option(
        fc.record({
          reason: fc.constantFrom('new', 'vanished'),
          want: fc.constantFrom('present', 'absent'),
          attempts: counts,
          lastError: fc.option(names),
          parked: fc.boolean(),
          enqueuedAt: fc.nat(NOW),
          dueAt: fc.nat(NOW),
        }),
      ),
      holds: fc.array(
        fc.record({ id: names, kind: fc.constant('vanished' as const), state: fc.constant('open' as const) }),
        {
          maxLength: 2,
        },
      ),
      failure: fc.option(names),
    }),
    { maxLength: 3 },
  ),
});

describe('every document has at most 100 columns and no control characters for the terminal', () => {
  test('plan', () => fc.assert(fc.property(plans, (view) => expectTidy(printTerminal(planDocument(view, 'en'))))));
  test('explain', () =>
    fc.assert(fc.property(explanations, (view) => expectTidy(printTerminal(explanationDocument(view, 'en'))))));
});

describe('an unknown field that differs is shown as unknown', () => {
  const NOT_KNOWN = 'a field that is not known';

  test('in a plan', () => {
    const line: PlanLineView = { ...oneOf(lines), record: '4711', reason: 'content-changed', fields: ['unknown'] };
    const target = oneOf(plans.map(({ targets }) => targets[0]).filter((each) => each !== undefined));
    const text = withOutputOptions({ tableColumns: null }, () =>
      printTerminal(planDocument({ ...oneOf(plans), targets: [{ ...target, lines: [line] }] }, 'en')),
    );
    expect(text).toContain(`changed: ${NOT_KNOWN}`);
  });

  test('of an object edited by hand', () => {
    const byHand = { done: 'edited' as const, fields: ['title', 'unknown'], policy: 'keep' as const };
    const target = oneOf(explanations.map(({ targets }) => targets[0]).filter((each) => each !== undefined));
    const targets = [{ ...target, byHand, isConcerned: true }];
    const text = printTerminal(explanationDocument({ ...oneOf(explanations), targets }, 'en'));
    expect(flat(text)).toContain(`edited manually (title and ${NOT_KNOWN})`);
  });
});

describe('a document', () => {
  const printed = (...blocks: Block[]) => printTerminal({ title: 'Title', blocks }).split('\n').slice(2);
  const table: Block = {
    ...{ is: 'table', caption: 'Rows', headings: ['record', 'why', 'count'], most: { page: 9, terminal: 2 } },
    rows: [{ cells: ['a', null, 1] }, { cells: ['b', null, 22] }, { cells: ['c', null, 3] }],
    more: () => null,
  };

  test('has a long command completely on a separate line', () => {
    const long = `clinic-mirror apply ${'x'.repeat(150)}`;
    expect(printed({ is: 'paragraph', content: ['To continue: ', command(long)] })).toEqual([
      'To continue:',
      `  ${long}`,
    ]);
    expect(printed({ is: 'paragraph', content: [command('clinic-mirror status'), ' shows it.'] })).toEqual([
      'clinic-mirror status shows it.',
    ]);
  });

  test('omits a column without values, aligns numbers to the right, and counts the omitted rows', () => {
    expect(printed(table)).toEqual([
      'record  count',
      '──────  ─────',
      'a           1',
      'b          22',
      '… and 1 more (--all)',
    ]);
  });

  test('shows the headings of a table without rows', () => {
    expect(printed({ ...table, rows: [] })[0]).toBe('record  why  count');
  });

  test('has the lines below their sentence, without the folded lines of a page', () => {
    const lines = (folded: { id: string; summary: string } | null) =>
      printed({
        ...{ is: 'steps', label: 'Steps' },
        steps: [{ name: 'read', state: 'done', at: NOW, lines: [['said', { is: 'lines', lines: ['below'], folded }]] }],
      });
    expect(lines(null)).toEqual(['read, 2026-06-15 08:00:00Z', '  said', '    below']);
    expect(lines({ id: 'a', summary: 'more' })).toEqual(['read, 2026-06-15 08:00:00Z', '  said']);
  });

  test('indents the blocks of a section below its heading', () => {
    const blocks: Block[] = [{ is: 'empty', text: 'Nothing.' }];
    expect(printed({ is: 'section', id: 'a', heading: 'Targets', sideText: '2', blocks })).toEqual([
      'Targets (2)',
      '  Nothing.',
    ]);
  });
});

test('a sentence shows a range of one moment once, and omits missing parts', () => {
  const range = (startAt: number, endAt: number) => plainText({ is: 'range', startAt, endAt });
  expect(range(NOW, NOW)).toBe(plainText(time(NOW)));
  expect(range(NOW, NOW + 3_600_000)).toBe('2026-06-15 08:00:00Z to 2026-06-15 09:00:00Z');
  expect(plainText([1, null, ' of ', false, toned('act', 'two')])).toBe('1 of two');
});
