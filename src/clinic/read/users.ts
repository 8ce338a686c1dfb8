import { readJson } from '../../core/http/answer.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { ITSELF, isJsonObject, type JsonObject, valueAt } from '../../described-api/paths.ts';
import { message, type Text } from '../../messages/message.ts';
import type { ClinicContext } from '../http/call.ts';
import { addressOf, send } from '../http/call.ts';
import { clinicError } from '../http/errors.ts';
import { asId, compilePaths, folded } from '../http/rows.ts';
import type { RecordOf } from '../schema/fields.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { tenantInfo as shape } from '../schema/shapes.ts';
import { recordIn } from './reading.ts';
import { compileRecords } from './records.ts';

/** A clinic that the connected user may use. */
export interface TenantReference {
  id: string;
  name: string | null;
}

/** The connected user, with at least one tenant. */
export interface UserInfo {
  /** The user's id with the identity provider, or null. */
  subject: string | null;
  tenants: TenantReference[];
}

/** Error codes of users without access to the tenant. */
export const WRONG_USER: ReadonlySet<string> = new Set(['user-unknown', 'tenant-gone', 'tenant-not-allowed']);

const USER_INFO = 'clinic.userInfo.read';

/** Maximum ids in an error message. */
const LISTED_IDS = 20;

/** Maximum field names in an error message. */
const LISTED_FIELDS = 20;
/** Format of a field name, which excludes personal values such as email addresses. */
const FIELD_NAME = /^[\p{L}_$][\p{L}\d_$-]{0,39}$/u;
/** Fields about a user, not about tenants (OpenID Connect Core section 5.1, and other usual names). */
const OF_PERSONS = new Set(
  'id iss aud exp iat nbf jti acr amr azp sid sub username user userid login name givenname familyname middlename nickname preferredusername profile picture website email emailverified gender birthdate zoneinfo locale phonenumber phonenumberverified address updatedat firstname lastname surname language scope'.split(
    ' ',
  ),
);
/** Words that replace an id and identify no tenant. */
const NO_ID = /^(all|any|none|\*)$/i;

/** Returns names, never values, of UserInfo fields that may contain tenants. */
function otherFields(answer: unknown): string[] {
  if (!isJsonObject(answer)) return [];
  return Object.keys(answer).filter((name) => FIELD_NAME.test(name) && !OF_PERSONS.has(folded(name)));
}

/**
 * Reads a UserInfo answer (specification section 4.1).
 * @throws MirrorError `authorization`, code `user-unknown`, for an answer without a tenant: the identity provider knows the user, the
 * clinic system does not; `contract`, code `tenants-not-found`, if the profile's path is empty and other fields may contain tenants;
 * `contract`, code `bad-tenants`, if the tenants are unreadable
 */
export function readUserInfo(answer: unknown, profile: ClinicProfile): UserInfo {
  const label = USER_INFO;
  const { path } = profile.tenants;
  const stated = path === ITSELF ? answer : valueAt(answer, path);
  if (stated === undefined && (Array.isArray(answer) || otherFields(answer).length > 0)) {
    throw clinicError(
      'tenants-not-found',
      message('clinic.tenants-not-found', { label, path, fields: fieldsText(message('clinic.answer'), answer) }),
    );
  }
  const isAnswer = isJsonObject(answer) || Array.isArray(answer);
  const tenants = isAnswer ? tenantsIn(stated ?? null, profile) : null;
  if (tenants === null) {
    const [first] = Array.isArray(stated) ? stated : [stated];
    if (first === undefined) throw clinicError('bad-tenants', message('clinic.bad-tenants', { label }));
    const fields = fieldsText(message('clinic.tenant'), first);
    const ids = profile.tenants.fields.id.join(', ');
    throw clinicError('bad-tenants', message('clinic.bad-tenants.id', { label, path: ids, fields }));
  }
  if (tenants.length === 0) {
    throw clinicError('user-unknown', message('clinic.user-unknown', { label }));
  }
  return { subject: isJsonObject(answer) ? asId(answer.sub) : null, tenants };
}

function fieldsText(what: Text, value: unknown): Text {
  const row = Array.isArray(value) ? value.find(isJsonObject) : value;
  const names = isJsonObject(row) ? Object.keys(row).filter((name) => FIELD_NAME.test(name)) : [];
  if (names.length === 0) return message(Array.isArray(value) ? 'clinic.fields.list' : 'clinic.fields.none', { what });
  const more = names.length > LISTED_FIELDS ? ', …' : '';
  const listed = `${names.slice(0, LISTED_FIELDS).join(', ')}${more}`;
  return message(Array.isArray(value) ? 'clinic.fields.rows' : 'clinic.fields', { what, names: listed });
}

