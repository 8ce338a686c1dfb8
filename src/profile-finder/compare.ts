import { folded, ITSELF } from '../clinic/http/rows.ts';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { RESOURCES, type ResourceName } from '../clinic/schema/resources.ts';
import { payment, statusChange, tenantInfo } from '../clinic/schema/shapes.ts';
import { compareFields, compareRow } from './fields.ts';
import { Comparison, textOf } from './findings.ts';
import { compareFilters, comparePaging, envelopeOf, type ListSeen } from './lists.ts';
import type { Specification, SpecifiedOperation } from './openapi.ts';
import { compareRoutes, compareScopes, type Routes } from './routes.ts';
import { type EpochUnit, spotsOf, timeFormOf, type ValueSchema } from './values.ts';

const LISTS = Object.keys(RESOURCES) as ResourceName[];

/**
 * Compares a clinic's API with a profile: what fits, what differs and how the profile should say it, what could not be told; and what a
 * row of appointments looks like.
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
  compareSingles(comparison, routes);
  compareErrors(comparison, [...routes.values()]);
  compareWrites(comparison, routes);
  compareUpload(comparison, routes.get('medicalReports.create'));
  const appointment = rows.find(({ list }) => list === 'appointments')?.row ?? null;
  return Object.assign(comparison, { appointment });
}

/** A row of a list, else of the operation that reads one. */
function rowOf(list: ResourceName, routes: Routes, profile: ClinicProfile): ValueSchema | null {
  const answer = routes.get(`${list}.list`)?.answer ?? null;
  const row = answer && envelopeOf(answer, list)?.row;
  if (row != null && row.members.size > 0) return row;
  const one = routes.get(`${list}.read`)?.answer ?? null;
  const recordPath = profile[list].recordPath ?? profile.recordPath;
  const inner = recordPath === null || recordPath === ITSELF ? one : (one?.members.get(recordPath) ?? null);
  return inner !== null && inner.members.size > 0 ? inner : null;
}

/** Where lists hold their rows, how they page, and how they are asked for less. */
function compareLists(comparison: Comparison, routes: Routes): void {
  const lists = LISTS.flatMap((list): ListSeen[] => {
    const operation = routes.get(`${list}.list`);
    if (operation === undefined) return [];
    const envelope = operation.answer && envelopeOf(operation.answer, list);
    if (envelope !== null) {
      const totalPath = envelope.totalPath ?? operation.totalHeader;
      return [{ list, operation, envelope: { ...envelope, totalPath } }];
    }
    const ask = 'where does the answer hold its rows? The document does not say';
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

/** Where single records are; asked if no answer shows it. */
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
    const ask = 'where does the answer for one record hold it?';
    comparison.add('undecided', { area: 'lists', location: `${list}.recordPath`, ask });
    return [];
  });
  comparePaths(comparison, 'recordPath', { seen, isUsual: ({ path }) => path === null });
}

/**
 * Where an answer for one record holds it, by the fields that the rows of its list have.
 * @returns null for the answer itself; undefined if it can't be told
 */
function recordPathOf(answer: ValueSchema, row: ValueSchema): string | null | undefined {
  const enough = Math.max(1, row.members.size / 2);
  const isRecord = ({ members }: ValueSchema) =>
    [...members.keys()].filter((name) => row.members.has(name)).length >= enough;
  if (isRecord(answer)) return null;
  const inner = [...answer.members].filter(([name, schema]) => !/[\s.]/.test(name) && isRecord(schema));
  return inner.length === 1 ? inner[0]?.[0] : undefined;
}

/** Where the answers of one resource hold their rows, or a single record; null: the answer itself. */
interface PathSeen {
  list: ResourceName;
  path: string | null;
}

/**
 * Compares where answers hold what they are for: a path that several have is the profile's, others have one of their own.
 * @param isUsual whether a path is found without being named
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
      comment: 'a place of its own',
    });
  }
}

/** One unit for all times that are numbers: that of appointments, if they have one. */
function compareTimeUnits(
  comparison: Comparison,
  units: readonly (readonly [location: string, unit: EpochUnit])[],
): void {
  const [, wanted] = units.find(([location]) => location.startsWith('appointments.')) ?? units[0] ?? [];
  if (wanted === undefined) return;
  comparison.compare({ area: 'times', path: ['epochUnit'], wanted, comment: 'times are numbers' });
  const others = units.flatMap(([location, unit]) => (unit === wanted ? [] : [location])).join(', ');
  if (others === '') return;
  const ask = `${others} count otherwise, and a profile has one unit: they can not be read`;
  comparison.add('undecided', { area: 'times', location: 'epochUnit (others)', there: others, ask });
}

