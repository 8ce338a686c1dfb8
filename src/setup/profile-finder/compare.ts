import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import { RESOURCES, type ResourceName } from '../../clinic/schema/resources.ts';
import { payment, statusChange, tenantInfo } from '../../clinic/schema/shapes.ts';
import { ITSELF } from '../../described-api/paths.ts';
import { compareFields, compareRow } from './fields.ts';
import { ASK_CLINIC, Comparison, type Location } from './findings.ts';
import { compareFilters, comparePaging, envelopeOf, type ListSeen } from './lists.ts';
import type { Specification } from './openapi.ts';
import { compareRoutes, compareScopes, type Routes } from './routes.ts';
import { type EpochUnit, spotsOf, timeFormOf, UNTOLD, type ValueSchema } from './values.ts';

const LISTS = Object.keys(RESOURCES) as ResourceName[];

/**
 * Compares a clinic's API with a profile. Returns matches, differences with proposals, open questions, and the schema of an appointment.
 */
export function compareSpecification(
  { operations }: Pick<Specification, 'operations'>,
  profile: ClinicProfile,
): Comparison & { appointment: ValueSchema | null } {
  const comparison = new Comparison(profile);
  const routes = compareRoutes(comparison, operations);
  compareScopes(comparison, routes);
  compareLists(comparison, routes);
  const rows = LISTS.flatMap((list) => {
    const row = rowOf(list, routes, profile);
    return row === null ? [] : [{ list, row }];
  });
  const units = rows.flatMap(({ list, row }) => [...compareRow(comparison, list, row)]);
  compareTimeUnits(comparison, units);
  compareRecords(comparison, rows, routes);
  compareOthers(comparison, routes);
  const appointment = rows.find(({ list }) => list === 'appointments')?.row ?? null;
  return Object.assign(comparison, { appointment });
}

/** Returns the record schema of a list, otherwise of the single-record operation. */
function rowOf(list: ResourceName, routes: Routes, profile: ClinicProfile): ValueSchema | null {
  const answer = routes.get(`${list}.list`)?.answer ?? null;
  const row = answer && envelopeOf(answer, list)?.row;
  if (row != null && row.members.size > 0) return row;
  const one = routes.get(`${list}.read`)?.answer ?? null;
  const recordPath = profile[list].recordPath ?? profile.recordPath;
  const inner = recordPath === null || recordPath === ITSELF ? one : (one?.members.get(recordPath) ?? null);
  return inner !== null && inner.members.size > 0 ? inner : null;
}

/** Compares the location of records, the paging and the filters of lists. */
function compareLists(comparison: Comparison, routes: Routes): void {
  const lists = LISTS.flatMap((list): ListSeen[] => {
    const operation = routes.get(`${list}.list`);
    if (operation === undefined) return [];
    const envelope = operation.answer && envelopeOf(operation.answer, list);
    if (envelope !== null) {
      const totalPath = envelope.totalPath ?? operation.totalHeader;
      return [{ list, operation, envelope: { ...envelope, totalPath } }];
    }
    const ask = 'which field of the response contains the records? The document does not say';
    comparison.add('undecided', { area: 'lists', location: `${list} (list)`, ask });
    return [];
  });
  const usualNames = ['data', 'items', 'results', 'value', '_items'];
  const isUsual = ({ list, path }: PathSeen) => path === null || [...usualNames, list].includes(path);
  const seen = lists.map(({ list, envelope: { listPath } }) => ({ list, path: listPath }));
  comparePaths(comparison, 'listPath', { seen, isUsual });
  const ofPaging = comparePaging(comparison, lists);
  for (const { list, operation } of lists) {
    if (list !== 'appointments' && list !== 'availabilities') continue;
    const query = operation.query.filter(({ name }) => !ofPaging.get(list)?.includes(name));
    compareFilters(comparison, list, query);
  }
}

