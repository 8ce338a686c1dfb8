import { folded } from '../clinic/http/rows.ts';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import type { AppointmentStatus } from '../model/records.ts';
import { type Comparison, textOf } from './findings.ts';
import { FLAGS, statusOfWord } from './names.ts';
import { type Spot, spotsOf, type ValueSchema } from './values.ts';

type Flag = ClinicProfile['appointments']['flags'][number];

/** Compares the words of appointments' statuses, and looks for flags that tell the statuses that no word tells. */
export function compareStatuses(
  comparison: Comparison,
  row: ValueSchema,
  profile: ClinicProfile,
  statusPath: string | null,
): void {
  const spots = spotsOf(row);
  const schema = spots.find(({ path }) => path === statusPath)?.schema;
  const words = schema?.words ?? null;
  if (statusPath !== null && words === null) {
    const ask = `what can stand in ${statusPath}, and what does each mean?`;
    comparison.add('undecided', { area: 'words', place: 'appointments.statuses (words)', there: statusPath, ask });
  }
  const { statuses } = profile.appointments;
  const meanings = (words ?? []).map((word) => meaningOf(word, statuses, schema?.labels.get(word)));
  compareMeanings(comparison, meanings);
  const found = meanings.map(({ status }) => status);
  const flags = compareFlags(comparison, spots, profile, found);
  const isCancelledSeen = [...found, ...flags.map(({ status }) => status)].includes('cancelled');
  if (isCancelledSeen || found.includes('unknown')) return;
  if (statusPath === null) askStatus(comparison, spots, profile);
  else if (words !== null) {
    const ask =
      'none of the states that are told means cancelled: which one does, or are such appointments no longer there?';
    const location = 'appointments.statuses (cancelled)';
    comparison.add('undecided', { area: 'words', place: location, there: words.join(', '), ask });
  }
}

interface Meaning {
  word: string;
  status: AppointmentStatus;
  /** The profile says it. */
  isNamed: boolean;
  /** What the document says that it stands for. */
  label: string | undefined;
}

/** What a state means: as the profile says, by what is known of its word, or by what the document says of it. */
function meaningOf(
  word: string,
  statuses: ClinicProfile['appointments']['statuses'],
  label: string | undefined,
): Meaning {
  const entries = Object.entries(statuses);
  const same = entries.find(([each]) => each === word) ?? entries.find(([each]) => folded(each) === folded(word));
  const guess = statusOfWord(word) ?? (label === undefined ? null : statusOfWord(label));
  return { word, status: same?.[1] ?? guess ?? 'unknown', isNamed: same !== undefined, label };
}

/** All states that were told; a line for each that the operator has to decide. */
function compareMeanings(comparison: Comparison, meanings: readonly Meaning[]): void {
  const open = meanings.filter(({ status }) => status === 'unknown');
  for (const { word, status, isNamed, label } of meanings) {
    if (status === 'unknown') continue;
    const finding = { area: 'words', place: `appointments.statuses.${word}`, there: label ?? word } as const;
    if (isNamed) comparison.add('fits', { ...finding, here: status });
    else comparison.add('differs', { ...finding, certainty: 'likely' });
  }
  if (open.length > 0) {
    const there = open.map(({ word }) => word).join(', ');
    const ask = `what does the state mean: ${there}? Until it is said, such rows stay as if booked, cancelled ones too`;
    comparison.add('undecided', { area: 'words', place: 'appointments.statuses', here: 'unknown', there, ask });
  }
  if (meanings.every(({ isNamed }) => isNamed)) return;
  const value = Object.fromEntries(meanings.map(({ word, status }) => [word, status]));
  const path = ['appointments', 'statuses'];
  comparison.changes.push({ path, value, comment: 'what the clinic tells; anything else is unknown' });
  for (const { word, status, label } of open) {
    const said = label === undefined ? '' : ` It says: ${label}.`;
    const comment = `to decide: booked, confirmed, arrived, in_progress, completed, cancelled or no_show.${said}`;
    comparison.changes.push({ path: [...path, word], value: status, comment });
  }
}

/** Asks for the status if nothing was found that tells a cancelled appointment from another, and names the fields that could. */
function askStatus(comparison: Comparison, spots: readonly Spot[], { appointments }: ClinicProfile): void {
  const few = spots.filter(
    ({ schema }) => schema.words !== null || (schema.type === 'integer' && schema.epochUnit === null),
  );
  const names = few.map(({ path }) => path).join(', ');
  const hint = names === '' ? '' : ` Few different values have: ${names}.`;
  const ask = `which field tells the state, or that an appointment is cancelled? Without one, cancelled ones stay.${hint}`;
  const here = textOf(appointments.fields.status);
  comparison.add('undecided', { area: 'words', place: 'appointments.fields.status', here, ask });
}

/** @returns the flags of the profile, or those that it should have */
function compareFlags(
  comparison: Comparison,
  spots: readonly Spot[],
  profile: ClinicProfile,
  words: readonly AppointmentStatus[],
): readonly Flag[] {
  const { flags } = profile.appointments;
  const found = FLAGS.flatMap(({ names, status, over }): Flag[] => {
    const spot = spots.find(({ path }) => !path.includes('.') && names.includes(folded(path)));
    if (spot === undefined || words.includes(status)) return [];
    return [{ path: spot.path, when: spot.schema.type === 'boolean' ? true : 'present', status, over }];
  });
  const missing = found.filter((one) => !flags.some(({ path, status }) => path === one.path && status === one.status));
  const [area, path, here] = ['words', ['appointments', 'flags'], `${flags.length} flags`] as const;
  if (missing.length === 0) {
    if (flags.length > 0) comparison.add('fits', { area, place: path.join('.'), here, there: `${found.length} flags` });
    return flags;
  }
  const there = missing.map((flag) => flag.path).join(', ');
  const ask = 'do these fields override the status, in this order?';
  const comment = 'statuses that no word tells; each overrides those before it';
  comparison.compare({ area, path, now: flags, wanted: found, here, there, certainty: 'likely', ask, comment });
  return found;
}
