import { toZonedIso } from '../../core/model/time.ts';
import type { ReminderExplanation, ReminderLine, ReminderList, RuleView } from '../../features/reminders/schemas.ts';
import { sourceText } from '../documents/explain-answer.ts';
import { firstRows } from './output.ts';
import { plainText } from './print-terminal.ts';
import { renderTable, wrap } from './table.ts';

/** Default number of reminders. */
const SHOWN_REMINDERS = 100;

/** Renders reminders as a table. */
export function renderReminders({ day, complete, reminders }: ReminderList, none: string): string {
  const warning = complete ? '' : "\n\nThe clinic's list was incomplete: reminders may be missing.";
  if (reminders.length === 0) return `${day === null ? none : `No reminders are due on ${day}.`}${warning}`;
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
  return [head, said.join('\n'), ...(lived.length === 0 ? ['No reminder was planned for this appointment.'] : lived)]
    .filter((part) => part !== '')
    .join('\n\n');
}

const EXCLUSIONS: Readonly<Record<string, string>> = {
  'no-patient': 'the appointment has no patient',
  'several-patients': 'each of the patients has reminders: add ~patient: and the id of the patient to this id',
  'all-day': 'the appointment has no time of day',
  agenda: 'the rule excludes the agenda',
  treatment: 'the rule excludes the treatment',
  status: 'the rule excludes the status',
  'too-close': 'the reminder time is too close to the start',
  'quiet-hours': 'quiet hours leave no time for the reminder',
};

function ruleText(rule: RuleView): string {
  if ('dueAt' in rule) return `due ${localTime(rule.dueAt, rule.zone)}`;
  return `none, ${EXCLUSIONS[rule.excluded] ?? rule.excluded}`;
}

const REASONS: Readonly<Record<string, string>> = {
  cancelled: 'the appointment was cancelled',
  moved: 'the appointment was moved',
  vanished: 'the clinic no longer has the appointment',
  excluded: 'the rule excludes the appointment',
  'booked-late': 'the appointment was booked or moved after the reminder time',
  missed: 'the reminder time was past before planning',
  'too-late': 'the reminder time and the grace period were past',
  'quiet-hours': 'the reminder was late, and only quiet hours remained',
  'source-unreachable': 'the clinic did not respond in time',
  unusable: "the clinic's record is not usable",
  arrived: 'the patient had arrived, or the visit was over',
  'rule-gone': 'the rule or channel is no longer configured',
  'patient-gone': 'the patient was removed from the clinic',
  'no-consent': 'the patient has not given consent',
  'no-address': 'the clinic has no phone number or e-mail address for this channel',
  'address-invalid': 'the address of the patient in the clinic cannot be used',
  'opted-out': 'the patient opted out of reminders',
  refused: 'the gateway refused the message',
  'channel-gone': 'the gateway no longer accepts messages',
  'channel-failed': 'the gateway did not accept the message in time',
  'egress-stopped': 'the text contained more patient data than allowed',
  'other-patient': 'the previous message was sent to another patient',
  outdated: 'the message was outdated, or another message had the same content',
  'state-damaged': 'the record in Redis was not written by clinic-mirror: check who else can write to Redis',
  'hourly-limit': 'the tenant reached the hourly limit',
};

function renderJourney(line: ReminderLine): string {
  const { rule, channel, dueAt, startAt, zone, finishedAt, attempts, lastCode, reference, reason } = line;
  const what = line.correction === null ? '' : ` correction (${line.correction})`;
  const steps = [`${rule}, ${channel}:${what} for ${localTime(startAt, zone)}, due ${localTime(dueAt, zone)}`];
  const when = finishedAt === null ? '' : ` ${localTime(finishedAt, zone)}`;
  const because = reason === null ? '' : `: ${REASONS[reason] ?? reason} (${reason})`;
  const tried = attempts === 0 ? '' : `, ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`;
  const failureText = lastCode === null ? '' : `, last failure ${lastCode}`;
  const referenceText = reference === null ? '' : `, gateway id ${reference}`;
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
