import { describe, expect, test } from 'vitest';
import { printTerminal } from '../../../src/operator/cli/print-terminal.ts';
import type { Explanation, TargetExplanation } from '../../../src/operator/control/record-schemas.ts';
import type { DocumentStep } from '../../../src/operator/documents/document.ts';
import { explanationDocument } from '../../../src/operator/documents/explain.ts';
import { sourceText } from '../../../src/operator/documents/explain-answer.ts';
import { COMPARISONS, EXPLAIN } from '../../../src/operator/documents/texts/explain.ts';
import { EXPLAINED, explanationOf, NOW, PENDING } from './explanation.ts';

const { en: words } = EXPLAIN;
const TARGET = EXPLAINED;
const EXPLANATION = explanationOf();
const UNWRITTEN = { at: null, version: null, revision: null, changes: [] };

/** The five steps of a target: read, rules, compared, written, read back. */
function stepsOf(
  target: Partial<TargetExplanation> = {},
  rest: Partial<Explanation> = {},
  language: 'en' | 'it' = 'en',
) {
  const { blocks } = explanationDocument({ ...EXPLANATION, ...rest, targets: [{ ...TARGET, ...target }] }, language);
  const section = blocks.find(({ is }) => is === 'section');
  if (section?.is !== 'section' || section.blocks[0]?.is !== 'steps') throw new TypeError('no steps');
  return section.blocks[0].steps as [DocumentStep, DocumentStep, DocumentStep, DocumentStep, DocumentStep];
}
const statesOf = (...given: Parameters<typeof stepsOf>) => stepsOf(...given).map(({ state }) => state);
const textOf = ({ lines }: DocumentStep) => JSON.stringify(lines);
const comparedAs = (found: TargetExplanation['way']['compared']['found'], at: number | null = NOW) => ({
  way: { ...TARGET.way, compared: { at, found, fields: [] } },
});

test('an appointment that is as written is done in each step', () => {
  expect(statesOf()).toEqual(['done', 'done', 'done', 'done', 'done']);
});

test('an id that neither the clinic nor a target knows is told first, and no other', () => {
  const never = { ...TARGET, isConcerned: false, link: null, way: { ...TARGET.way, written: UNWRITTEN } };
  const first = (target: TargetExplanation, source: Explanation['source']) =>
    JSON.stringify(explanationDocument({ ...EXPLANATION, source, targets: [target] }, 'en').blocks[0]);
  expect(first(never, { state: 'absent' })).toContain(words.nobodyKnows);
  expect(first(TARGET, { state: 'absent' })).not.toContain(words.nobodyKnows);
  expect(first(never, EXPLANATION.source)).not.toContain(words.nobodyKnows);
  expect(first({ ...never, isConcerned: true, pending: PENDING }, { state: 'absent' })).not.toContain(
    words.nobodyKnows,
  );
});

test('a change that the policy withholds is named in the comparison, instead of the next cycle', () => {
  const compared = (language: 'en' | 'it', change: 'update' | 'delete') =>
    textOf(stepsOf({ ...comparedAs('newer'), withheld: { policy: 'create-only', change } }, {}, language)[2]);
  expect(compared('en', 'delete')).toContain('not removed: policy create-only');
  expect(compared('en', 'update')).toContain('not updated: policy create-only');
  expect(compared('en', 'update')).not.toContain(words.nextCycle);
  expect(compared('it', 'delete')).toContain('non tolto: politica create-only');
});

describe('reading', () => {
  test('is done if the appointment is present or absent in the clinic, and stopped if that is unknown', () => {
    const stateOf = (source: Explanation['source']) => statesOf({}, { source })[0];
    expect(stateOf({ state: 'absent' })).toBe('done');
    expect(stateOf({ state: 'unusable', code: 'bad-time', field: 'startsAt' })).toBe('stopped');
    expect(stateOf({ state: 'unknown', code: 'timeout', message: 'no answer' })).toBe('stopped');
  });

  test('names the code of the failure, and of the end of the last cycle', () => {
    expect(JSON.stringify(sourceText({ state: 'unknown', code: 'timeout', message: 'no answer' }, 'en'))).toMatch(
      /no answer.*timeout/,
    );
    expect(JSON.stringify(sourceText({ state: 'unusable', code: 'bad-time', field: 'startsAt' }, 'it'))).toMatch(
      /bad-time.*startsAt/,
    );
    const lastCycle = { run: 'run-1', startedAt: NOW, completeness: null, error: 'clinic-down' };
    expect(textOf(stepsOf({}, { lastCycle })[0])).toMatch(/run-1.*clinic-down/);
    expect(textOf(stepsOf({}, { lastCycle: { ...lastCycle, error: null } })[0])).not.toContain(words.cycleFailed(''));
    expect(textOf(stepsOf()[0])).toContain(words.noCycle);
  });
});

