import { describe, expect, test } from 'vitest';
import { plainText } from '../../../src/operator/cli/print-terminal.ts';
import type { Explanation, TargetExplanation } from '../../../src/operator/control/record-schemas.ts';
import { answerOf } from '../../../src/operator/documents/explain-answer.ts';
import { EXPLAINED, explanationOf, NOW, PENDING } from './explanation.ts';

const NEVER_WRITTEN = {
  link: null,
  way: { ...EXPLAINED.way, written: { at: null, version: null, revision: null, changes: [] } },
};

/** The answer's paragraphs as text. */
function answersTo(target: Partial<TargetExplanation>, rest: Partial<Explanation> = {}, language: 'en' | 'it' = 'en') {
  const explanation = explanationOf(target, rest);
  return answerOf(explanation, language).map((block) =>
    block.is === 'paragraph' ? plainText(block.content) : block.is,
  );
}
const answerTo = (...given: Parameters<typeof answersTo>) => answersTo(...given)[0];
const compared = (found: TargetExplanation['way']['compared']['found']) => ({ ...EXPLAINED.way.compared, found });

describe('the answer', () => {
  test('says in whose calendar the appointment is since when, why, and when it was read back', () => {
    expect(answerTo({})).toMatch(/^In Dr Rossi \(CalDAV\) since .+, because in english words; read back .+\.$/);
    expect(answerTo({}, {}, 'it')).toMatch(/^In Dr Rossi \(CalDAV\) da .+, perché /);
  });

  test('calls a later write the last write, and leaves out an unknown time', () => {
    const change = { at: NOW, effect: 'updated', reason: 'content-changed', run: 'r1' } as const;
    const written = { ...EXPLAINED.way.written, changes: [change] };
    expect(answerTo({ way: { ...EXPLAINED.way, written } })).toContain(', last written ');
    const unknown = answerTo({ way: { ...EXPLAINED.way, written: { ...written, at: null } } });
    expect(unknown).toMatch(/^In Dr Rossi \(CalDAV\), because/);
  });

  test('says why an appointment is not in a calendar', () => {
    const decision = { shown: false, code: 'status', because: 'the target does not show the status no_show' } as const;
    const way = { ...NEVER_WRITTEN.way, compared: compared('none') };
    expect(answerTo({ ...NEVER_WRITTEN, way, decision })).toBe(
      'Not in Dr Rossi (CalDAV), because the target does not show the status no_show.',
    );
  });

  test('says what happens next: a waiting write, a hold, the next cycle or a stopped target', () => {
    const next = { ...NEVER_WRITTEN, pending: PENDING };
    expect(answerTo(next)).toBe('Not yet in Dr Rossi (CalDAV); to be written (content-changed): waiting, due now.');
    const holds = [{ id: 'h1', kind: 'vanished', state: 'open' } as const];
    expect(answerTo({ holds, way: { ...EXPLAINED.way, compared: compared('removal') } })).toContain('; on hold');
    expect(answerTo({ way: { ...EXPLAINED.way, compared: compared('newer') } })).toContain(
      'the time changed in the clinic after the last write; the next cycle compares again',
    );
    expect(answerTo({ failure: 'calendar-gone' })).toContain('the target is stopped (calendar-gone)');
  });

  test('promises no next cycle to a target that is stopped, on hold or restricted by its policy', () => {
    const way = { ...EXPLAINED.way, compared: compared('newer') };
    for (const stopped of [
      { failure: 'calendar-gone' },
      { holds: [{ id: 'h1', kind: 'vanished', state: 'open' } as const] },
      { withheld: { policy: 'create-only', change: 'update' } as const },
    ])
      expect(answerTo({ way, ...stopped })).not.toContain('the next cycle');
  });

  test('does not take a manual deletion for an event', () => {
    const byHand = { done: 'removed' as const, fields: [], policy: 'keep' as const };
    expect(answerTo({ byHand })).toMatch(/^Not in Dr Rossi \(CalDAV\); deleted manually: kept until/);
  });

  test('gives an undecided rule as a remark, never as the reason', () => {
    const decision = { shown: false, code: 'unread', because: 'the clinic did not answer' } as const;
    const answer = answerTo({ decision, way: { ...EXPLAINED.way, compared: compared('unread') } });
    expect(answer).toMatch(/^In Dr Rossi \(CalDAV\) since /);
    expect(answer).toContain('; the clinic did not answer');
    expect(answer).not.toContain('because');
  });
});

describe('other targets', () => {
  const others = (count: number) =>
    Array.from(
      { length: count },
      (_, at): TargetExplanation => ({ ...EXPLAINED, target: `t${at}`, isConcerned: false }),
    );

  test('are one line', () => {
    const targets = [EXPLAINED, ...others(18)];
    expect(answersTo({}, { targets })).toEqual([expect.any(String), '18 other targets are not for this doctor.']);
    expect(answersTo({}, { targets: [EXPLAINED, ...others(1)] })[1]).toBe('1 other target is not for this doctor.');
    const source = { state: 'unknown', code: 'timeout', message: 'no answer' } as const;
    expect(answersTo({}, { targets, source })[1]).toBe('18 other targets have no data of this appointment.');
  });

  test('alone: the answer names the doctor whom no target shows, or what is not known', () => {
    const targets = others(2);
    expect(answerTo({}, { targets })).toMatch(/^In no target, because no target shows the agenda Dr Rossi: booked/);
    const source = { state: 'unusable', code: 'bad-time', field: 'startsAt' } as const;
    expect(answerTo({}, { targets, source, doctor: null })).toContain('bad-time in startsAt');
    expect(answersTo({}, { targets, source: { state: 'absent' }, doctor: null })).toEqual([
      expect.stringContaining('The clinic has no appointment with this id'),
    ]);
  });
});