/** Compares the location of single records; asks the operator if no answer shows it. */
function compareRecords(
  comparison: Comparison,
  rows: readonly { list: ResourceName; row: ValueSchema }[],
  routes: Routes,
): void {
  const seen = rows.flatMap(({ list, row }): PathSeen[] => {
    const answer = routes.get(`${list}.read`)?.answer ?? null;
    if (answer === null || answer.members.size === 0) return [];
    const path = recordPathOf(answer, row);
    if (path !== undefined) return [{ list, path }];
    const ask = 'which field of the response for one record contains the record?';
    comparison.add('undecided', { area: 'lists', location: `${list}.recordPath`, ask });
    return [];
  });
  comparePaths(comparison, 'recordPath', { seen, isUsual: ({ path }) => path === null });
}

/**
 * Finds the record in a single-record answer by the fields of the list's records.
 * @returns null for the answer itself; undefined if unknown
 */
function recordPathOf(answer: ValueSchema, row: ValueSchema): string | null | undefined {
  const enough = Math.max(1, row.members.size / 2);
  const isRecord = ({ members }: ValueSchema) =>
    [...members.keys()].filter((name) => row.members.has(name)).length >= enough;
  if (isRecord(answer)) return null;
  const inner = [...answer.members].filter(([name, schema]) => !/[\s.]/.test(name) && isRecord(schema));
  return inner.length === 1 ? inner[0]?.[0] : undefined;
}

/** Location of records in the answers of a resource; null: the answer itself. */
interface PathSeen {
  list: ResourceName;
  path: string | null;
}

/**
 * Compares the locations of content in answers: a common path becomes the profile's default, others get their own.
 * @param isUsual decides whether a path is found without configuration
 */
function comparePaths(
  comparison: Comparison,
  key: 'listPath' | 'recordPath',
  { seen, isUsual }: { seen: readonly PathSeen[]; isUsual: (one: PathSeen) => boolean },
): void {
  if (seen.length === 0) return;
  const now = comparison.profile[key];
  const groups = Map.groupBy(
    seen.filter((one) => !isUsual(one)),
    ({ path }) => path,
  );
  const [[path, found] = [null, []]] = [...groups].sort(([, a], [, b]) => b.length - a.length);
  const isShared = found.length > 1 || found.length === seen.length;
  const wanted = now !== null && seen.some((one) => one.path === now) ? now : isShared ? path : null;
  comparison.compare({ area: 'lists', path: [key], wanted, there: wanted ?? '(none)' });
  for (const one of seen) {
    const isFound = one.path === wanted || (wanted === null && isUsual(one));
    if (isFound && comparison.profile[one.list][key] === null) continue;
    comparison.compare({
      area: 'lists',
      path: [one.list, key],
      wanted: isFound ? null : (one.path ?? ITSELF),
      there: one.path ?? 'the answer itself',
      comment: 'own location',
    });
  }
}

/** Compares the unit of numeric times; appointments decide. */
function compareTimeUnits(
  comparison: Comparison,
  units: readonly (readonly [location: string, unit: EpochUnit])[],
): void {
  const [, wanted] = units.find(([location]) => location.startsWith('appointments.')) ?? units[0] ?? [];
  if (wanted === undefined) return;
  comparison.compare({ area: 'times', path: ['epochUnit'], wanted, comment: 'times are numbers' });
  const others = units.flatMap(([location, unit]) => (unit === wanted ? [] : [location])).join(', ');
  if (others === '') return;
  const ask = `${others} use another unit, and a profile has only one unit: these fields are unreadable`;
  comparison.add('undecided', { area: 'times', location: 'epochUnit (others)', there: others, ask });
}

function bodyOf(routes: Routes, operation: string): ValueSchema | undefined {
  return routes.get(operation)?.bodies.values().next().value;
}

/** Shapes outside of list records, and their descriptions. */
const SINGLES = [
  { shape: tenantInfo, at: ['tenantInfo', 'fields'], operation: 'tenantInfo.read' },
  { shape: statusChange, at: ['appointments', 'statusChange'], operation: 'appointments.setStatus' },
  { shape: payment, at: ['appointments', 'payment'], operation: 'appointments.setPayment' },
];