test('the rule that leaves an appointment out is shown in words that the reader knows', () => {
  const decision = { shown: false, code: 'agenda', because: 'in english words' } as const;
  expect(statesOf({ decision })[1]).toBe('none');
  expect(textOf(stepsOf({ decision })[1])).toContain('in english words');
  expect(textOf(stepsOf({ decision }, {}, 'it')[1])).not.toContain('in english words');
});

test.each(['unread', 'tenant-paused', 'target-paused'] as const)('a decision %s is called undecided', (code) => {
  const text = textOf(stepsOf({ decision: { shown: false, code, because: 'a reason' } })[1]);
  expect(text).toContain(words.undecided);
  expect(text).not.toContain(words.notShown);
});

describe('comparing', () => {
  test.each([
    ['none', 'done'],
    ['same', 'done'],
    ['newer', 'waits'],
    ['gone', 'waits'],
    ['unread', 'waits'],
    ['new', 'waits'],
    ['differs', 'waits'],
    ['removal', 'waits'],
  ] as const)('that found %s %s', (found, state) => {
    const step = stepsOf(comparedAs(found))[2];
    expect([step.state, textOf(step).includes(COMPARISONS.en[found])]).toEqual([state, true]);
  });

  test('waits before the first plan, and is stopped only by an open hold', () => {
    const holdIn = (state: 'open' | 'rejected') => ({ holds: [{ id: 'h1', kind: 'vanished', state } as const] });
    expect(statesOf(comparedAs('same', null))[2]).toBe('waits');
    expect(statesOf({ ...comparedAs('removal'), ...holdIn('open') })[2]).toBe('stopped');
    expect(statesOf({ ...comparedAs('same'), ...holdIn('rejected') })[2]).toBe('done');
    expect(textOf(stepsOf(holdIn('open'))[2])).toContain('/tenants/rossi/holds/h1');
  });
});

describe('writing', () => {
  const lineOf = (pending: Partial<typeof PENDING>) => textOf(stepsOf({ pending: { ...PENDING, ...pending } })[3]);

  test('has nothing to do, waits, or stands with its whole target', () => {
    const never = { link: null, way: { ...TARGET.way, written: UNWRITTEN } };
    expect(statesOf(never)[3]).toBe('none');
    expect(statesOf({ ...never, pending: PENDING })[3]).toBe('waits');
    expect(statesOf({ pending: PENDING, failure: 'calendar-gone' })[3]).toBe('stopped');
    expect(textOf(stepsOf({ failure: 'calendar-gone' })[3])).toContain('calendar-gone');
  });

  test('gives the reason for waiting: the queue, a failure with its number of attempts, or an operator', () => {
    expect(lineOf({})).toContain(words.waits);
    expect(lineOf({ lastError: 'timeout' })).toContain(words.fails('timeout', 2));
    expect(lineOf({ lastError: 'refused', about: 'Email', parked: true })).toContain(words.parked('refused, Email'));
    expect(lineOf({ want: 'absent' })).toContain(words.notPresent);
  });

  test('shows the stored object: name, version, revision, and the changes of runs', () => {
    const changes = [{ at: NOW, effect: 'updated', reason: 'content-changed', run: 'run-7' } as const];
    const written = { at: null, version: null, revision: null, changes };
    expect(textOf(stepsOf()[3])).toMatch(/remote-1.*version \\"7\\".*revision 3/);
    const unknown = textOf(stepsOf({ way: { ...TARGET.way, written } })[3]);
    expect(unknown).toContain(words.writtenUnknown);
    expect(unknown).toContain('run-7');
  });
});

