import { basename } from 'node:path';
import { callOf, createClinicApi, type OperationInput, valuesOf } from '../clinic/api.ts';
import { type ClinicContext, pdfFile } from '../clinic/http/call.ts';
import { compilePaths, folded, type JsonObject } from '../clinic/http/rows.ts';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { RESOURCES, type ResourceName } from '../clinic/schema/resources.ts';
import type { SerialiseSection } from '../clinic/write/invoice-calls.ts';
import { type Message, message, type Text } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { didYouMean } from '../model/text.ts';
import { type ClinicQuestion, operationOf } from './clinic-question.ts';

/**
 * What an operation is called with. Whatever it does not take, and whatever it needs and lacks, is refused by name before the clinic is
 * asked anything.
 * @param tenantOf the clinic's id of the tenant
 * @throws MirrorError `settings`: codes `value-needed`, `not-taken`, `no-such-field`, `file-unusable`; `contract`, code `bad-value`
 */
export async function inputOf(
  tenantOf: (signal: AbortSignal) => Promise<string>,
  question: ClinicQuestion,
  signal: AbortSignal,
): Promise<OperationInput> {
  const { ids, parameters, pdf, resource } = question;
  const several = inputValues(question);
  const file = pdf === null ? null : await pdfFile(pdf, basename(pdf));
  const tenantId = resource === 'userInfo' ? '' : await tenantOf(signal);
  return { tenantId, ids, values: several[0] ?? {}, several, parameters, file };
}

function inputValues(question: ClinicQuestion): JsonObject[] {
  const { resource, values, parameters, pdf } = question;
  const { gives, takes, needs, takesSeveral, wantsFile, check } = callOf(operationOf(question));
  const inputs: readonly JsonObject[] = isSeveral(values) ? values : [values];
  const [first = {}] = inputs;
  if (inputs.length !== 1 && !takesSeveral) throw notTaken(message('not-taken.several'), message('not-taken.give-one'));
  if (pdf !== null && !wantsFile) throw notTaken('--pdf', message('not-taken.leave-out'));
  if (parameters.length > 0 && (gives !== 'list' || takes !== null)) {
    const remedy =
      takes === null
        ? message('not-taken.leave-out')
        : message('not-taken.choose-data', { names: Object.keys(takes).join(', ') });
    throw notTaken(`--params with ${parameters.map(([name]) => name).join(', ')}`, remedy);
  }
  const missing = needs.filter((name) => (first[name] ?? null) === null);
  if (missing.length === 0) {
    const written = inputs.map((each) => valuesOf(takes ?? {}, each));
    for (const each of written) check(each);
    return written;
  }
  const example = JSON.stringify(Object.fromEntries(missing.map((name) => [name, '…'])));
  throw new MirrorError(message('value-needed', { resource, fields: missing.join(' and ') }), {
    actor: 'settings',
    code: 'value-needed',
    retry: 'never',
    remedy: message('value-needed.remedy', { example }),
  });
}

function isSeveral(values: ClinicQuestion['values']): values is readonly JsonObject[] {
  return Array.isArray(values);
}

/** The error of something that an operation can't be given. */
export function notTaken(what: Text, remedy: Message): MirrorError {
  return new MirrorError(message('not-taken', { what }), {
    actor: 'settings',
    code: 'not-taken',
    retry: 'never',
    remedy,
  });
}

/** What stands behind the name of a thing where its id is meant: `patientName` asks for something else. */
const ID = '(ids?|uids?|uuids?|codes?|codice|keys?|numbers?)?$';
/** Of these the codes and numbers that a thing has beside its id. */
const OTHER_KEY = /(uids?|uuids?|codes?|codice|keys?|numbers?)$/;
/** What may stand before the name of a thing where the record's own is meant: `guarantorPatientId` asks for another patient. */
const OWN =
  /^(id|by|for|of|in|per|where|filters?|quer(y|ies)|search|selected|clinic|appointments?|appuntament[oi]|bookings?|visits?)*$/;
/** Lists whose ids are asked for by filters, and how the name of such a filter ends. */
const LISTS = [
  ['agendas', new RegExp(`(agend[ae]|agendas|calendars?|calendari?o?)${ID}`)],
  ['locations', new RegExp(`(locations?|(?<!web)sites?|sed[ei])${ID}`)],
  ['treatments', new RegExp(`(treatments?|prestazion[ei])${ID}`)],
  ['patients', new RegExp(`(patients?|pazient[ei])${ID}`)],
] as const;
/** Names of filters that ask for yes or no, and for all but one. */
const YES_OR_NO = /^(is|has|new|only|with|include|excluded?|not(?!e)|except)/;
/** Values that ask for all. */
const ALL = new Set(['*', 'all', 'any', 'tutti', 'tutte']);
/** Values that ask for all but one. */
const ALL_BUT = /^([!-]|<>|(ne|neq|nin|not)[:.])/i;
/** Words that may stand for several statuses, where a profile names no status so. */
const SEVERAL_STATUSES = new Set([
  'active',
  'inactive',
  'open',
  'closed',
  'upcoming',
  'future',
  'past',
  'attivi',
  'aperti',
  'chiusi',
]);
/** Names of filters by the status of an appointment, and not by another one such as that of the payment. */
const STATUS = /^(filter|appointment|booking|visit|appuntamento)*(status(es)?|states?|stat[oi])(appuntamento)?$/;
type List = (typeof LISTS)[number][0];

