import { folded } from '../../clinic/http/rows.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import type { AppointmentStatus } from '../../model/records.ts';
import { type Compared, Comparison } from './findings.ts';
import { type Spot, spotsOf } from './match-fields.ts';
import type { ValueSchema } from './schemas.ts';

const words = (text: string) => text.split(' ');

/** Words of clinic systems for a status, folded; English, Italian, FHIR (hl7.org/fhir/R4/valueset-appointmentstatus.html). */
const STATUS_WORDS: Readonly<Record<Exclude<AppointmentStatus, 'unknown'>, readonly string[]>> = {
  booked: words(
    'booked scheduled planned pending new open reserved requested proposed waitlist prenotato prenotata programmato programmata pianificato inserito fissato dafare',
  ),
  confirmed: words('confirmed accepted confermato confermata'),
  arrived: words(
    'arrived checkedin waiting present inwaitingroom arrivato arrivata accettato accettata inattesa insala presente presentato',
  ),
  in_progress: words('inprogress incare started ongoing invisit incorso incura iniziato iniziata incarico'),
  completed: words(
    'completed done fulfilled finished closed executed checkedout seen eseguito eseguita completato completata concluso conclusa terminato terminata erogato erogata effettuato evaso chiuso',
  ),
  cancelled: words(
    'cancelled canceled deleted revoked rejected enteredinerror void annullato annullata disdetto disdetta cancellato cancellata eliminato eliminata rifiutato',
  ),
  no_show: words(
    'noshow absent missed didnotarrive notarrived nonpresentato nonpresentata assente nonvenuto mancato noncomparso',
  ),
};
const STATUS_OF = new Map(
  Object.entries(STATUS_WORDS).flatMap(([status, known]) =>
    known.map((word) => [word, status as AppointmentStatus] as const),
  ),
);

/** The status that a word of a clinic is known to mean; null for a word that is not known. */
function knownStatus(word: string): AppointmentStatus | null {
  return STATUS_OF.get(folded(word)) ?? null;
}

type Flag = ClinicProfile['appointments']['flags'][number];

/** Fields beside a status that override it, folded, in the order in which they do. */
const FLAGS: readonly { names: readonly string[]; status: AppointmentStatus; over: AppointmentStatus[] | null }[] = [
  { names: words('confirmed isconfirmed confirmedat confirmedon confermato'), status: 'confirmed', over: ['booked'] },
  {
    names: words('arrived hasarrived arrivedat checkedin ischeckedin checkedinat checkinat accettato patientarrived'),
    status: 'arrived',
    over: ['booked', 'confirmed'],
  },
  { names: words('didnotarrive noshow isnoshow missed patientmissed absent assente'), status: 'no_show', over: null },
  {
    names: words(
      'cancelled canceled iscancelled iscanceled cancelledat canceledat cancelledon annullato dataannullamento',
    ),
    status: 'cancelled',
    over: null,
  },
];

/** Compares the words of appointments' statuses, and looks for flags that tell the statuses that no word tells. */
export function compareStatuses(row: ValueSchema, profile: ClinicProfile, statusPath: string | null): Compared {
  const comparison = new Comparison();
  const rules = profile.appointments;
  const spots = spotsOf(row);
  const schema = spots.find(({ path }) => path === statusPath)?.schema;
  const told = schema?.words ?? null;
  if (statusPath !== null && told === null) {
    const place = { area: 'words', place: 'appointments.statuses (words)', here: '–', there: statusPath } as const;
    comparison.undecided({ ...place, ask: `what can stand in ${statusPath}, and what does each mean?` });
  }
  const meanings = (told ?? []).map((word) => meaningOf(word, rules.statuses, schema?.labels.get(word)));
  for (const { word, status, isNamed, label } of meanings) {
    const place = { area: 'words', place: `appointments.statuses.${word}`, there: label ?? word } as const;
    if (status === 'unknown') continue;
    if (isNamed) comparison.fits({ ...place, here: status });
    else comparison.differs({ ...place, here: '–', certainty: 'likely' }, null);
  }
  const open = meanings.flatMap(({ word, status }) => (status === 'unknown' ? [word] : []));
  if (open.length > 0) {
    const place = { area: 'words', place: 'appointments.statuses', here: 'unknown', there: open.join(', ') } as const;
    const ask = `what does the state mean: ${place.there}? Until it is said, such rows stay as if booked, cancelled ones too`;
    comparison.undecided({ ...place, ask });
  }
  if (meanings.some(({ isNamed }) => !isNamed)) proposeStatuses(comparison, meanings);
  const statuses = meanings.map(({ status }) => status);
  const isFlagged = compareFlags(comparison, spots, profile, statuses).some(({ status }) => status === 'cancelled');
  if (isFlagged || statuses.includes('cancelled') || statuses.includes('unknown')) return comparison;
  if (statusPath === null) askStatus(comparison, spots, profile);
  else if (told !== null) askCancelled(comparison, told);
  return comparison;
}

