import { folded, ITSELF } from '../../clinic/http/rows.ts';
import { type FieldPaths, isNested, type Shape } from '../../clinic/schema/fields.ts';
import { tenantInfo } from '../../clinic/schema/places.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import { payment, statusChange } from '../../clinic/schema/registry.ts';
import { RESOURCES, type ResourceName } from '../../clinic/schema/resources.ts';
import { type Compared, Comparison } from './findings.ts';
import { compareErrors, compareUpload, compareWrites } from './match-conventions.ts';
import { type Envelope, envelopeOf, type PagingFound, pagingOf } from './match-envelope.ts';
import { compareFields, spotsOf } from './match-fields.ts';
import { compareFilters } from './match-filters.ts';
import { compareListPaths, compareRecordPaths, type PlaceSeen, recordPathOf } from './match-places.ts';
import { compareRoutes, compareScopes } from './match-routes.ts';
import { compareStatuses } from './match-statuses.ts';
import { compareChoices } from './match-words.ts';
import type { EpochUnit, ValueSchema } from './schemas.ts';
import type { Specification, SpecifiedOperation } from './specification.ts';

const LISTS = Object.keys(RESOURCES) as ResourceName[];

/**
 * Compares a clinic's API with a profile: what fits, what differs and how the profile should say it, what could not be told; and what a
 * row of appointments looks like.
 */
export function compareSpecification(
  specification: Specification,
  profile: ClinicProfile,
): Compared & { appointment: ValueSchema | null } {
  const comparison = new Comparison();
  const { routes, ...found } = compareRoutes(specification, profile.pathPrefix);
  comparison.add(found);
  comparison.add(compareScopes(routes, profile.scopePrefix));
  const lists = LISTS.flatMap((list) => {
    const operation = routes.get(`${list}.list`);
    return operation === undefined ? [] : [{ list, operation }];
  });
  comparison.add(compareLists(lists, profile));
  const rows = LISTS.flatMap((list) => {
    const row = rowOf(list, routes, profile);
    return row === null ? [] : [{ list, row }];
  });
  const units = new Map<string, EpochUnit>();
  for (const { list, row } of rows) comparison.add(compareRows(list, row, profile, units));
  comparison.add(compareEpochs(units, profile));
  comparison.add(compareRecords(rows, routes, profile));
  comparison.add(compareSingles(routes, profile));
  comparison.add(compareErrors([...routes.values()], profile));
  comparison.add(compareWrites(routes, profile));
  comparison.add(compareUpload(routes.get('medicalReports.create'), profile));
  const { findings, changes } = comparison;
  return { findings, changes, appointment: rows.find(({ list }) => list === 'appointments')?.row ?? null };
}

/** A row of a list, else of the operation that reads one. */
function rowOf(
  list: ResourceName,
  routes: ReadonlyMap<string, SpecifiedOperation>,
  profile: ClinicProfile,
): ValueSchema | null {
  const answer = routes.get(`${list}.list`)?.answer ?? null;
  const row = answer === null ? null : (envelopeOf(answer, list)?.row ?? null);
  if (row !== null && row.members.size > 0) return row;
  const one = routes.get(`${list}.read`)?.answer ?? null;
  const recordPath = profile[list].recordPath ?? profile.recordPath;
  const inner = recordPath === null || recordPath === ITSELF ? one : (one?.members.get(recordPath) ?? null);
  return inner !== null && inner.members.size > 0 ? inner : null;
}

/** Where the records are that are read alone; where it does not show it is asked. */
function compareRecords(
  rows: readonly { list: ResourceName; row: ValueSchema }[],
  routes: ReadonlyMap<string, SpecifiedOperation>,
  profile: ClinicProfile,
): Compared {
  const comparison = new Comparison();
  const places = rows.flatMap(({ list, row }): PlaceSeen[] => {
    const answer = routes.get(`${list}.read`)?.answer ?? null;
    if (answer === null || answer.members.size === 0) return [];
    const path = recordPathOf(answer, row);
    if (path !== undefined) return [{ list, path }];
    const place = { area: 'lists', place: `${list}.recordPath`, here: '–', there: '–' } as const;
    comparison.undecided({ ...place, ask: 'where does the answer for one record hold it?' });
    return [];
  });
  comparison.add(compareRecordPaths(places, profile));
  return comparison;
}

