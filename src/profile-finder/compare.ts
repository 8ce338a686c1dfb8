import { folded, ITSELF } from '../clinic/http/rows.ts';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { RESOURCES, type ResourceName } from '../clinic/schema/resources.ts';
import { payment, statusChange, tenantInfo } from '../clinic/schema/shapes.ts';
import { compareFields, compareRow } from './fields.ts';
import { Comparison, textOf } from './findings.ts';
import { compareFilters, comparePaging, envelopeOf, type ListSeen } from './lists.ts';
import { ENVELOPE } from './names.ts';
import type { Specification, SpecifiedOperation } from './openapi.ts';
import { compareRoutes, compareScopes, type Routes } from './questions.ts';
import { type EpochUnit, spotsOf, type ValueSchema } from './values.ts';

const LISTS = Object.keys(RESOURCES) as ResourceName[];

/**
 * Compares a clinic's API with a profile: what fits, what differs and how the profile should say it, what could not be told; and what a
 * row of appointments looks like.
 */
export function compareSpecification(
  { operations }: Specification,
  profile: ClinicProfile,
): Comparison & { appointment: ValueSchema | null } {
  const comparison = new Comparison();
  const routes = compareRoutes(comparison, operations, profile.pathPrefix);
  compareScopes(comparison, routes, profile.scopePrefix);
  compareLists(comparison, routes, profile);
  const rows = LISTS.flatMap((list) => {
    const row = rowOf(list, routes, profile);
    return row === null ? [] : [{ list, row }];
  });
  const units = rows.flatMap(({ list, row }) => [...compareRow(comparison, list, row, profile)]);
  compareTimeUnits(comparison, units, profile);
  compareRecords(comparison, rows, routes, profile);
  compareSingles(comparison, routes, profile);
  compareErrors(comparison, [...routes.values()], profile);
  compareWrites(comparison, routes, profile);
  compareUpload(comparison, routes.get('medicalReports.create'), profile);
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
function compareLists(comparison: Comparison, routes: Routes, profile: ClinicProfile): void {
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
  comparePaths(comparison, profile, 'listPath', { seen, isUsual });
  const ofPaging = comparePaging(comparison, lists, profile);
  for (const { list, operation } of lists) {
    if (list !== 'appointments' && list !== 'availabilities') continue;
    const query = operation.query.filter(({ name }) => !ofPaging.get(list)?.includes(name));
    compareFilters(comparison, list, query, profile);
  }
}

/** Where single records are; asked if no answer shows it. */
function compareRecords(
  comparison: Comparison,
  rows: readonly { list: ResourceName; row: ValueSchema }[],
  routes: Routes,
  profile: ClinicProfile,
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
  comparePaths(comparison, profile, 'recordPath', { seen, isUsual: ({ path }) => path === null });
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
  profile: ClinicProfile,
  key: 'listPath' | 'recordPath',
  { seen, isUsual }: { seen: readonly PathSeen[]; isUsual: (one: PathSeen) => boolean },
): void {
  if (seen.length === 0) return;
  const { [key]: now } = profile;
  const groups = Map.groupBy(
    seen.filter((one) => !isUsual(one)),
    ({ path }) => path,
  );
  const [[path, found] = [null, []]] = [...groups].sort(([, a], [, b]) => b.length - a.length);
  const isShared = found.length > 1 || found.length === seen.length;
  const wanted = now !== null && seen.some((one) => one.path === now) ? now : isShared ? path : null;
  const none = key === 'listPath' ? 'by usual names' : '(none)';
  const [here, there] = [now ?? none, wanted ?? none];
  comparison.compare({ area: 'lists', path: [key], now, wanted, here, there });
  for (const one of seen) {
    const own = profile[one.list][key];
    const isFound = one.path === wanted || (wanted === null && isUsual(one));
    if (isFound && own === null) continue;
    comparison.compare({
      area: 'lists',
      path: [one.list, key],
      now: own,
      wanted: isFound ? null : (one.path ?? ITSELF),
      here: own ?? 'as the profile',
      there: one.path ?? 'the answer itself',
      comment: 'a place of its own',
    });
  }
}

/** One unit for all times that are numbers: that of appointments, if they have one. */
function compareTimeUnits(
  comparison: Comparison,
  units: readonly (readonly [location: string, unit: EpochUnit])[],
  { epochUnit: now }: ClinicProfile,
): void {
  const [, wanted] = units.find(([location]) => location.startsWith('appointments.')) ?? units[0] ?? [];
  if (wanted === undefined) return;
  comparison.compare({ area: 'times', path: ['epochUnit'], now, wanted, comment: 'times are numbers' });
  const others = units.flatMap(([location, unit]) => (unit === wanted ? [] : [location])).join(', ');
  if (others === '') return;
  const ask = `${others} count otherwise, and a profile has one unit: they can not be read`;
  comparison.add('undecided', { area: 'times', location: 'epochUnit (others)', here: textOf(now), there: others, ask });
}

function bodyOf(routes: Routes, operation: string): ValueSchema | undefined {
  return routes.get(operation)?.bodies.values().next().value;
}

/** What is no list: facts of the tenant, the tenants of a user, the bodies of an appointment's own operations. */
function compareSingles(comparison: Comparison, routes: Routes, profile: ClinicProfile): void {
  const { statusChange: status, payment: paid } = profile.appointments;
  for (const { shape, fields, at, schema } of [
    {
      shape: tenantInfo,
      fields: profile.tenantInfo.fields,
      at: ['tenantInfo', 'fields'],
      schema: routes.get('tenantInfo.read')?.answer,
    },
    {
      shape: statusChange,
      fields: status,
      at: ['appointments', 'statusChange'],
      schema: bodyOf(routes, 'appointments.setStatus'),
    },
    {
      shape: payment,
      fields: paid,
      at: ['appointments', 'payment'],
      schema: bodyOf(routes, 'appointments.setPayment'),
    },
  ]) {
    if (schema != null && schema.members.size > 0) compareFields(comparison, { shape, fields, at }, schema);
  }
  const user = routes.get('userInfo.read')?.answer;
  const { path, fields } = profile.tenants;
  const there = fields.id.find((id) => user?.members.get(path)?.rows?.members.has(id));
  const finding = { area: 'fields', location: 'tenants.fields.id', here: textOf(fields.id) } as const;
  if (there !== undefined) comparison.add('fits', { ...finding, there });
  else if (user != null) {
    comparison.add('undecided', { ...finding, ask: 'where does UserInfo list the clinics of a user?' });
  }
}

/** Where failures hold their word and their text. */
function compareErrors(
  comparison: Comparison,
  operations: readonly SpecifiedOperation[],
  { errors }: ClinicProfile,
): void {
  const bodies = operations.flatMap(({ failures }) => failures).filter(({ members }) => members.size > 0);
  if (bodies.length === 0) {
    const ask = 'what do answers of 4xx hold? The document does not say';
    comparison.add('undecided', { area: 'errors', location: 'errors', ask });
    return;
  }
  for (const key of ['codePaths', 'textPaths'] as const) {
    const { [key]: now } = errors;
    const found = [...new Set(bodies.flatMap((body) => textsNamed(body, ENVELOPE[key])))];
    const missing = found.filter((each) => !now.includes(each));
    const path = ['errors', key];
    if (found.length === 0) {
      const ask = 'where do its errors hold a word for machines, and a text?';
      comparison.add('undecided', { area: 'errors', location: path.join('.'), here: textOf(now, ''), ask });
    } else {
      const wanted = missing.length === 0 ? now : [...new Set([...found, ...now])].slice(0, 10);
      const [here, there] = [textOf(now, ''), textOf(found)];
      comparison.compare({ area: 'errors', path, now, wanted, here, there, comment: `also ${textOf(missing)}` });
    }
  }
  const ask = 'how does a 403 for a missing scope differ from one for a missing permission of the user?';
  const here = textOf(errors.missingClaim, '');
  comparison.add('undecided', { area: 'errors', location: 'errors.missingClaim', here, ask });
}

/** Paths of texts by their last name, the likeliest name first. */
function textsNamed(body: ValueSchema, names: readonly string[]): string[] {
  const spots = spotsOf(body).filter(({ schema }) => schema.type === 'string');
  return names.flatMap((name) =>
    spots.flatMap(({ path }) => (folded(path.split('.').at(-1) ?? '') === name ? [path] : [])),
  );
}

/** In which form what is written should be: that in which it is told. */
function compareWrites(comparison: Comparison, routes: Routes, { writes }: ClinicProfile): void {
  const created = bodyOf(routes, 'appointments.create');
  const spots = created === undefined ? [] : spotsOf(created);
  const unit = spots.find(({ schema }) => schema.epochUnit !== null)?.schema.epochUnit ?? null;
  const examples = spots.flatMap(({ schema: { format, example } }) =>
    format === 'date-time' && typeof example === 'string' ? [example] : [],
  );
  const times = timeFormOf(unit, examples);
  if (times !== null) {
    const comment = unit === null ? 'by its examples' : 'numbers in bodies too';
    const path = ['writes', 'times'];
    comparison.compare({ area: 'times', path, now: writes.times, wanted: times, certainty: 'likely', comment });
  }
  const paid = bodyOf(routes, 'appointments.setPayment');
  const amount = paid && spotsOf(paid).find(({ path }) => ['amount', 'importo'].includes(folded(path)));
  if (amount === undefined) return;
  const wanted = amount.schema.type === 'string' ? 'text' : 'number';
  comparison.compare({ area: 'times', path: ['writes', 'decimals'], now: writes.decimals, wanted });
}

/** The form of times: of numbers by their unit, else by examples; null when examples don't agree or there are none. */
export function timeFormOf(
  unit: EpochUnit | null,
  examples: readonly string[],
): ClinicProfile['writes']['times'] | null {
  if (unit !== null) return `epoch-${unit}`;
  const [form = null, ...others] = new Set(examples.map(formOfExample));
  return others.length === 0 ? form : null;
}

function formOfExample(example: string): ClinicProfile['writes']['times'] | null {
  if (/T[\d:.]+Z$/i.test(example)) return 'utc';
  if (/T[\d:.]+[+-]\d\d:?\d\d$/.test(example)) return 'offset';
  if (/^\d{4}-\d\d-\d\dT[\d:.]+$/.test(example)) return 'local';
  return /^\d{4}-\d\d-\d\d [\d:.]+$/.test(example) ? 'local-space' : null;
}

/** How a report is sent. */
function compareUpload(
  comparison: Comparison,
  create: SpecifiedOperation | undefined,
  { medicalReports: { upload } }: ClinicProfile,
): void {
  const isForm = (type: string) => type.startsWith('multipart/');
  const bodies = [...(create?.bodies ?? [])];
  const [type, body] = bodies.find(([each]) => isForm(each)) ?? bodies[0] ?? [];
  if (type === undefined || body === undefined) return;
  const compare = (key: 'style' | 'filePart' | 'metadata' | 'metadataPart', wanted: string) =>
    comparison.compare({ area: 'fields', path: ['medicalReports', 'upload', key], now: upload[key], wanted });
  compare('style', isForm(type) ? 'multipart' : 'base64');
  const isFile = ({ format }: ValueSchema) => format === 'binary' || format === 'byte' || format === 'base64';
  const file = [...body.members].find(([, schema]) => isFile(schema))?.[0];
  if (file === undefined) return;
  compare('filePart', file);
  const [other, ...more] = [...body.members].filter(([name]) => name !== file);
  if (!isForm(type) || other === undefined) return;
  const [name, schema] = other;
  const isPart = more.length === 0 && (schema.type === 'object' || name === upload.metadataPart);
  compare('metadata', isPart ? 'part' : 'fields');
  if (isPart) compare('metadataPart', name);
}
