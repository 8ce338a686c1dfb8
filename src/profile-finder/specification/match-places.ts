import { ITSELF } from '../../clinic/http/rows.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import type { ResourceName } from '../../clinic/schema/resources.ts';
import { type Compared, Comparison } from './findings.ts';
import type { ValueSchema } from './schemas.ts';

/** Where one resource's rows, or its single record, stand in an answer; null: the answer itself. */
export interface PlaceSeen {
  list: ResourceName;
  path: string | null;
}

/** Names that are looked for in a list unless the profile gives a path. */
const USUAL_NAMES = ['data', 'items', 'results', 'value', '_items'];

/** Compares where lists hold their rows: several at one unusual place make it the profile's, others have one of their own. */
export function compareListPaths(seen: readonly PlaceSeen[], profile: ClinicProfile): Compared {
  const isUsual = ({ list, path }: PlaceSeen) => path === null || [...USUAL_NAMES, list].includes(path);
  const usual = commonPlace(seen, profile.listPath, (one) => !isUsual(one));
  const own = (one: PlaceSeen) => {
    if (one.path === usual || (usual === null && isUsual(one))) return null;
    return one.path ?? ITSELF;
  };
  return comparePlaces('listPath', { usual, here: profile.listPath, byDefault: 'by usual names' }, seen, own, profile);
}

/** Compares where single records are, as {@link compareListPaths} does. */
export function compareRecordPaths(seen: readonly PlaceSeen[], profile: ClinicProfile): Compared {
  const usual = commonPlace(seen, profile.recordPath, ({ path }) => path !== null);
  const own = ({ path }: PlaceSeen) => (path === usual ? null : (path ?? ITSELF));
  return comparePlaces('recordPath', { usual, here: profile.recordPath, byDefault: '(none)' }, seen, own, profile);
}

/** The profile's place where anything is there; else one that several have, or the only resource. */
function commonPlace(
  seen: readonly PlaceSeen[],
  now: string | null,
  isOwn: (one: PlaceSeen) => boolean,
): string | null {
  if (now !== null && seen.some(({ path }) => path === now)) return now;
  const groups = [...Map.groupBy(seen.filter(isOwn), ({ path }) => path)].sort(([, a], [, b]) => b.length - a.length);
  const [path = null, found = []] = groups[0] ?? [];
  return found.length > 1 || found.length === seen.length ? path : null;
}

function comparePlaces(
  key: 'listPath' | 'recordPath',
  { usual, here, byDefault }: { usual: string | null; here: string | null; byDefault: string },
  seen: readonly PlaceSeen[],
  own: (one: PlaceSeen) => string | null,
  profile: ClinicProfile,
): Compared {
  const comparison = new Comparison();
  if (seen.length === 0) return comparison;
  const told = { area: 'lists', place: key, here: here ?? byDefault, there: usual ?? byDefault } as const;
  if (usual === here) comparison.fits(told);
  else comparison.differs(told, { path: [key], value: usual, comment: `not ${told.here}` });
  for (const one of seen) {
    const [now, there] = [profile[one.list][key], own(one)];
    const path = [one.list, key];
    const place = {
      area: 'lists',
      place: path.join('.'),
      here: now ?? 'as the profile',
      there: one.path ?? 'the answer itself',
    } as const;
    if (now === there) {
      if (now !== null) comparison.fits(place);
    } else comparison.differs(place, { path, value: there, comment: 'a place of its own' });
  }
  return comparison;
}

/**
 * Where an answer for one record holds it, by the fields that the rows of its list have.
 * @returns null for the answer itself; undefined where it can't be told
 */
export function recordPathOf(answer: ValueSchema, row: ValueSchema): string | null | undefined {
  const shared = ({ members }: ValueSchema) => [...members.keys()].filter((name) => row.members.has(name)).length;
  const enough = Math.max(1, row.members.size / 2);
  if (shared(answer) >= enough) return null;
  const inner = [...answer.members].filter(([name, schema]) => !/[\s.]/.test(name) && shared(schema) >= enough);
  return inner.length === 1 ? inner[0]?.[0] : undefined;
}
