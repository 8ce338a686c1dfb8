import { compilePaths, folded } from '../../clinic/http/rows.ts';
import { compileStatuses } from '../../clinic/read/appointment-rows.ts';
import { compileRaised } from '../../clinic/read/raised-flags.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import type { AppointmentStatus } from '../../core/model/records.ts';
import type { JsonObject } from '../../described-api/paths.ts';
import type { Comparison } from './findings.ts';
import { FLAGS, statusOfWord } from './names.ts';
import type { Spot } from './values.ts';

type Flag = ClinicProfile['appointments']['flags'][number];

/** Displayed locations of flags and statuses in the profile. */
export const FLAGS_LOCATION = 'appointments.flags';
export const STATUSES_LOCATION = 'appointments.statuses';

/** Compares status words, and finds flags for statuses without a word. */
export function compareStatuses(comparison: Comparison, spots: readonly Spot[], state: Spot | null): void {
  const path = ['appointments', 'statuses'];
  const words = state?.schema.words ?? [];
  const meanings = words.map((word) => meaningOf(word, comparison.profile.appointments.statuses));
  const open = meanings.filter(({ status }) => status === 'unknown').map(({ word }) => word);
  for (const { word, status, isNamed } of meanings) {
    if (status === 'unknown') continue;
    const finding = { area: 'words', location: `${STATUSES_LOCATION}.${word}`, there: word } as const;
    comparison.add(
      isNamed ? 'fits' : 'differs',
      isNamed ? { ...finding, here: status } : { ...finding, certainty: 'likely' },
    );
  }
  if (open.length > 0) {
    const ask = `what does the state mean: ${open.join(', ')}? Until then such records count as booked, also cancelled records`;
    comparison.add('undecided', {
      area: 'words',
      location: STATUSES_LOCATION,
      here: 'unknown',
      there: open.join(', '),
      ask,
    });
  }
  if (meanings.some(({ isNamed }) => !isNamed)) {
    const value = Object.fromEntries(meanings.map(({ word, status }) => [word, status]));
    const comment = 'to decide: booked, confirmed, arrived, in_progress, completed, cancelled or no_show.';
    comparison.changes.push(
      { path, value, comment: 'values of the clinic; other values are unknown' },
      ...open.map((word) => ({ path: [...path, word], value: 'unknown', comment })),
    );
  }
  const found = meanings.map(({ status }) => status);
  const flags = compareFlags(comparison, spots, found);
  askForCancelled(comparison, spots, state, [...found, ...flags.map(({ status }) => status)]);
}

/** Returns the status of a state by the profile, otherwise by its word. */
function meaningOf(word: string, statuses: ClinicProfile['appointments']['statuses']) {
  const entries = Object.entries(statuses);
  const same = entries.find(([each]) => each === word) ?? entries.find(([each]) => folded(each) === folded(word));
  return { word, status: same?.[1] ?? statusOfWord(word) ?? 'unknown', isNamed: same !== undefined };
}

/** Asks for the states if nothing identifies a cancelled appointment. */
function askForCancelled(
  comparison: Comparison,
  spots: readonly Spot[],
  state: Spot | null,
  found: readonly AppointmentStatus[],
): void {
  if (state !== null && state.schema.words === null) {
    const ask = `which values can ${state.path} have, and what does each mean?`;
    comparison.add('undecided', { area: 'words', location: `${STATUSES_LOCATION} (words)`, there: state.path, ask });
  }
  if (found.includes('cancelled') || found.includes('unknown')) return;
  if (state === null) {
    const few = spots.filter(
      ({ schema }) => schema.words !== null || (schema.type === 'integer' && schema.epochUnit === null),
    );
    const hint = few.length === 0 ? '' : ` Few different values have: ${few.map(({ path }) => path).join(', ')}.`;
    const ask = `which field contains the status, or shows that an appointment is cancelled? Without such a field, cancelled appointments remain.${hint}`;
    comparison.compare({ area: 'words', path: ['appointments', 'fields', 'status'], wanted: undefined, ask });
  } else if (state.schema.words !== null) {
    const ask =
      'no documented status means cancelled: which status does, or does the clinic delete cancelled appointments?';
    const there = state.schema.words.join(', ');
    comparison.add('undecided', { area: 'words', location: `${STATUSES_LOCATION} (cancelled)`, there, ask });
  }
}

/** @returns the flags of the profile, or the proposed flags */
function compareFlags(
  comparison: Comparison,
  spots: readonly Spot[],
  words: readonly AppointmentStatus[],
): readonly Flag[] {
  const { flags } = comparison.profile.appointments;
  const found = FLAGS.flatMap(({ names, status, over }): Flag[] => {
    const spot = spots.find(({ path }) => !path.includes('.') && names.includes(folded(path)));
    if (spot === undefined || words.includes(status)) return [];
    return [{ path: spot.path, when: spot.schema.type === 'boolean' ? true : 'present', status, over }];
  });
  const missing = found.filter((one) => !flags.some(({ path, status }) => path === one.path && status === one.status));
  if (missing.length === 0 && flags.length === 0) return flags;
  const wanted = missing.length === 0 ? flags : found;
  comparison.compare({
    area: 'words',
    path: ['appointments', 'flags'],
    wanted,
    here: `${flags.length} flags`,
    there: wanted.map(({ path }) => path).join(', '),
    certainty: 'likely',
    ask: 'do these fields override the status, in this order?',
    comment: 'statuses without a word; each overrides the previous statuses',
  });
  return wanted;
}

/** Statuses that free the time: their flags are proposed even if never raised, because possibly no sample was cancelled. */
const FREEING: readonly AppointmentStatus[] = ['cancelled', 'no_show'];

/**
 * Returns flags that differed from the status word of a sample; other fields are not flags. Flags of statuses that free the time remain
 * while no word expresses the status.
 */
export function raisedFlags({ appointments }: ClinicProfile, samples: readonly JsonObject[]): readonly Flag[] {
  const byWord = compileStatuses({ ...appointments, flags: [] });
  const wordOf = compilePaths(appointments.fields.status);
  const read = samples.map((row) => {
    const word = wordOf(row) ?? null;
    return { row, status: byWord(word === null ? null : String(word), row) };
  });
  return appointments.flags.filter((flag) => {
    const isRaised = compileRaised(flag);
    const isFreeing = FREEING.includes(flag.status) && read.every(({ status }) => status !== flag.status);
    const overrides = (status: AppointmentStatus) =>
      status !== flag.status && (flag.over === null || flag.over.includes(status));
    return isFreeing || read.some(({ row, status }) => isRaised(row) && overrides(status));
  });
}