describe('a record for which nothing is written', () => {
  const paused = (code: 'tenant-paused' | 'target-paused') => ({ decision: { shown: false, code, because: 'paused' } });
  const hold = (state: 'open' | 'rejected') => ({ holds: [{ id: 'h1', kind: 'vanished', state } as const] });
  const unread = { decision: { shown: false, code: 'unread', because: 'unread' } } as const;
  const BLOCKS: readonly [how: string, Partial<TargetExplanation>][] = [
    ['waits on hold', hold('open')],
    ['belongs to a paused tenant', paused('tenant-paused')],
    ['belongs to a paused target', paused('target-paused')],
    ['belongs to a target that failed', { failure: 'calendar-gone' }],
  ];
  const UNWRITABLE = [
    ...BLOCKS,
    ...(
      [
        ['has an answer of another record', 'wrong-record'],
        ['cannot be read alone', 'bad-time'],
        ['cannot be confirmed as absent', 'forbidden'],
      ] as const
    ).map(([how, code]) => [how, unread, { source: { state: 'unusable', code, field: 'id' } }] as const),
  ] as readonly [how: string, Partial<TargetExplanation>, Partial<Explanation>?][];
  const WRITES = /writing|being written|to be written|to be removed|next cycle|next retry|due now|restored by/;
  const shown = (target: Partial<TargetExplanation>, rest: Partial<Explanation> = {}) =>
    printTerminal(explanationDocument({ ...EXPLANATION, ...rest, targets: [{ ...TARGET, ...target }] }, 'en'));

  test.each(UNWRITABLE)('because it %s: the explanation never says that something is written', (_how, target, rest) => {
    for (const found of ['none', 'same', 'newer', 'gone'] as const)
      expect(shown({ ...target, ...comparedAs(found) }, rest)).not.toMatch(WRITES);
  });

  test.each(BLOCKS)('because it %s: its waiting change and its manual change have no next step', (_how, target) => {
    for (const want of ['present', 'absent'] as const) {
      const pending = { ...PENDING, want, dueAt: NOW + 1 };
      const text = shown({ ...target, ...comparedAs('differs'), pending });
      expect(text).not.toMatch(WRITES);
      expect(text).toContain(want === 'present' ? words.notWritten : words.notRemoved);
    }
    expect(shown({ ...target, byHand: { done: 'removed', fields: [], policy: 'repair' } })).not.toMatch(WRITES);
  });

  test('is told apart from a record that is written', () => {
    expect(shown(comparedAs('newer'))).toContain(words.nextCycle);
    expect(shown({ ...hold('rejected'), pending: PENDING })).toContain(words.present);
    expect(shown({ byHand: { done: 'removed', fields: [], policy: 'repair' } })).toContain(words.repair);
  });
});

test.each([
  ['is due', 0, words.due],
  ['follows', 60_000, `${words.nextRetry} 2026-06-22 08:01`],
])('a retry that %s is never shown as a next retry in the past', (_how, inMs, said) => {
  const line = printTerminal(
    explanationDocument(
      { ...EXPLANATION, targets: [{ ...TARGET, pending: { ...PENDING, lastError: 'timeout', dueAt: NOW + inMs } }] },
      'en',
    ),
  ).replaceAll(/\s+/g, ' ');
  expect(line).toContain(`${words.fails('timeout', 2)}, ${said}`);
  expect(line.includes(words.nextRetry)).toBe(inMs > 0);
});

describe('reading back', () => {
  const readBack = (covers: boolean | null) => ({ way: { ...TARGET.way, readBack: { at: NOW, covers } } });

  test('waits until it was after the last write, and has nothing to do where nothing was written', () => {
    expect(statesOf(readBack(false))[4]).toBe('waits');
    expect(stepsOf(readBack(null))[4]).toMatchObject({ state: 'none', at: null });
  });

  test.each(['repair', 'keep', 'report'] as const)(
    'that found a change by hand is stopped, and says what is done: %s',
    (policy) => {
      const edited = stepsOf({ byHand: { done: 'edited', fields: ['time'], policy } })[4];
      expect([edited.state, textOf(edited).includes(words[policy])]).toEqual(['stopped', true]);
      const removed = stepsOf({ byHand: { done: 'removed', fields: [], policy }, ...readBack(null) })[4];
      expect([removed.state, textOf(removed).includes(words.byHandRemoved)]).toEqual(['stopped', true]);
    },
  );
});