/** One unit for all times that are numbers: that of appointments, where they tell one. */
function compareEpochs(units: ReadonlyMap<string, EpochUnit>, { epochUnit }: ClinicProfile): Compared {
  const comparison = new Comparison();
  const [first] = [...units].sort(
    ([a], [b]) => Number(b.startsWith('appointments.')) - Number(a.startsWith('appointments.')),
  );
  if (first === undefined) return comparison;
  const [, there] = first;
  const told = { area: 'times', place: 'epochUnit', here: epochUnit ?? '(none)', there } as const;
  if (epochUnit === there) comparison.fits(told);
  else comparison.differs(told, { path: ['epochUnit'], value: there, comment: 'times are numbers' });
  const others = [...units].filter(([, unit]) => unit !== there).map(([place]) => place);
  if (others.length > 0) {
    const ask = `${others.join(', ')} count otherwise, and a profile has one unit: they can not be read`;
    comparison.undecided({ ...told, place: 'epochUnit (others)', there: others.join(', '), ask });
  }
  return comparison;
}

interface ListOperation {
  list: ResourceName;
  operation: SpecifiedOperation;
}

/** Where lists hold their rows, how they page, and how they are asked for less. */
function compareLists(lists: readonly ListOperation[], profile: ClinicProfile): Compared {
  const comparison = new Comparison();
  const seen = lists.flatMap(({ list, operation }) => {
    const inBody = operation.answer === null ? null : envelopeOf(operation.answer, list);
    const envelope = inBody && { ...inBody, totalPath: inBody.totalPath ?? operation.totalHeader };
    if (envelope !== null)
      return [{ list, operation, envelope, found: pagingOf(operation.query, envelope, operation.hasLinkHeader) }];
    const place = { area: 'lists', place: `${list} (list)`, here: '–', there: '–' } as const;
    comparison.undecided({ ...place, ask: 'where does the answer hold its rows? The document does not say' });
    return [];
  });
  const places = seen.map(({ list, envelope: { listPath } }) => ({ list, path: listPath }));
  comparison.add(compareListPaths(places, profile));
  comparePaging(comparison, seen, profile);
  for (const { list, operation, found } of seen) {
    if (list !== 'appointments' && list !== 'availabilities') continue;
    const names: unknown[] = Object.values(found.paging ?? {});
    comparison.add(compareFilters(list, operation.query, profile, (name) => names.includes(name)));
  }
  return comparison;
}

interface SeenList extends ListOperation {
  envelope: Envelope;
  found: PagingFound;
}

/** The paging that most lists have is the profile's; each other list gets its own. */
function comparePaging(comparison: Comparison, seen: readonly SeenList[], profile: ClinicProfile) {
  for (const { list, operation, found } of seen) {
    if (found.paging !== null) continue;
    for (const ask of found.asks) {
      comparison.undecided({ area: 'paging', place: `${list}.paging`, here: '–', there: operation.path, ask });
    }
  }
  const known = seen.flatMap(({ found: { paging, asks }, ...one }) =>
    paging === null ? [] : [{ ...one, paging, asks }],
  );
  const kinds = Map.groupBy(known, (one) => JSON.stringify(one.paging));
  const [usual] = [...kinds.values()].sort((a, b) => b.length - a.length);
  const first = usual?.[0];
  if (first === undefined) return;
  const paging = settled(profile.paging, first.paging);
  tellPaging(comparison, ['paging'], profile.paging, paging);
  for (const ask of first.asks) {
    comparison.undecided({ area: 'paging', place: 'paging', here: '–', there: first.operation.path, ask });
  }
  for (const { list, paging: found } of known) {
    const own = profile[list].paging;
    const wanted = settled(own ?? profile.paging, found);
    if (JSON.stringify(wanted) === JSON.stringify(paging)) {
      if (own !== null) tellPaging(comparison, [list, 'paging'], own, null);
    } else tellPaging(comparison, [list, 'paging'], own, wanted);
  }
}

type Paging = ClinicProfile['paging'];

/** What a document can't tell of paging stays as the profile has it, as long as the style is the same. */
function settled(now: Paging, there: Paging): Paging {
  if (now.style === 'none' && there.style === 'none') return { ...there, cap: now.cap };
  if (now.style === 'none' || there.style === 'none' || now.style !== there.style) return there;
  const cap = there.cap ?? now.cap;
  const size = there.cap === null ? now.size : Math.min(now.size, there.cap);
  const canKeep = now.hasMorePath === there.hasMorePath && now.totalPath === there.totalPath;
  return { ...there, cap, size, ...(canKeep ? { ends: now.ends } : {}) };
}