/** Parses tenants: a list of tenants or ids, one tenant, one id, or tenants by id; null if unreadable. */
function tenantsIn(stated: unknown, profile: ClinicProfile): TenantReference[] | null {
  if (stated === null || stated === '') return [];
  if (isJsonObject(stated) && readTenant(stated, profile) === null) return underIds(stated, profile);
  const tenants = (Array.isArray(stated) ? stated : [stated]).map((tenant) => readTenant(tenant, profile));
  return tenants.every((tenant) => tenant !== null) ? tenants : null;
}

function underIds(stated: JsonObject, profile: ClinicProfile): TenantReference[] | null {
  return isUnderIds(stated) ? Object.entries(stated).map(([id, row]) => ({ id, name: nameIn(row, profile) })) : null;
}

/** Returns whether an object contains other objects by id. */
function isUnderIds(stated: JsonObject): boolean {
  const isEach = Object.entries(stated).every(([id, row]) => /\d/.test(id) && isJsonObject(row));
  return isEach && asId(Object.keys(stated)[0]) !== null;
}

/**
 * Chooses the tenant to use.
 * @param configuredId the operator's choice; null for the user's only tenant
 * @param workedIn the tenant of earlier work, which remains even if the user has another or several tenants
 * @throws MirrorError `settings`: `tenant-choice` for several tenants without a choice, `tenant-not-allowed` if the user may not use the
 * chosen tenant, `tenant-gone` if the user may no longer use the earlier tenant; all list the available ids
 */
export function chooseTenant(
  user: UserInfo,
  configuredId: string | null,
  workedIn: string | null = null,
): TenantReference {
  const wanted = configuredId ?? workedIn;
  const [only, ...others] = user.tenants;
  if (wanted === null && only !== undefined && others.length === 0) return only;
  const chosen = user.tenants.find((tenant) => tenant.id === wanted);
  if (chosen !== undefined) return chosen;
  const ids = user.tenants.slice(0, LISTED_IDS).map((tenant) => tenant.id);
  if (user.tenants.length > LISTED_IDS) ids.push('…');
  const choice = message('clinic.tenant-choice.remedy', { ids: ids.join(', ') });
  if (configuredId !== null) throw choiceError('tenant-not-allowed', choice);
  if (workedIn === null) throw choiceError('tenant-choice', choice);
  throw choiceError('tenant-gone', message('clinic.tenant-gone.remedy', { tenant: workedIn, choice }));
}

function choiceError(code: 'tenant-choice' | 'tenant-gone' | 'tenant-not-allowed', remedy: Text): MirrorError {
  return new MirrorError(message(`clinic.${code}`), { actor: 'settings', code, retry: 'never', remedy });
}

function readTenant(tenant: unknown, profile: ClinicProfile): TenantReference | null {
  const isRow = isJsonObject(tenant);
  const id = asId(isRow ? compilePaths(profile.tenants.fields.id)(tenant) : tenant);
  return id === null || NO_ID.test(id) ? null : { id, name: isRow ? nameIn(tenant, profile) : null };
}

function nameIn(row: unknown, profile: ClinicProfile): string | null {
  const name = isJsonObject(row) ? compilePaths(profile.tenants.fields.name)(row) : null;
  return typeof name === 'string' ? name : null;
}

/** General data of a tenant. */
export type TenantFacts = RecordOf<typeof shape>;

/** The calls of specification sections 4.1 and 4.12; they require a connection without scopes. */
export interface AccountCalls {
  /**
   * Reads the connected user.
   * @throws MirrorError `authorization`, code `user-unknown`, for a user without tenants
   */
  userInfo(signal: AbortSignal): Promise<UserInfo>;
  /**
   * Reads a tenant's general data.
   * @throws MirrorError `contract`, code `bad-record`, for a field of another kind
   */
  tenantInfo(tenantId: string, signal: AbortSignal): Promise<TenantFacts>;
}

/** Creates the calls for the context's profile. */
export function createAccountCalls(context: ClinicContext): AccountCalls {
  const { profile, compiled } = context;
  const map = compiled.of(compileTenantInfo);
  return {
    async userInfo(signal) {
      const { only } = profile.tenants;
      if (only !== null) return { subject: null, tenants: [{ id: only, name: null }] };
      const answer = await send(context, { label: USER_INFO, url: addressOf(context, ['userinfo']), signal });
      return readUserInfo(readJson(answer, USER_INFO), profile);
    },
    async tenantInfo(tenantId, signal) {
      const label = 'clinic.tenantInfo.read';
      const url = addressOf(context, ['tenants', tenantId, 'info']);
      const mapped = map(recordIn(await send(context, { label, url, signal }), label, profile, 'tenantInfo'));
      if ('record' in mapped) return mapped.record;
      const { field } = mapped.unusable;
      const remedy = message('clinic.bad-record.correct', { section: 'tenantInfo.fields', file: context.profileFile });
      throw clinicError('bad-record', message('clinic.bad-record', { label, field }), { remedy });
    },
  };
}

function compileTenantInfo(profile: ClinicProfile) {
  return compileRecords(shape, profile.tenantInfo.fields, profile);
}
