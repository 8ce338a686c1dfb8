import { folded } from '../clinic/http/rows.ts';
import { type ClinicOperation, OPERATIONS } from '../clinic/schema/operations.ts';
import type { Comparison } from './findings.ts';
import { PATH_WORDS } from './names.ts';
import type { SpecifiedOperation } from './openapi.ts';

/** The clinic's own operation for each of ours that it has. */
export type Routes = ReadonlyMap<string, SpecifiedOperation>;

/** Operations without which nothing can be kept in step. */
const NEEDED = new Set(['userInfo.read', 'agendas.list', 'locations.list', 'appointments.list', 'appointments.read']);

/** Finds the clinic's operations by what follows the prefix, and the prefix that most of them have. */
export function compareRoutes(
  comparison: Comparison,
  operations: readonly SpecifiedOperation[],
  pathPrefix: string,
): Routes {
  const matched = OPERATIONS.map((operation) => ({ operation, matches: matchesOf(operation, operations) }));
  const prefix = mostFrequent(matched.flatMap(({ matches }) => matches.map(({ head }) => head)));
  comparePrefix(comparison, pathPrefix, prefix);
  const routes = new Map<string, SpecifiedOperation>();
  for (const { operation, matches } of matched) {
    const { name, method, path } = operation;
    const here = `${method} ${path.replace(/^\/v2(\/tenants\/\{tenantId\})?/, '')}`;
    const finding = { area: 'routes', place: name, here } as const;
    const match = matches.find(({ head }) => head === prefix)?.theirs;
    const alike = match === undefined ? pathAlike(operation, operations) : undefined;
    if (match !== undefined) {
      routes.set(name, match);
      comparison.add('fits', { ...finding, there: match.path });
    } else if (alike !== undefined) {
      const ask = 'the path is another one, and no profile can say it: the program has to learn it';
      comparison.add('differs', { ...finding, there: alike, certainty: 'likely', ask });
    } else if (NEEDED.has(name)) {
      const ask = 'it is not there, and the daemon needs it: is it left out of the document?';
      comparison.add('differs', { ...finding, ask });
    } else comparison.add('absent', finding);
  }
  return routes;
}

function mostFrequent(values: readonly string[]): string | null {
  const groups = [...Map.groupBy(values, (value) => value)];
  return groups.sort(([, a], [, b]) => b.length - a.length)[0]?.[0] ?? null;
}

function comparePrefix(comparison: Comparison, now: string, wanted: string | null): void {
  const finding = { area: 'routes', place: 'pathPrefix', here: now } as const;
  if (wanted === null) {
    comparison.add('undecided', { ...finding, ask: 'none of the paths is known: is it the right document?' });
  } else if (/^(\/[\w.-]+)*$/.test(wanted)) {
    const ask = 'the base URL of the client must not hold it too';
    comparison.compare({ area: 'routes', path: ['pathPrefix'], now, wanted, here: now, there: wanted, ask });
  } else comparison.add('differs', { ...finding, there: wanted, ask: 'no profile can say such a prefix' });
}

function matchesOf({ method, path }: ClinicOperation, operations: readonly SpecifiedOperation[]) {
  const ours = segmentsOf(path).slice(1);
  return operations.flatMap((theirs) => {
    if (theirs.method !== method || !endsWith(segmentsOf(theirs.path), ours, (one, other) => one === other)) return [];
    const names = theirs.path.split('/').filter((segment) => segment !== '');
    const head = names.slice(0, names.length - ours.length);
    return [{ theirs, head: head.map((name) => `/${name}`).join('') }];
  });
}

/** A path of the same method that ends in other words for ours. */
function pathAlike({ method, path }: ClinicOperation, operations: readonly SpecifiedOperation[]): string | undefined {
  const ours = segmentsOf(path).slice(3);
  const soundsLike = (one: string, other: string) => one === other || (PATH_WORDS[one] ?? []).includes(other);
  const isAlike = (theirs: SpecifiedOperation) =>
    theirs.method === method && endsWith(segmentsOf(theirs.path), ours, soundsLike);
  return ours.length === 0 ? undefined : operations.find(isAlike)?.path;
}

function endsWith(
  segments: readonly string[],
  ours: readonly string[],
  isSame: (ours: string, theirs: string) => boolean,
): boolean {
  const tail = segments.slice(-ours.length);
  return tail.length === ours.length && ours.every((one, index) => isSame(one, tail[index] ?? ''));
}

/** Folded; what is in braces counts alike. */
function segmentsOf(path: string): string[] {
  const segments = path.split('/').filter((segment) => segment !== '');
  return segments.map((segment) => (/^\{.*\}$/.test(segment) ? '{}' : folded(segment)));
}

/** Compares the scopes that operations need: the prefix that most have before our names. */
export function compareScopes(comparison: Comparison, routes: Routes, scopePrefix: string): void {
  const needing = OPERATIONS.flatMap(({ name, scope }) => {
    const scopes = routes.get(name)?.scopes ?? [];
    if (scope === null || scopes.length === 0) return [];
    const match = scopes.find((each) => each.toLowerCase().endsWith(scope));
    return [{ name, scope, scopes, prefix: match?.slice(0, match.length - scope.length) ?? null }];
  });
  const wanted = mostFrequent(needing.flatMap(({ prefix }) => prefix ?? []));
  if (wanted === null) {
    const ask = 'which scopes does an application ask for?';
    comparison.add('undecided', { area: 'scopes', place: 'scopePrefix', here: scopePrefix, ask });
  } else {
    const [here, there] = [scopePrefix, wanted];
    comparison.compare({ area: 'scopes', path: ['scopePrefix'], now: scopePrefix, wanted, here, there });
  }
  for (const { name, scope, scopes, prefix } of needing) {
    if (prefix !== null && prefix === wanted) continue;
    const ask = 'it needs another scope, and no profile can say it';
    comparison.add('differs', { area: 'scopes', place: name, here: scope, there: scopes.join(' '), ask });
  }
}