/** The clinic that is asked for the lists. */
interface AskedClinic {
  context: ClinicContext;
  serialise: SerialiseSection;
  tenantId(signal: AbortSignal): Promise<string>;
}

/** A value that a question filters by. */
interface Filter {
  name: string;
  value: string;
  list: List | 'statuses';
  /** It asks for the thing that a record names, by its id. */
  isOwnId: boolean;
}

/**
 * Looks whether the values that a question filters by are known, after an answer that is empty or tells of none: an unknown one is never an
 * empty answer.
 * @throws MirrorError `settings`, code `unknown-filter-value`: it names the value, where it may be looked up, and the nearest one
 */
export async function requireValidFilters(
  access: AskedClinic,
  question: ClinicQuestion,
  signal: AbortSignal,
): Promise<void> {
  for (const filter of filtersOf(access, question)) {
    const existing = filter.list === 'statuses' ? statusesOf(access) : await idsOf(access, filter, signal);
    if (existing !== null && !existing.has(filter.value)) throw unknownValue(filter, existing);
  }
}

/**
 * Prepares a look at the rows of an answer: a clinic that does not know a filter leaves it out, and answers with rows that were not asked for.
 * @returns whether a row may be one that was asked for; fields that lists hold, and rows that do not tell the field, say nothing
 * @throws (the function that is returned) MirrorError `settings`: `unknown-filter-value`, as above; else `filter-ignored`, with the parameter's name
 */
export function requireFiltered(access: AskedClinic, question: ClinicQuestion) {
  const { resource } = question;
  const { profile } = access.context;
  const fields = Object.hasOwn(RESOURCES, resource) ? profile[resource as ResourceName].fields : {};
  const pathsOf = new Map<string, readonly string[]>(Object.entries(fields));
  const own = filtersOf(access, question).filter(({ isOwnId }) => isOwnId);
  const asked = Map.groupBy(own, ({ list }) => list);
  const checks = [...asked].flatMap(([list, filters]) => {
    const field = FIELDS[list];
    const paths = pathsOf.get(field) ?? [];
    if (paths.length === 0 || paths.some((path) => path.includes('['))) return [];
    const meant = list === 'statuses' ? statusMeaning(profile) : (value: unknown) => String(value).trim().toLowerCase();
    const wanted = new Set(filters.map(({ value }) => meant(value)));
    return [
      {
        filter: filters[0] as Filter,
        field,
        read: compilePaths(paths),
        fits: (shown: unknown) => wanted.has(meant(shown)),
      },
    ];
  });
  return async (rows: readonly JsonObject[], isRaw: boolean, signal: AbortSignal): Promise<void> => {
    const ignored = checks.find(({ field, read, fits }) =>
      rows.some((row) => {
        const shown = (isRaw ? read(row) : row[field]) ?? '';
        return (typeof shown === 'string' || typeof shown === 'number') && shown !== '' && !fits(shown);
      }),
    );
    if (ignored === undefined) return;
    await requireValidFilters(access, question, signal);
    throw ignoredFilter(ignored.filter);
  };
}

/** A status by what the profile takes it for; one that it does not know, by its word. */
function statusMeaning({ appointments: { statuses } }: ClinicProfile): (value: unknown) => string {
  const existing = new Map(Object.entries(statuses).map(([word, status]) => [folded(word), status as string]));
  return (value) => folded(existing.get(folded(String(value))) ?? String(value));
}