/** Compares everything outside of list records. */
function compareOthers(comparison: Comparison, routes: Routes): void {
  for (const { shape, at, operation } of SINGLES) {
    const schema = bodyOf(routes, operation) ?? routes.get(operation)?.answer;
    if (schema != null && schema.members.size > 0) compareFields(comparison, { shape, at }, schema);
  }
  for (const { ask, find, ...location } of OTHERS) {
    const found = find(routes, comparison.profile);
    if (found === null) continue;
    const hint = found.there === undefined || found.there === '' ? '' : ` It has: ${found.there}`;
    comparison.compare({ ...location, ...found, ask: found.wanted === undefined ? `${ask}${hint}` : null });
  }
}

/** A location outside of list records. */
interface Other extends Pick<Location, 'area' | 'path' | 'certainty'> {
  ask: string;
  /** Finds the value in the document if certain, otherwise candidate names. Null: not described. */
  find(routes: Routes, profile: ClinicProfile): Pick<Location, 'wanted' | 'there'> | null;
}

const OTHERS: readonly Other[] = [
  {
    area: 'fields',
    path: ['tenants', 'fields', 'id'],
    ask: 'where does UserInfo list the clinics of a user?',
    find: (routes, { tenants: { path, fields } }) => {
      const user = routes.get('userInfo.read')?.answer ?? null;
      const isThere = fields.id.some((id) => user?.members.get(path)?.rows?.members.has(id));
      return user && { wanted: isThere ? fields.id : undefined };
    },
  },
  {
    area: 'errors',
    path: ['errors', 'codePaths'],
    ask: 'which field of a 4xx response contains the error code?',
    find: (routes, { errors }) => failureTexts(routes, errors.codePaths),
  },
  {
    area: 'errors',
    path: ['errors', 'textPaths'],
    ask: 'which field of a 4xx response contains the error text?',
    find: (routes, { errors }) => failureTexts(routes, errors.textPaths),
  },
  {
    area: 'errors',
    path: ['errors', 'missingClaim'],
    ask: 'how does a 403 for a missing scope differ from one for a missing permission of the user?',
    find: () => ({ wanted: undefined }),
  },
  {
    area: 'times',
    path: ['writes', 'times'],
    certainty: 'likely',
    ask: ASK_CLINIC.timeForm,
    find: (routes) => {
      const spots = spotsOf(bodyOf(routes, 'appointments.create') ?? UNTOLD);
      const unit = spots.find(({ schema }) => schema.epochUnit !== null)?.schema.epochUnit ?? null;
      const times = spots.filter(({ schema }) => schema.format === 'date-time');
      const examples = times.flatMap(({ schema: { example } }) => (typeof example === 'string' ? [example] : []));
      return spots.length === 0 ? null : { wanted: timeFormOf(unit, examples) ?? undefined };
    },
  },
  {
    area: 'times',
    path: ['writes', 'decimals'],
    ask: 'does the clinic accept amounts as numbers or as texts?',
    find: (routes) => {
      const paid = bodyOf(routes, 'appointments.setPayment');
      const type = paid?.members.get('amount')?.type ?? null;
      return paid === undefined ? null : { wanted: type === null ? undefined : type === 'string' ? 'text' : 'number' };
    },
  },
  {
    area: 'fields',
    path: ['medicalReports', 'upload'],
    ask: 'how is a report sent, and which part contains the file?',
    find: (routes, { medicalReports: { upload } }) => {
      const create = routes.get('medicalReports.create');
      const [[type, body] = ['', UNTOLD] as const] = create?.bodies ?? [];
      const isStyle = type.startsWith('multipart/') === (upload.style === 'multipart');
      const isSame = isStyle && body.members.has(upload.filePart);
      const there = [type, [...body.members.keys()].join(', ')].filter((one) => one !== '').join(': ');
      return create === undefined ? null : { wanted: isSame ? upload : undefined, there };
    },
  },
];

/** Returns the profile's paths if a failure has one, otherwise the text fields of failures. */
function failureTexts(routes: Routes, paths: readonly string[]): Pick<Location, 'wanted' | 'there'> {
  const bodies = [...routes.values()].flatMap(({ failures }) => failures);
  const spots = bodies.flatMap((body) => spotsOf(body)).filter(({ schema }) => schema.type === 'string');
  const texts = [...new Set(spots.map(({ path }) => path))];
  return { wanted: paths.some((path) => texts.includes(path)) ? paths : undefined, there: texts.join(', ') };
}