interface Meaning {
  word: string;
  status: AppointmentStatus;
  /** The profile says it. */
  isNamed: boolean;
  /** What the document says that it stands for. */
  label: string | undefined;
}

/** What a state means: as the profile says, by what is known of its word, or by what the document says beside it. */
function meaningOf(
  word: string,
  statuses: ClinicProfile['appointments']['statuses'],
  label: string | undefined,
): Meaning {
  const same = Object.hasOwn(statuses, word)
    ? word
    : Object.keys(statuses).find((each) => folded(each) === folded(word));
  const named = same === undefined ? undefined : statuses[same];
  const known = knownStatus(word) ?? (label === undefined ? null : knownStatus(label));
  return { word, status: named ?? known ?? 'unknown', isNamed: named !== undefined, label };
}

/** All states that were told; a line for each that a person has to decide. */
function proposeStatuses(comparison: Comparison, meanings: readonly Meaning[]) {
  const value = Object.fromEntries(meanings.map(({ word, status }) => [word, status]));
  const comment = 'what the clinic tells; anything else is unknown';
  comparison.changes.push({ path: ['appointments', 'statuses'], value, comment });
  for (const { word, status, label } of meanings) {
    if (status !== 'unknown') continue;
    const said = label === undefined ? '' : ` It says: ${label}.`;
    const comment = `to decide: booked, confirmed, arrived, in_progress, completed, cancelled or no_show.${said}`;
    comparison.changes.push({ path: ['appointments', 'statuses', word], value: status, comment });
  }
}

/** Every state is known, and none of them is that of a cancelled appointment. */
function askCancelled(comparison: Comparison, told: readonly string[]) {
  const place = {
    area: 'words',
    place: 'appointments.statuses (cancelled)',
    here: '–',
    there: told.join(', '),
  } as const;
  const ask =
    'none of the states that are told means cancelled: which one does, or are such appointments no longer there?';
  comparison.undecided({ ...place, ask });
}

/** Nothing was found that tells a cancelled appointment from another: the fields that could are named. */
function askStatus(comparison: Comparison, spots: readonly Spot[], { appointments }: ClinicProfile) {
  const few = spots.filter(
    ({ schema }) => schema.words !== null || (schema.type === 'integer' && schema.epochUnit === null),
  );
  const names = few.map(({ path }) => path).join(', ');
  const here = appointments.fields.status.join(', ') || '(none)';
  const told = { area: 'words', place: 'appointments.fields.status', here, there: '–' } as const;
  const hint = names === '' ? '' : ` Few different values have: ${names}.`;
  comparison.undecided({
    ...told,
    ask: `which field tells the state, or that an appointment is cancelled? Without one, cancelled ones stay.${hint}`,
  });
}

function compareFlags(
  comparison: Comparison,
  spots: ReturnType<typeof spotsOf>,
  profile: ClinicProfile,
  told: readonly AppointmentStatus[],
): readonly Flag[] {
  const { flags } = profile.appointments;
  const found = FLAGS.flatMap(({ names, status, over }): Flag[] => {
    const spot = spots.find(({ path }) => !path.includes('.') && names.includes(folded(path)));
    if (spot === undefined || told.includes(status)) return [];
    return [{ path: spot.path, when: spot.schema.type === 'boolean' ? true : 'present', status, over }];
  });
  const missing = found.filter(
    ({ path, status }) => !flags.some((flag) => flag.path === path && flag.status === status),
  );
  const place = { area: 'words', place: 'appointments.flags', here: `${flags.length} flags` } as const;
  if (missing.length === 0) {
    if (flags.length > 0) comparison.fits({ ...place, there: `${found.length} flags` });
    return flags;
  }
  const there = missing.map(({ path }) => path).join(', ');
  const ask = 'do these fields override the status, in this order?';
  const comment = 'statuses that no word tells; each overrides those before it';
  comparison.differs(
    { ...place, there, certainty: 'likely', ask },
    { path: ['appointments', 'flags'], value: found, comment },
  );
  return found;
}
