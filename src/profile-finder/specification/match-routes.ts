import { folded } from '../../clinic/http/rows.ts';
import { type ClinicOperation, OPERATIONS } from '../../clinic/schema/operations.ts';
import { type Compared, Comparison, type Told } from './findings.ts';
import type { Specification, SpecifiedOperation } from './specification.ts';

/** The clinic's own operation for each of ours that it has. */
export type Routes = ReadonlyMap<string, SpecifiedOperation>;

/** Other words for what stands in our paths, folded. No profile can say them; they are told so that a person can. */
const PATH_WORDS: Readonly<Record<string, readonly string[]>> = {
  appointments: ['bookings', 'visits', 'events', 'appuntamenti', 'prenotazioni'],
  patients: ['clients', 'customers', 'persons', 'pazienti', 'assistiti'],
  agendas: ['calendars', 'schedules', 'resources', 'calendari'],
  locations: ['sites', 'offices', 'branches', 'facilities', 'sedi'],
  treatments: ['services', 'procedures', 'products', 'prestazioni'],
  pricelists: ['tariffs', 'listini'],
  episodes: ['cases', 'encounters', 'episodi'],
  invoices: ['bills', 'documents', 'fatture'],
  medicalreports: ['reports', 'documents', 'referti'],
  availabilities: ['slots', 'availability', 'disponibilita'],
};

/** Finds the clinic's operations by what follows the prefix, and the prefix that most of them have. */
export function compareRoutes(
  { operations }: Specification,
  pathPrefix: string,
): Compared & { routes: Map<string, SpecifiedOperation> } {
  const comparison = new Comparison();
  const routes = new Map<string, SpecifiedOperation>();
  const heads = new Map<string, number>();
  const matched = OPERATIONS.map((operation) => ({ operation, matches: matchesOf(operation, operations) }));
  for (const { head } of matched.flatMap(({ matches }) => matches)) heads.set(head, (heads.get(head) ?? 0) + 1);
  const prefix = [...heads].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
  comparePrefix(comparison, pathPrefix, prefix);
  for (const { operation, matches } of matched) {
    const match = matches.find(({ head }) => head === prefix);
    const here = `${operation.method} ${operation.path.replace(/^\/v2(\/tenants\/\{tenantId\})?/, '')}`;
    const told = { area: 'routes', place: operation.name, here, there: '–' } as const;
    if (match === undefined) tellMissing(comparison, operation, told, operations);
    else {
      routes.set(operation.name, match.theirs);
      comparison.fits({ ...told, there: match.theirs.path });
    }
  }
  return { ...comparison, routes };
}

function comparePrefix(comparison: Comparison, here: string, there: string | null) {
  const told = { area: 'routes', place: 'pathPrefix', here, there: there ?? '–' } as const;
  if (there === null)
    return comparison.undecided({ ...told, ask: 'none of the paths is known: is it the right document?' });
  if (there === here) return comparison.fits(told);
  const isSayable = /^(\/[\w.-]+)*$/.test(there);
  const ask = isSayable ? 'the base URL of the client must not hold it too' : 'no profile can say such a prefix';
  comparison.differs(
    { ...told, ask },
    isSayable ? { path: ['pathPrefix'], value: there, comment: `not ${here}` } : null,
  );
}

function matchesOf(
  { method, path }: ClinicOperation,
  operations: readonly SpecifiedOperation[],
): { theirs: SpecifiedOperation; head: string }[] {
  const ours = segmentsOf(path).slice(1);
  return operations.flatMap((theirs) => {
    const segments = segmentsOf(theirs.path);
    const tail = segments.slice(segments.length - ours.length);
    const isSame = tail.length === ours.length && ours.every((one, index) => one === tail[index]);
    if (theirs.method !== method || !isSame) return [];
    const names = theirs.path.split('/').filter((segment) => segment !== '');
    const head = names.slice(0, names.length - ours.length);
    return [{ theirs, head: head.map((name) => `/${name}`).join('') }];
  });
}

/** Folded; what stands in braces counts alike. */
function segmentsOf(path: string): string[] {
  const segments = path.split('/').filter((segment) => segment !== '');
  return segments.map((segment) => (/^\{.*\}$/.test(segment) ? '{}' : folded(segment)));
}

/** Operations without which nothing can be kept in step. */
const NEEDED = new Set(['userInfo.read', 'agendas.list', 'locations.list', 'appointments.list', 'appointments.read']);

/** One that the daemon needs, or that has another path, is told; of others it is enough to know that they are not there. */
function tellMissing(
  comparison: Comparison,
  operation: ClinicOperation,
  told: Told,
  operations: readonly SpecifiedOperation[],
) {
  const alike = pathAlike(operation, operations);
  if (alike !== null) {
    const ask = 'the path is another one, and no profile can say it: the program has to learn it';
    comparison.differs({ ...told, there: alike, certainty: 'likely', ask }, null);
  } else if (NEEDED.has(operation.name)) {
    comparison.differs(
      { ...told, ask: 'it is not there, and the daemon needs it: is it left out of the document?' },
      null,
    );
  } else comparison.absent(told);
}

function pathAlike(operation: ClinicOperation, operations: readonly SpecifiedOperation[]): string | null {
  const ours = segmentsOf(operation.path).slice(3);
  const alike = operations.find((theirs) => {
    if (theirs.method !== operation.method) return false;
    const tail = segmentsOf(theirs.path).slice(-ours.length);
    return (
      ours.length > 0 && tail.length === ours.length && ours.every((one, index) => soundsLike(one, tail[index] ?? ''))
    );
  });
  return alike?.path ?? null;
}

function soundsLike(ours: string, theirs: string): boolean {
  return ours === theirs || (PATH_WORDS[ours] ?? []).includes(theirs);
}

/** Compares the scopes that operations need: the prefix that most have before our names. */
export function compareScopes(routes: Routes, scopePrefix: string): Compared {
  const comparison = new Comparison();
  const prefixes = new Map<string, number>();
  const wanted = OPERATIONS.flatMap(({ name, scope }) => {
    const scopes = routes.get(name)?.scopes ?? [];
    if (scope === null || scopes.length === 0) return [];
    const match = scopes.find((each) => each.toLowerCase().endsWith(scope));
    const prefix = match?.slice(0, match.length - scope.length) ?? null;
    if (prefix !== null) prefixes.set(prefix, (prefixes.get(prefix) ?? 0) + 1);
    return [{ name, scope, scopes, prefix }];
  });
  const there = [...prefixes].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
  const told = { area: 'scopes', place: 'scopePrefix', here: scopePrefix, there: there ?? '–' } as const;
  if (there === null) comparison.undecided({ ...told, ask: 'which scopes does an application ask for?' });
  else if (there === scopePrefix) comparison.fits(told);
  else comparison.differs(told, { path: ['scopePrefix'], value: there, comment: `not ${scopePrefix}` });
  for (const { name, scope, scopes, prefix } of wanted) {
    if (prefix !== null && prefix === there) continue;
    const asked = { area: 'scopes', place: name, here: scope, there: scopes.join(' ') } as const;
    comparison.differs({ ...asked, ask: 'it needs another scope, and no profile can say it' }, null);
  }
  return comparison;
}
