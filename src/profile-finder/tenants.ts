import type { ClinicContext } from '../clinic/http/call.ts';
import { addressOf, send } from '../clinic/http/call.ts';
import { asId, folded, ITSELF, isJsonObject, type JsonObject } from '../clinic/http/rows.ts';
import { chooseTenant, isUnderIds, readUserInfo } from '../clinic/read/users.ts';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { readJson } from '../http/json.ts';
import { MirrorError } from '../model/errors.ts';
import { type Comparison, textOf } from './findings.ts';
import { commonNames } from './names.ts';

/** Where a UserInfo answer may hold the user's tenants. */
export interface TenantPaths {
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

/** Where a UserInfo answer may hold tenants, the likeliest first. Names of fields decide, and whether ids are there. */
export function tenantPaths(answer: unknown): TenantPaths[] {
  const values = Array.isArray(answer) ? [{ path: ITSELF, value: answer as unknown }] : valuesIn(answer);
  const scored = values.flatMap(({ path, value }) => scoredPaths(path, value) ?? []);
  return scored.toSorted((one, other) => other.score - one.score).map(({ paths }) => paths);
}

function valuesIn(value: unknown, above: readonly string[] = []): { path: string; value: unknown }[] {
  if (!isJsonObject(value) || above.length >= DEEPEST) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = [...above, name];
    return PATH_NAME.test(name) ? [{ path: path.join('.'), value: inner }, ...valuesIn(inner, path)] : [];
  });
}

/** Lists of rows before one row, rows before plain ids; names that speak of clinics before others, which need a list of rows. */
function scoredPaths(path: string, value: unknown): { paths: TenantPaths; score: number } | null {
  const names = path.split('.').map(folded);
  const last = names.at(-1) ?? '';
  if (OTHERS.test(last)) return null;
  const isList = Array.isArray(value);
  const isNamed = TENANTS.test(names.join(' ')) || path === ITSELF;
  const [first] = (isList ? value : [value]) as unknown[];
  const score = (TENANTS.test(last) ? 4 : isNamed ? 2 : 0) + (isList ? 2 : 0) - names.length / 10;
  if (isJsonObject(value) && isUnderIds(value)) {
    return isNamed ? { paths: { path, id: [], name: namePaths(Object.values(value)[0]) }, score: score + 1 } : null;
  }
  if (isJsonObject(first)) {
    const id = idPaths(first);
    const isConclusive = isNamed || (isList && id.some((each) => TENANTS.test(folded(each))));
    return id.length > 0 && isConclusive ? { paths: { path, id, name: namePaths(first) }, score: score + 1 } : null;
  }
  const isId = asId(first) !== null && isNamed && (isList || ID_END.test(last));
  return isId ? { paths: { path, id: [], name: [] }, score: score - 1 } : null;
}

/** Where a row has its id: that of the clinic within it, else its own. */
function idPaths(row: JsonObject): string[] {
  const isCommonName = (name: string) => commonNames('id').includes(name);
  const isIdName = (name: string) => isCommonName(name) || ID_END.test(name);
  const ranks: NameRank[] = [
    (name, isWithin) => isWithin && isIdName(name),
    (name) => TENANTS.test(name) && ID_END.test(name),
    isCommonName,
    isIdName,
  ];
  return likeliest(row, ranks, (value) => asId(value) !== null);
}

function namePaths(row: unknown): string[] {
  const isName = (name: string) => commonNames('name').includes(name);
  const ranks: NameRank[] = [(name, isWithin) => !isWithin && isName(name), isName];
  return isJsonObject(row) ? likeliest(row, ranks, (value) => typeof value === 'string') : [];
}

/** Whether a path is likely by its last name, folded, and by whether that is in an object named for a clinic. */
type NameRank = (name: string, isWithin: boolean) => boolean;

function likeliest(row: JsonObject, ranks: readonly NameRank[], isFitting: (value: unknown) => boolean): string[] {
  const inside = valuesIn(row).filter(({ path }) =>
    path
      .split('.')
      .slice(0, -1)
      .every((name) => TENANTS.test(folded(name))),
  );
  const fitting = inside.filter(({ value }) => isFitting(value));
  const found = ranks.flatMap((isLikely) =>
    fitting.filter(({ path }) => isLikely(folded(path.split('.').at(-1) ?? ''), path.includes('.'))),
  );
  return found.slice(0, 1).map(({ path }) => path);
}

/** A clinic that is asked, and which tenant of it is meant. */
export interface ProbedClinic {
  context: ClinicContext;
  /** The clinic's id of the tenant. @throws MirrorError as choosing a tenant does */
  tenantId(signal: AbortSignal): Promise<string>;
  /** The operator's choice among the user's tenants; null or absent when the user has one. */
  configuredId?: string | null;
}

/** The tenant that is probed, and the profile that finds it. */
interface ProbedTenant {
  tenantId: string;
  profile: ClinicProfile;
}

/** Failures of the user information that a profile can set right. */
const OF_PROFILE = new Set(['tenants-not-found', 'bad-tenants']);

/**
 * Finds the clinic's tenant, also if the profile does not read the user information yet: by the likeliest paths in it.
 * @throws MirrorError as `chooseTenant`, with the paths in its remedy; what reading the tenant throws, if no paths are found
 */
export async function probeTenant(
  comparison: Comparison,
  { context, tenantId, configuredId = null }: ProbedClinic,
  signal: AbortSignal,
): Promise<ProbedTenant> {
  const { profile } = context;
  try {
    return { tenantId: await tenantId(signal), profile };
  } catch (error) {
    if (!(error instanceof MirrorError) || !OF_PROFILE.has(error.code)) throw error;
    const label = 'clinic.userInfo.read';
    const answer = readJson(await send(context, { label, url: addressOf(context, ['userinfo']), signal }), label);
    const [first, ...others] = tenantPaths(answer);
    if (first === undefined) throw error;
    const { id, name } = profile.tenants.fields;
    const fields = { id: [...(first.id[0] ? first.id : id)], name: [...(first.name[0] ? first.name : name)] };
    const found = { ...profile, tenants: { path: first.path, fields } };
    const chosen = chosenIn(answer, found, configuredId);
    compareTenants(comparison, profile, found, others);
    return { tenantId: chosen, profile: found };
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

function compareTenants(
  comparison: Comparison,
  { tenants: before }: ClinicProfile,
  { tenants: { path, fields } }: ClinicProfile,
  others: readonly TenantPaths[],
): void {
  const also = others.length === 0 ? '' : ` Others that may be meant: ${others.map((one) => one.path).join(', ')}.`;
  const ask = `does ${path} list the clinics of the user?${also}`;
  for (const { at, now, wanted, asks } of [
    { at: ['path'], now: before.path, wanted: path, asks: ask },
    { at: ['fields', 'id'], now: before.fields.id, wanted: fields.id, asks: null },
    { at: ['fields', 'name'], now: before.fields.name, wanted: fields.name, asks: null },
  ]) {
    if (textOf(now) === textOf(wanted)) continue;
    comparison.compare({ area: 'fields', path: ['tenants', ...at], now, wanted, certainty: 'likely', ask: asks });
  }
}