function tellPaging(comparison: Comparison, path: string[], now: Paging | null, there: Paging | null) {
  // A document that is silent on paging may have left it out.
  const certainty = there?.style === 'none' ? 'likely' : 'sure';
  const told = {
    area: 'paging',
    place: path.join('.'),
    here: pagingText(now),
    there: pagingText(there),
    certainty,
  } as const;
  if (JSON.stringify(sorted(now)) === JSON.stringify(sorted(there))) comparison.fits(told);
  else comparison.differs(told, { path, value: there, comment: `not ${told.here}` });
}

function sorted(paging: Paging | null): unknown {
  return paging === null ? null : Object.entries(paging).sort(([a], [b]) => a.localeCompare(b));
}

function pagingText(paging: Paging | null): string {
  if (paging === null) return 'as the profile';
  const { style, ...rest } = paging;
  const names = Object.entries(rest).filter(([name, value]) => /Parameter$|Path$/.test(name) && value !== null);
  return [style, ...names.map(([, value]) => String(value))].join(' ');
}

/** @param units gets the places of times that are numbers */
function compareRows(
  list: ResourceName,
  row: ValueSchema,
  profile: ClinicProfile,
  units: Map<string, EpochUnit>,
): Compared {
  const comparison = new Comparison();
  const shape: Shape = RESOURCES[list];
  const fields = profile[list].fields as FieldPaths<Shape>;
  const compared = compareFields({ shape, fields, at: [list, 'fields'] }, row);
  const changed = new Map(compared.changes.map(({ path, value }) => [path.join('.'), value]));
  const pathOf = (field: string) => {
    const one = shape[field];
    if (one === undefined || isNested(one)) return null;
    const finding = compared.findings.find(({ place }) => place === `${list}.fields.${field}`);
    const value = changed.get(`${list}.fields.${field}`);
    return Array.isArray(value) ? String(value[0]) : finding?.verdict === 'fits' ? finding.there : null;
  };
  comparison.add(withWholeName(list, compared, profile, pathOf, row));
  comparison.add(compareChoices(list, shape, row, profile[list].words, pathOf));
  comparison.add(compareNumbers(list, row, profile, pathOf, units));
  if (list !== 'appointments') return comparison;
  comparison.add(compareStatuses(row, profile, pathOf('status')));
  const allDay = pathOf('allDay');
  if (allDay !== null) {
    const told = {
      area: 'times',
      place: 'appointments.allDayEnd',
      here: profile.appointments.allDayEnd,
      there: '–',
    } as const;
    comparison.undecided({
      ...told,
      ask: `does the end of a row with ${allDay} name its last day, or the day after it?`,
    });
  }
  const duration = pathOf('duration');
  if (duration === null && pathOf('end') === null) {
    const told = { area: 'fields', place: 'appointments.fields.end', here: '–', there: '–' } as const;
    comparison.undecided({
      ...told,
      ask: 'which field holds the end or the duration? No row can be used without one.',
    });
  }
  if (duration !== null && /sec/i.test(duration) && profile.appointments.durationUnit !== 'seconds') {
    const place = ['appointments', 'durationUnit'];
    const told = {
      area: 'times',
      place: place.join('.'),
      here: 'minutes',
      there: duration,
      certainty: 'likely',
    } as const;
    comparison.differs(told, { path: place, value: 'seconds', comment: `by the name ${duration}` });
  }
  return comparison;
}

/** Times that are numbers, and words that are: those are written as numbers too. */
function compareNumbers(
  list: ResourceName,
  row: ValueSchema,
  profile: ClinicProfile,
  pathOf: (field: string) => string | null,
  units: Map<string, EpochUnit>,
): Compared {
  const comparison = new Comparison();
  const schemas = new Map(spotsOf(row).map(({ path, schema }) => [path, schema]));
  const shape: Shape = RESOURCES[list];
  const numbers = Object.entries(shape).flatMap(([field, one]) => {
    const schema = schemas.get(pathOf(field) ?? '');
    if (schema === undefined || isNested(one)) return [];
    if (one.kind === 'instant' && schema.epochUnit !== null) units.set(`${list}.fields.${field}`, schema.epochUnit);
    const isWord = one.kind === 'word' || one.kind === 'choice';
    return isWord && schema.type === 'integer' ? [field] : [];
  });
  const now = profile[list].numbers;
  const missing = numbers.filter((field) => !now.includes(field));
  if (missing.length === 0) return comparison;
  const path = [list, 'numbers'];
  const told = {
    area: 'words',
    place: path.join('.'),
    here: now.join(', ') || '(none)',
    there: numbers.join(', '),
  } as const;
  comparison.differs(told, { path, value: [...now, ...missing], comment: 'told as numbers, and written so' });
  return comparison;
}