function bodyOf(routes: Routes, operation: string): ValueSchema | undefined {
  return routes.get(operation)?.bodies.values().next().value;
}

/** Shapes that are no list's rows, and where they are described. */
const SINGLES = [
  { shape: tenantInfo, at: ['tenantInfo', 'fields'], operation: 'tenantInfo.read' },
  { shape: statusChange, at: ['appointments', 'statusChange'], operation: 'appointments.setStatus' },
  { shape: payment, at: ['appointments', 'payment'], operation: 'appointments.setPayment' },
];

function compareSingles(comparison: Comparison, routes: Routes): void {
  for (const { shape, at, operation } of SINGLES) {
    const schema = bodyOf(routes, operation) ?? routes.get(operation)?.answer;
    if (schema != null && schema.members.size > 0) compareFields(comparison, { shape, at }, schema);
  }
  const user = routes.get('userInfo.read')?.answer;
  if (user == null) return;
  const { path, fields } = comparison.profile.tenants;
  const isThere = fields.id.some((id) => user.members.get(path)?.rows?.members.has(id));
  comparison.compare({
    area: 'fields',
    path: ['tenants', 'fields', 'id'],
    wanted: isThere ? fields.id : undefined,
    ask: 'where does UserInfo list the clinics of a user?',
  });
}

/** Where failures hold their word and their text: that of the profile, else it is asked. */
function compareErrors(comparison: Comparison, operations: readonly SpecifiedOperation[]): void {
  const spots = operations.flatMap(({ failures }) => failures.flatMap((body) => spotsOf(body)));
  const texts = new Set(spots.filter(({ schema }) => schema.type === 'string').map(({ path }) => path));
  const there = [...texts].join(', ') || '–';
  const { errors } = comparison.profile;
  for (const [key, what] of [['codePaths', 'word for machines'] as const, ['textPaths', 'text for people'] as const]) {
    comparison.compare({
      area: 'errors',
      path: ['errors', key],
      wanted: errors[key].some((path) => texts.has(path)) ? errors[key] : undefined,
      there,
      ask: `where do answers of 4xx hold a ${what}?${texts.size === 0 ? '' : ` They have: ${there}`}`,
    });
  }
  const ask = 'how does a 403 for a missing scope differ from one for a missing permission of the user?';
  comparison.compare({ area: 'errors', path: ['errors', 'missingClaim'], wanted: undefined, ask });
}

/** In which form what is written should be: that in which it is described. */
function compareWrites(comparison: Comparison, routes: Routes): void {
  const created = bodyOf(routes, 'appointments.create');
  const spots = created === undefined ? [] : spotsOf(created);
  const unit = spots.find(({ schema }) => schema.epochUnit !== null)?.schema.epochUnit ?? null;
  const examples = spots.flatMap(({ schema: { format, example } }) =>
    format === 'date-time' && typeof example === 'string' ? [example] : [],
  );
  const wanted = timeFormOf(unit, examples);
  if (wanted !== null) {
    const comment = unit === null ? 'by its examples' : 'numbers in bodies too';
    comparison.compare({ area: 'times', path: ['writes', 'times'], wanted, certainty: 'likely', comment });
  }
  const paid = bodyOf(routes, 'appointments.setPayment');
  const amount = paid && spotsOf(paid).find(({ path }) => ['amount', 'importo'].includes(folded(path)));
  if (amount === undefined) return;
  const form = amount.schema.type === 'string' ? 'text' : 'number';
  comparison.compare({ area: 'times', path: ['writes', 'decimals'], wanted: form });
}

/** How a report is sent: as the profile says, else it is asked, with the parts of the body. */
function compareUpload(comparison: Comparison, create: SpecifiedOperation | undefined): void {
  const [[type, body] = []] = create?.bodies ?? [];
  if (type === undefined || body === undefined) return;
  const { upload } = comparison.profile.medicalReports;
  const parts = [...body.members.keys()];
  const isSameStyle = type.startsWith('multipart/') === (upload.style === 'multipart');
  const isSame = isSameStyle && parts.includes(upload.filePart);
  const there = `${type}: ${textOf(parts)}`;
  comparison.compare({
    area: 'fields',
    path: ['medicalReports', 'upload'],
    wanted: isSame ? upload : undefined,
    here: `${upload.style}: ${upload.filePart}`,
    there,
    ask: `which part holds the file, and which its data? It takes ${there}`,
  });
}
