import { sourceText } from '../documents/explain.ts';
import type { ReminderExplanation, ReminderLine, ReminderList, RuleView } from '../features/reminders/reminders.ts';
import { toZonedIso } from '../model/time.ts';
import { firstRows } from './output.ts';
import { plainText } from './print-terminal.ts';
import { renderTable, wrap } from './table.ts';

/** Default number of reminders. */
const SHOWN_REMINDERS = 100;

/** Renders reminders as a table. */
export function renderReminders({ day, complete, reminders }: ReminderList, none: string): string {
  const warning = complete ? '' : '\n\nThe clinic did not give its whole list: some may be missing.';
  if (reminders.length === 0) return `${day === null ? none : `Nothing is due on ${day}.`}${warning}`;
  const columns = ['due', 'appointment', 'starts', 'rule', 'channel', 'state'];
  const { shown, more } = firstRows(reminders, SHOWN_REMINDERS);
  const rows = shown.map((line) => [
    localTime(line.dueAt, line.zone),
    line.appointment,
    localTime(line.startAt, line.zone),
    line.rule,
    line.channel,
    stateOf(line),
  ]);
  const counted = `${reminders.length} ${reminders.length === 1 ? 'reminder' : 'reminders'}`;
  return `${[renderTable(columns, rows), ...more].join('\n')}\n\n${counted}${day === null ? '' : ` due on ${day}`}.${warning}`;
}

/** Renders the history of an appointment's reminders. */
export function renderReminderExplanation({
  tenant,
  appointment,
  source,
  rules,
  reminders,
}: ReminderExplanation): string {
  const head = `${wrap(`Reminders of appointment ${appointment} of ${tenant}`)}\n${wrap(`clinic: ${plainText(sourceText(source, 'en'))}`, '  ')}`;
  const said = rules.map((rule) => wrap(`rule ${rule.rule}, ${rule.channel}: ${ruleText(rule)}`, '  '));
  const lived = reminders.map(renderJourney);
  return [head, said.join('\n'), ...(lived.length === 0 ? ['Nothing was planned for it yet.'] : lived)]
    .filter((part) => part !== '')
    .join('\n\n');
}

const EXCLUSIONS: Readonly<Record<string, string>> = {
  'no-patient': 'it has no patient',
  'all-day': 'it has no time of day',
  agenda: 'the rule leaves out its agenda',
  treatment: 'the rule leaves out its treatment',
  status: 'the rule leaves out its status',
  'too-close': 'the time for it is too near the start',
  'quiet-hours': 'the night leaves no time for it',
};

function ruleText(rule: RuleView): string {
  if ('dueAt' in rule) return `due ${localTime(rule.dueAt, rule.zone)}`;
  return `none, ${EXCLUSIONS[rule.excluded] ?? rule.excluded}`;
}

const REASONS: Readonly<Record<string, string>> = {
  cancelled: 'the appointment was cancelled',
  moved: 'the appointment was moved',
  vanished: 'the clinic has no such appointment any more',
  excluded: 'the rule leaves the appointment out',
  'booked-late': 'it was booked or moved so late that the reminder would have come at once',
  missed: 'its time had passed before it was planned',
  'too-late': 'its time had passed, and the grace with it',
  'quiet-hours': 'it was late, and only the night was left',
  'source-unreachable': 'the clinic could not be asked in time',
  unusable: "the clinic's row can't be used",
  arrived: 'the patient was there already, or the visit over',
  'rule-gone': 'its rule or channel is no longer configured',
  'patient-gone': 'the clinic no longer has the patient',
  'no-consent': 'the patient did not agree to it',
  'no-address': 'the clinic has no address that the channel can reach',
  'opted-out': 'the patient wants no reminders',
  refused: "the other side won't take it",
  'channel-gone': 'the other side takes nothing any more',
  'channel-failed': 'the other side could not take it in time',
  'egress-stopped': 'its text would have told more of the patient than it may',
  'other-patient': 'the previous message went to another patient',
  outdated: 'it is not true any more, or another message said the same',
  'record-forged': 'what Redis had of it was not written by us: see who else may write into Redis',
  'hourly-limit': "the tenant's limit was reached",
};

function renderJourney(line: ReminderLine): string {
  const { rule, channel, dueAt, startAt, zone, finishedAt, attempts, lastCode, reference, reason } = line;
  const what = line.correction === null ? '' : ` correction (${line.correction})`;
  const steps = [`${rule}, ${channel}:${what} for ${localTime(startAt, zone)}, due ${localTime(dueAt, zone)}`];
  const when = finishedAt === null ? '' : ` ${localTime(finishedAt, zone)}`;
  const because = reason === null ? '' : `: ${REASONS[reason] ?? reason} (${reason})`;
  const tried = attempts === 0 ? '' : `, handed over ${attempts} ${attempts === 1 ? 'time' : 'times'}`;
  const failureText = lastCode === null ? '' : `, last failure ${lastCode}`;
  const referenceText = reference === null ? '' : `, known there as ${reference}`;
  steps.push(`${line.state}${when}${because}${tried}${failureText}${referenceText}`);
  if (line.report !== null) {
    const { state, code, at } = line.report;
    steps.push(`reported ${localTime(at, zone)}: ${state === 'delivered' ? 'delivered' : `not delivered (${code})`}`);
  }
  if (line.answer !== null) steps.push(`answered ${localTime(line.answer.at, zone)} by the patient: ${line.answer.is}`);
  return steps.map((step, index) => wrap(step, index === 0 ? '' : '  ')).join('\n');
}

function stateOf({ state, reason, finishedAt, zone }: ReminderLine): string {
  if (reason !== null) return `${state}: ${reason}`;
  return finishedAt === null ? state : `${state} ${localTime(finishedAt, zone).slice(11)}`;
}

/** Returns `2026-11-20 14:05+01:00`: the time in the patient's zone. */
function localTime(at: number, zone: string): string {
  const iso = toZonedIso(zone, at);
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)}${iso.slice(19)}`;
}