/** Where the rows of a list have the name of a patient: its two parts, the rule for one field, and how such a field is called. */
const NAMES = {
  patients: {
    ...{ first: 'firstName', last: 'lastName', rule: 'fullName' },
    whole: new Set('fullname name displayname completename nominativo nomecompleto cognomenome nomecognome'.split(' ')),
  },
  appointments: {
    ...{ first: 'patientFirstName', last: 'patientLastName', rule: 'patientFullName' },
    whole: new Set(
      'patientname patientfullname patientdisplayname patientcompletename clientname customername nominativo nominativopaziente patientnominativo pazientenominativo pazientenomecompleto'.split(
        ' ',
      ),
    ),
  },
} as const;

/** A name in one field is proposed whole if a row has it in no two, and is not taken for the given name; nothing tells its order. */
function withWholeName(
  list: ResourceName,
  compared: Compared,
  profile: ClinicProfile,
  pathOf: (field: string) => string | null,
  row: ValueSchema,
): Compared {
  if (list !== 'patients' && list !== 'appointments') return compared;
  const { first, last, rule, whole } = NAMES[list];
  const isWhole = (path: string) => whole.has(folded(path.replaceAll('.', '')));
  const now = list === 'patients' ? profile.patients.fullName : profile.appointments.patientFullName;
  const place = `${list}.fields.${first}`;
  const given = pathOf(first);
  const isApart = given !== null && !(isWhole(given) && compared.changes.some(({ path }) => path.join('.') === place));
  const found = spotsOf(row).find(({ path }) => isWhole(path));
  if (now !== null || pathOf(last) !== null || isApart || found === undefined) return compared;
  const comparison = new Comparison();
  comparison.add({
    findings: compared.findings.filter((finding) => finding.place !== place),
    changes: compared.changes.filter(({ path }) => path.join('.') !== place),
  });
  const path = [list, rule];
  const told = {
    area: 'fields',
    place: path.join('.'),
    here: '(none)',
    there: found.path,
    certainty: 'likely',
  } as const;
  const ask = `does ${found.path} begin with the given name (taken so) or with the family name?`;
  const value = { path: found.path, order: 'given-first', separator: ',' };
  comparison.differs({ ...told, ask }, { path, value, comment: 'one field for the whole name' });
  return comparison;
}

/** What is no list: facts of the tenant, the tenants of a user, the bodies of an appointment's own operations. */
function compareSingles(routes: ReadonlyMap<string, SpecifiedOperation>, profile: ClinicProfile): Compared {
  const comparison = new Comparison();
  const compare = (shape: Shape, fields: object, at: string[], schema: ValueSchema | null | undefined) => {
    if (schema != null && schema.members.size > 0) comparison.add(compareFields({ shape, fields, at }, schema));
  };
  const bodyOf = (operation: string) => [...(routes.get(operation)?.bodies.values() ?? [])][0];
  compare(tenantInfo, profile.tenantInfo.fields, ['tenantInfo', 'fields'], routes.get('tenantInfo.read')?.answer);
  const { statusChange: status, payment: paid } = profile.appointments;
  compare(statusChange, status, ['appointments', 'statusChange'], bodyOf('appointments.setStatus'));
  compare(payment, paid, ['appointments', 'payment'], bodyOf('appointments.setPayment'));
  const user = routes.get('userInfo.read')?.answer;
  const tenants = user?.members.get(profile.tenants.path)?.rows;
  const ids = profile.tenants.fields.id;
  const told = { area: 'fields', place: 'tenants.fields.id', here: ids.join(', ') } as const;
  const there = ids.find((id) => tenants?.members.has(id));
  if (there !== undefined) comparison.fits({ ...told, there });
  else if (user != null)
    comparison.undecided({ ...told, there: '–', ask: 'where does UserInfo list the clinics of a user?' });
  return comparison;
}
