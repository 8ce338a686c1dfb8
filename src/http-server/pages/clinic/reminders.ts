import type { ReminderLine } from '../../../features/reminders/reminders.ts';
import { type Html, html } from '../../../model/html.ts';
import type { PageContext } from '../context.ts';
import { copyable, emptyState, section, table } from '../parts.ts';
import { CLINIC } from '../texts/clinic.ts';

const SHOWN = 8;

/** What reminders a clinic sends next: when, by which rule, on which channel; no name, no address. */
export function remindersPart(context: PageContext, tenant: string, reminders: readonly ReminderLine[]): Html {
  const words = CLINIC[context.language];
  if (reminders.length === 0) return section('reminders', words.reminders, emptyState(words.noReminders));
  const columns = [words.due, words.appointment, words.rule, words.channel];
  const rows = reminders.slice(0, SHOWN).map(({ appointment, rule, channel, dueAt, startAt }) => ({
    id: `reminder-${appointment}-${rule}-${channel}`,
    cells: [context.times.both(dueAt), html`<code>${appointment}</code> ${context.times.at(startAt)}`, rule, channel],
  }));
  const rest = reminders.length - SHOWN;
  const more =
    rest <= 0
      ? null
      : html`<p class="more">${words.more(rest)} ${copyable(context, `clinic-mirror reminders list ${tenant}`)}</p>`;
  return section('reminders', words.reminders, html`${table(words.reminders, columns, rows)}${more}`);
}
