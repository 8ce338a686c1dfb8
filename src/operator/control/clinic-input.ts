import { basename } from 'node:path';
import { callOf, createClinicApi, type OperationInput, valuesOf } from '../../clinic/api.ts';
import { type ClinicContext, pdfFile } from '../../clinic/http/call.ts';
import { compilePaths, folded } from '../../clinic/http/rows.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import { RESOURCES, type ResourceName } from '../../clinic/schema/resources.ts';
import type { SerialiseSection } from '../../clinic/write/invoice-calls.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { didYouMean } from '../../core/model/text.ts';
import type { JsonObject } from '../../described-api/paths.ts';
import { type Message, message, type Text } from '../../messages/message.ts';
import { type ClinicQuestion, operationOf } from './clinic-question.ts';

/**
 * Returns the input of a clinic operation. Unknown and missing fields are refused by name before the clinic is queried.
 * @param tenantOf returns the tenant's id in the clinic API
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

/** Returns the error for an unsupported argument of an operation. */
export function notTaken(what: Text, remedy: Message): MirrorError {
  return new MirrorError(message('not-taken', { what }), {
    actor: 'settings',
    code: 'not-taken',
    retry: 'never',
    remedy,
  });
}

/** Suffix of filter names that expect an id. `patientName` does not expect an id. */
const ID = '(ids?|uids?|uuids?|codes?|codice|keys?|numbers?)?$';
/** Suffixes for codes and numbers other than the id. */
const OTHER_KEY = /(uids?|uuids?|codes?|codice|keys?|numbers?)$/;
/** Prefixes of filter names that refer to the record's own id. `guarantorPatientId` refers to a different patient. */
const OWN =
  /^(id|by|for|of|in|per|where|filters?|quer(y|ies)|search|selected|clinic|appointments?|appuntament[oi]|bookings?|visits?)*$/;
/** Lists whose ids filters use, with the pattern of the filter's name. */
const LISTS = [
  ['agendas', new RegExp(`(agend[ae]|agendas|calendars?|calendari?o?)${ID}`)],
  ['locations', new RegExp(`(locations?|(?<!web)sites?|sed[ei])${ID}`)],
  ['treatments', new RegExp(`(treatments?|prestazion[ei])${ID}`)],
  ['patients', new RegExp(`(patients?|pazient[ei])${ID}`)],
] as const;
/** Names of boolean and negated filters. */
const YES_OR_NO = /^(is|has|new|only|with|include|excluded?|not(?!e)|except)/;
/** Values that select all records. */
const ALL = new Set(['*', 'all', 'any', 'tutti', 'tutte']);
/** Values that exclude a record. */
const ALL_BUT = /^([!-]|<>|(ne|neq|nin|not)[:.])/i;
/** Values that may stand for several statuses, unless the profile defines a status with such a name. */
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
/** Names of filters on an appointment's status, but not on other statuses such as payment status. */
const STATUS = /^(filter|appointment|booking|visit|appuntamento)*(status(es)?|states?|stat[oi])(appuntamento)?$/;
type List = (typeof LISTS)[number][0];

/** Clinic whose lists are queried. */
interface AskedClinic {
  context: ClinicContext;
  serialise: SerialiseSection;
  tenantId(signal: AbortSignal): Promise<string>;
}

/** A filter value of a question. */
interface Filter {
  name: string;
  value: string;
  list: List | 'statuses';
  /** The filter compares the id of an object to which the record refers. */
  isOwnId: boolean;
}

/**
 * Checks filter values against the clinic's lists after an empty answer, or an answer without the filtered field. An unknown value must not
 * look like an empty result.
 * @throws MirrorError `settings`, code `unknown-filter-value`, with the value, the list and the nearest known value
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
 * Prepares a check of result rows. A clinic that does not know a filter ignores the filter, and returns unrelated rows.
 * @returns a function that tests a row. Rows without the field, and fields that hold lists, always pass.
 * @throws (from the returned function) MirrorError `settings`: `unknown-filter-value`, or `filter-ignored` with the parameter's name
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

/** Compares a status by the profile's meaning, or an unknown status by its text. */
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

/** Returns the values of a filter; empty for filters that select or exclude groups. */
function valuesIn(text: string, list: Filter['list'], profile: ClinicProfile): string[] {
  const values = text.split(/[,;|]/).flatMap((each) => each.trim() || []);
  const meaning = statusMeaning(profile);
  const isSeveral = (value: string) => list === 'statuses' && SEVERAL_STATUSES.has(meaning(value));
  const isAny = (value: string) => ALL.has(value.toLowerCase()) || ALL_BUT.test(value) || isSeveral(value);
  return values.some(isAny) ? [] : values;
}

/** Returns null for an unreadable list, because the ids are then unknown. */
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

/** Returns statuses of the profile, or null for a profile without statuses. */
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
  // Messages never contain a patient id, because the user may have typed a name.
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

/** Field of a record that a filter compares. */
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
