import { describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import type { ReminderExplanation, ReminderLine } from '../../../src/features/reminders/schemas.ts';
import { renderReminderExplanation, renderReminders } from '../../../src/operator/cli/render-reminders.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { flat } from './arbitraries.ts';

const LINE: ReminderLine = {
  ...{ id: 'r1', appointment: '4711', rule: 'day-before', channel: 'sms', zone: 'Europe/Rome', correction: null },
  ...{ dueAt: NOW, startAt: NOW + 24 * HOUR_MS, state: 'sent', reason: null, finishedAt: NOW, attempts: 1 },
  ...{ lastCode: null, reference: null, report: null, answer: null },
} as ReminderLine;

describe('a list of reminders', () => {
  const listed = (reminders: ReminderLine[], day: string | null = null, complete = true) =>
    renderReminders({ tenant: 'aurora', day, complete, reminders }, 'No reminders are planned.');

  test('has times in the zone of the clinic', () => {
    expect(listed([LINE])).toMatch(/^2026-06-15 10:00\+02:00 +4711 +2026-06-16 10:00\+02:00 +day-before +sms +sent/m);
  });

  test('shows for an unsent reminder the reason instead of the time', () => {
    expect(listed([{ ...LINE, state: 'dropped', reason: 'opted-out' } as ReminderLine])).toContain(
      'dropped: opted-out',
    );
  });

  test('counts due reminders, and says if none is due', () => {
    expect(listed([LINE], '2026-06-15')).toMatch(/\n\n1 reminder due on 2026-06-15\.$/);
    expect(listed([LINE, LINE])).toMatch(/\n\n2 reminders\.$/);
    expect(listed([])).toBe('No reminders are planned.');
    expect(listed([], '2026-06-15')).toBe('No reminders are due on 2026-06-15.');
  });

  test('warns about missing reminders if the list of the clinic was incomplete, even if the list is empty', () => {
    for (const reminders of [[], [LINE]]) expect(listed(reminders, null, false)).toContain('reminders may be missing');
    expect(listed([LINE])).not.toContain('reminders may be missing');
  });
});

describe('the reminder history of an appointment', () => {
  const told = (changes: Partial<ReminderExplanation>) =>
    flat(
      renderReminderExplanation({
        ...{ tenant: 'aurora', appointment: '4711', source: { state: 'absent' }, rules: [], reminders: [] },
        ...changes,
      }),
    );

  test('shows for each rule the due time, or the reason for no reminder', () => {
    const rules = [
      { rule: 'day-before', channel: 'sms', dueAt: NOW, zone: 'Europe/Rome' },
      { rule: 'hour-before', channel: 'sms', excluded: 'quiet-hours' },
      { rule: 'other', channel: 'sms', excluded: 'of-another-kind' },
    ];
    expect(told({ rules })).toContain(
      'rule day-before, sms: due 2026-06-15 10:00+02:00 rule hour-before, sms: none, quiet hours leave no time for the reminder',
    );
    expect(told({ rules })).toContain(
      'rule other, sms: none, of-another-kind No reminder was planned for this appointment.',
    );
  });

  test('shows reason, attempts, last failure and reference, and the answers of gateway and patient', () => {
    const line = {
      ...{ ...LINE, state: 'failed', reason: 'channel-failed', attempts: 2, lastCode: 'sms-busy', reference: 'SM7' },
      ...{ report: { state: 'undelivered', code: '30003', at: NOW }, answer: { at: NOW, is: 'confirmed' } },
    } as unknown as ReminderLine;
    const text = told({ reminders: [line] });
    expect(text).toContain('the gateway did not accept the message in time (channel-failed), 2 attempts');
    expect(text).toContain('last failure sms-busy, gateway id SM7');
    expect(text).toContain('not delivered (30003) answered 2026-06-15 10:00+02:00 by the patient: confirmed');
  });
});
