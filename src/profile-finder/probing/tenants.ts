import { addressOf } from '../../clinic/http/addresses.ts';
import { send } from '../../clinic/http/call.ts';
import type { ClinicContext } from '../../clinic/http/context.ts';
import { asId, folded, ITSELF, isJsonObject, type JsonObject } from '../../clinic/http/rows.ts';
import { chooseTenant, isUnderIds, readUserInfo } from '../../clinic/read/users.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import { readJson } from '../../http/json.ts';
import { MirrorError } from '../../model/errors.ts';
import { type Compared, Comparison } from '../specification/findings.ts';
import { knownNames } from '../specification/known-names.ts';

/** A place of a UserInfo answer that may hold the user's tenants. */
export interface TenantPlace {
  path: string;
  /** Where each tenant has its id and its name; empty for ids alone, and for tenants that stand under their ids. */
  id: readonly string[];
  name: readonly string[];
}

/** Deepest object whose members are looked at. */
const DEEPEST = 4;
const PATH_NAME = /^[^\s.[\]=]+$/;
/** What clinics are called where they are many: English and Italian. */
const TENANTS =
  /tenant|clinic|studio|organi[sz]ation|practice|facilit|site|location|account|compan|workspace|workplace|azienda|struttur|ambulator|sede|sedi|centr|customer|member/;
/** Lists of a user that hold no tenants. */
const OTHERS =
  /scope|permission|right|group|phone|mail|address|language|grant|feature|claim|audience|licen[cs]e|patient/;
const ID_END = /(id|ids|uuid|key|code|codice|number)$/;

/** Places of a UserInfo answer that may hold tenants, the likeliest first. Names of fields decide, and whether ids are there. */
export function tenantPlaces(answer: unknown): TenantPlace[] {
  const scored = (Array.isArray(answer) ? [scoredPlace(ITSELF, answer)] : placesIn(answer, [])).flatMap(
    (one) => one ?? [],
  );
  return scored.toSorted((one, other) => other.score - one.score).map(({ place }) => place);
}

interface Scored {
  place: TenantPlace;
  score: number;
}

function placesIn(value: unknown, above: readonly string[]): (Scored | null)[] {
  if (!isJsonObject(value) || above.length >= DEEPEST) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    if (!PATH_NAME.test(name)) return [];
    const path = [...above, name];
    return [scoredPlace(path.join('.'), inner), ...placesIn(inner, path)];
  });
}

/** Lists of rows before one row, rows before plain ids; names that speak of clinics before others, which need a list of rows. */
function scoredPlace(path: string, value: unknown): Scored | null {
  const names = path.split('.').map(folded);
  const last = names.at(-1) ?? '';
  if (OTHERS.test(last)) return null;
  const isNamed = TENANTS.test(names.join(' ')) || path === ITSELF;
  const [first] = Array.isArray(value) ? value : [value];
  const score = (TENANTS.test(last) ? 4 : isNamed ? 2 : 0) + (Array.isArray(value) ? 2 : 0) - names.length / 10;
  if (isJsonObject(value) && isUnderIds(value)) {
    return isNamed ? { place: { path, id: [], name: namePaths(Object.values(value)[0]) }, score: score + 1 } : null;
  }
  if (isJsonObject(first)) {
    const id = idPaths(first);
    const isTelling = isNamed || (Array.isArray(value) && id.some((each) => TENANTS.test(folded(each))));
    return id.length > 0 && isTelling ? { place: { path, id, name: namePaths(first) }, score: score + 1 } : null;
  }
  const isId = asId(first) !== null && isNamed && (Array.isArray(value) || ID_END.test(last));
  return isId ? { place: { path, id: [], name: [] }, score: score - 1 } : null;
}

/** Where a row has its id: its own, or that of the clinic within it, the likeliest alone. */
function idPaths(row: JsonObject): string[] {
  const within = Object.entries(row).flatMap(([name, inner]) =>
    TENANTS.test(folded(name)) && isJsonObject(inner) ? idPaths(inner).map((path) => `${name}.${path}`) : [],
  );
  const named = Object.keys(row).filter((name) => TENANTS.test(folded(name)) && ID_END.test(folded(name)));
  const known = knownNames('id').flatMap((one) => Object.keys(row).filter((name) => folded(name) === one));
  const paths = [...within, ...named, ...known, ...Object.keys(row).filter((name) => ID_END.test(folded(name)))];
  return paths.filter((path) => PATH_NAME.test(path.replaceAll('.', '')) && holdsId(row, path)).slice(0, 1);
}