function filtersOf({ context }: AskedClinic, { resource, values, parameters, ids }: ClinicQuestion): Filter[] {
  const { agenda } = context.profile.appointments.filters;
  const bodyValues = Array.isArray(values) ? [] : Object.entries(values);
  const asked = [...parameters, ...bodyValues].flatMap(([name, value]) =>
    [value].flat().map((each) => [name, each] as const),
  );
  const ofPath = resource === 'availabilities' && ids[0] !== undefined ? [['treatmentId', ids[0]] as const] : [];
  return [...asked, ...ofPath].flatMap(([name, value]) => {
    const word = folded(name).replaceAll(/[^a-z]/g, '');
    const [named, ends] = (YES_OR_NO.test(word) ? undefined : LISTS.find((each) => each[1].test(word))) ?? [];
    const list = name === agenda ? 'agendas' : named;
    const isStatus = resource === 'appointments' && STATUS.test(word);
    const of = list ?? (isStatus ? 'statuses' : null);
    if (of === null || (typeof value !== 'string' && typeof value !== 'number')) return [];
    const isOwn = ends === undefined || (OWN.test(word.slice(0, word.search(ends))) && !OTHER_KEY.test(word));
    const isOwnId = name === agenda || isOwn;
    return valuesIn(String(value), of, context.profile).map(
      (each): Filter => ({ name, value: each, list: of, isOwnId }),
    );
  });
}

/** The values of a filter; none where it asks for all, or for all but some. */
function valuesIn(text: string, list: Filter['list'], profile: ClinicProfile): string[] {
  const values = text.split(/[,;|]/).flatMap((each) => each.trim() || []);
  const meaning = statusMeaning(profile);
  const isSeveral = (value: string) => list === 'statuses' && SEVERAL_STATUSES.has(meaning(value));
  const isAny = (value: string) => ALL.has(value.toLowerCase()) || ALL_BUT.test(value) || isSeveral(value);
  return values.some(isAny) ? [] : values;
}

/** Null where the list can not be read: then nothing is known of its ids. */
async function idsOf(
  access: AskedClinic,
  { list, value, isOwnId }: Filter,
  signal: AbortSignal,
): Promise<Map<string, string> | null> {
  const api = createClinicApi(access.context, access.serialise);
  const tenantId = await access.tenantId(signal);
  const existing = new Map<string, string>();
  try {
    if (list === 'statuses' || (list === 'patients' && !isOwnId)) return null;
    if (list === 'patients') {
      const found = await api.patients.read(tenantId, value, signal);
      return 'absent' in found ? existing : null;
    }
    for await (const { records } of api[list].list(tenantId, [], signal)) {
      for (const record of records) {
        existing.set(record.id.trim(), record.name);
        if (!isOwnId && 'code' in record && record.code !== null) existing.set(record.code, record.name);
      }
    }
    return existing;
  } catch (error) {
    if (error instanceof MirrorError) return null;
    throw error;
  }
}

/** Words that the profile names. A profile that names none knows nothing of them. */
function statusesOf({ context }: AskedClinic): Map<string, string> | null {
  const words = Object.entries(context.profile.appointments.statuses);
  const existing = new Map(words.flatMap(([word, status]) => [word, folded(word), status].map((each) => [each, word])));
  return existing.size === 0 ? null : existing;
}

function unknownValue({ name, value, list }: Filter, existing: ReadonlyMap<string, string>): MirrorError {
  const byName = new Map([...existing].map(([id, each]) => [each, id]));
  const suggestion = didYouMean(value, existing.keys()) ?? byName.get(didYouMean(value, byName.keys()) ?? '') ?? null;
  const label = suggestion === null ? '' : ` Nearest: ${suggestion}${nameOf(suggestion, existing)}.`;
  const where =
    list === 'statuses'
      ? message('status-filter.remedy')
      : message('value-lookup', { command: `clinic-mirror clinic <tenant> ${list}` });
  // An id of a patient is in no message: what somebody typed there may be a name.
  const shown = list === 'patients' ? 'the given patient' : `"${value.slice(0, 60)}"`;
  return new MirrorError(message('unknown-filter-value', { name, what: ONE[list], shown, label }), {
    actor: 'settings',
    code: 'unknown-filter-value',
    retry: 'never',
    remedy: where,
  });
}

function ignoredFilter({ name, list }: Filter): MirrorError {
  const other = list === 'statuses' ? 'another status' : `other ${list}`;
  return new MirrorError(message('filter-ignored', { name, other }), {
    actor: 'settings',
    code: 'filter-ignored',
    retry: 'never',
    remedy: message('filter-ignored.remedy', {
      where: list === 'agendas' ? ' (appointments.filters.agenda)' : '',
    }),
  });
}

/** Where a record tells what a filter asks for. */
const FIELDS: Readonly<Record<Filter['list'], string>> = {
  agendas: 'agendaId',
  locations: 'locationId',
  treatments: 'treatmentId',
  patients: 'patientId',
  statuses: 'status',
};

const ONE: Readonly<Record<Filter['list'], string>> = {
  agendas: 'agenda',
  locations: 'location',
  treatments: 'treatment',
  patients: 'patient',
  statuses: 'status',
};

function nameOf(id: string, existing: ReadonlyMap<string, string>): string {
  const name = existing.get(id);
  return name === undefined || name === id ? '' : ` (${name})`;
}
