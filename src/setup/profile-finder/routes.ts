import { folded } from '../../clinic/http/rows.ts';
import { OPERATIONS } from '../../clinic/schema/operations.ts';
import type { Comparison } from './findings.ts';
import type { SpecifiedOperation } from './openapi.ts';

/** The clinic's operations by operation name. */
export type Routes = ReadonlyMap<string, SpecifiedOperation>;

/** Operations that a sync requires. */
const NEEDED = new Set(['userInfo.read', 'agendas.list', 'locations.list', 'appointments.list', 'appointments.read']);

const NOT_THERE = 'it is not there, and the daemon needs it: is it left out of the document?';

/** Finds the clinic's operations by the path after the prefix, and the most frequent prefix. */
export function compareRoutes(comparison: Comparison, operations: readonly SpecifiedOperation[]): Routes {
  const theirs = operations.map((one) => ({ one, segments: segmentsOf(one.path) }));
  const matches = OPERATIONS.flatMap(({ name, method, path }) => {
    const ours = segmentsOf(path).slice(1);
    return theirs.flatMap(({ one, segments }) => {
      const isSame = one.method === method && segments.slice(-ours.length).join('/') === ours.join('/');
      const names = one.path.split('/').filter((segment) => segment !== '');
      const head = names.slice(0, names.length - ours.length).map((segment) => `/${segment}`);
      return isSame ? [{ name, one, head: head.join('') }] : [];
    });
  });
  const prefix = mostFrequent(matches.map(({ head }) => head));
  const ask =
    prefix === null
      ? 'none of the paths is known: is it the right document?'
      : 'the base URL of the client must not hold it too';
  comparison.compare({ area: 'routes', path: ['pathPrefix'], wanted: prefix ?? undefined, there: prefix ?? '–', ask });
  const found = matches.filter(({ head }) => head === prefix).toReversed();
  const routes = new Map(found.map(({ name, one }) => [name, one]));
  for (const { name, method, path } of OPERATIONS) {
    const here = `${method} ${path.replace(/^\/v2(\/tenants\/\{tenantId\})?/, '')}`;
    const finding = { area: 'routes', location: name, here } as const;
    const match = routes.get(name);
    if (match !== undefined) comparison.add('fits', { ...finding, there: match.path });
    else if (NEEDED.has(name)) comparison.add('differs', { ...finding, ask: NOT_THERE });
    else comparison.add('absent', finding);
  }
  return routes;
}

function mostFrequent(values: readonly string[]): string | null {
  const groups = [...Map.groupBy(values, (value) => value)];
  return groups.sort(([, a], [, b]) => b.length - a.length)[0]?.[0] ?? null;
}

/** Folds segments; all names in braces are equal. */
function segmentsOf(path: string): string[] {
  const segments = path.split('/').filter((segment) => segment !== '');
  return segments.map((segment) => (/^\{.*\}$/.test(segment) ? '{}' : folded(segment)));
}

/** Compares the required scopes: finds the most frequent prefix before the known names. */
export function compareScopes(comparison: Comparison, routes: Routes): void {
  const needing = OPERATIONS.flatMap(({ name, scope }) => {
    const scopes = routes.get(name)?.scopes ?? [];
    if (scope === null || scopes.length === 0) return [];
    const match = scopes.find((each) => each.toLowerCase().endsWith(scope));
    return [{ name, scope, scopes, prefix: match?.slice(0, match.length - scope.length) ?? null }];
  });
  const wanted = mostFrequent(needing.flatMap(({ prefix }) => prefix ?? []));
  comparison.compare({
    area: 'scopes',
    path: ['scopePrefix'],
    wanted: wanted ?? undefined,
    ask: wanted === null ? 'which scopes must an application request?' : null,
  });
  for (const { name, scope, scopes, prefix } of needing) {
    if (prefix !== null && prefix === wanted) continue;
    const ask = 'requires another scope, which a profile cannot define';
    comparison.add('differs', { area: 'scopes', location: name, here: scope, there: scopes.join(' '), ask });
  }
}