function holdsId(row: JsonObject, path: string): boolean {
  const value = path.split('.').reduce<unknown>((inner, name) => (isJsonObject(inner) ? inner[name] : undefined), row);
  return asId(value) !== null;
}

function namePaths(row: unknown): string[] {
  if (!isJsonObject(row)) return [];
  const isName = (name: string) => knownNames('name').includes(folded(name));
  const own = Object.entries(row).flatMap(([name, value]) => (isName(name) && typeof value === 'string' ? [name] : []));
  const within = Object.entries(row).flatMap(([name, inner]) =>
    TENANTS.test(folded(name)) && isJsonObject(inner) ? namePaths(inner).map((path) => `${name}.${path}`) : [],
  );
  return [...own, ...within].slice(0, 1);
}

/** A clinic that is asked, and which tenant of it is meant. */
export interface ProbedClinic {
  context: ClinicContext;
  /** The clinic's id of the tenant. @throws MirrorError as choosing a tenant does */
  tenantId(signal: AbortSignal): Promise<string>;
  /** The operator's choice among the user's tenants; null or absent when the user has one. */
  configuredId?: string | null;
}

/** The tenant that is probed, the profile that finds it, and what differs. */
export interface ProbedTenant {
  tenantId: string;
  profile: ClinicProfile;
  compared: Compared;
}

/** Failures of the user information that a profile can set right. */
const OF_PROFILE = new Set(['tenants-not-found', 'bad-tenants']);

/**
 * The clinic's tenant, found also where the profile does not read the user information yet: by the likeliest place of it.
 * @throws MirrorError as `chooseTenant`, with the places in its remedy; what reading the tenant throws, where no place is found
 */
export async function probeTenant(
  { context, tenantId, configuredId = null }: ProbedClinic,
  signal: AbortSignal,
): Promise<ProbedTenant> {
  const { profile } = context;
  try {
    return { tenantId: await tenantId(signal), profile, compared: new Comparison() };
  } catch (error) {
    if (!(error instanceof MirrorError) || !OF_PROFILE.has(error.code)) throw error;
    const label = 'clinic.userInfo.read';
    const answer = readJson(await send(context, { label, url: addressOf(context, ['userinfo']), signal }), label);
    const places = tenantPlaces(answer);
    const [first] = places;
    if (first === undefined) throw error;
    const { path, id, name } = first;
    const { fields } = profile.tenants;
    const tenants = {
      path,
      fields: { id: id.length > 0 ? [...id] : fields.id, name: name.length > 0 ? [...name] : fields.name },
    };
    const found = { ...profile, tenants };
    const chosen = chosenIn(answer, found, configuredId);
    return { tenantId: chosen, profile: found, compared: told(profile, tenants, places.slice(1)) };
  }
}

function chosenIn(answer: unknown, profile: ClinicProfile, configuredId: string | null): string {
  try {
    return chooseTenant(readUserInfo(answer, profile), configuredId).id;
  } catch (error) {
    if (!(error instanceof MirrorError)) throw error;
    const { path, fields } = profile.tenants;
    const where = `set tenants.path to ${path} and tenants.fields.id to [${fields.id.join(', ')}] in the clinic profile`;
    throw error.reworded(error.message, `${where}; ${error.remedy ?? 'then log in again'}`);
  }
}

function told(
  before: ClinicProfile,
  { path, fields }: ClinicProfile['tenants'],
  others: readonly TenantPlace[],
): Compared {
  const comparison = new Comparison();
  const also = others.length === 0 ? '' : ` Others that may be meant: ${others.map((one) => one.path).join(', ')}.`;
  const changed = [
    ['path', before.tenants.path, path],
    ['fields.id', before.tenants.fields.id.join(', '), fields.id],
    ['fields.name', before.tenants.fields.name.join(', '), fields.name],
  ] as const;
  for (const [name, here, value] of changed) {
    const there = [value].flat().join(', ');
    if (there === here) continue;
    const place = ['tenants', ...name.split('.')];
    const ask = name === 'path' ? `does ${path} list the clinics of the user?${also}` : null;
    const finding = { area: 'fields', place: place.join('.'), here, there, certainty: 'likely', ask } as const;
    comparison.differs(finding, { path: place, value, comment: `not ${here}` });
  }
  return comparison;
}
