import { MirrorError } from '../../model/errors.ts';
import { asId, compilePaths, isJsonObject, valueAt } from '../http/rows.ts';
import type { ClinicProfile } from '../schema/profile.ts';

/** A clinic that the connected user may work in. */
export interface TenantReference {
  id: string;
  name: string | null;
}

/** Who is connected; the tenants are at least one. */
export interface UserInfo {
  /** The user's id at the identity provider, null when it is not told. */
  subject: string | null;
  tenants: TenantReference[];
}

/** Codes of users who may not work in the tenant. */
export const WRONG_USER: ReadonlySet<string> = new Set(['user-unknown', 'tenant-gone', 'tenant-not-allowed']);

/** Most ids that an error message lists. */
const LISTED_IDS = 20;

/**
 * Reads a UserInfo answer (specification section 4.1).
 * @throws MirrorError `authorization`, code `user-unknown`, when it names no tenant: the identity provider knows the user, the
 * clinic system does not; `contract`, code `bad-tenants`, when its tenants can't be read
 */
export function readUserInfo(answer: unknown, profile: ClinicProfile): UserInfo {
  const told = valueAt(answer, profile.tenants.path) ?? [];
  const tenants = Array.isArray(told) ? told.map((tenant) => readTenant(tenant, profile)) : null;
  if (!isJsonObject(answer) || tenants === null || tenants.includes(null)) {
    throw new MirrorError('clinic.userInfo.read: the tenants of the user can not be read', {
      actor: 'contract',
      code: 'bad-tenants',
      retry: 'later',
      remedy: 'check tenants in the clinic profile',
    });
  }
  if (tenants.length === 0) {
    throw new MirrorError('clinic.userInfo.read: the connected user is not known to the clinic system', {
      actor: 'authorization',
      code: 'user-unknown',
      retry: 'never',
      remedy: 'have the clinic add this user to its system, or connect as another user',
    });
  }
  return { subject: asId(answer.sub), tenants: tenants.filter((tenant) => tenant !== null) };
}

/**
 * The tenant to work with.
 * @param configuredId the operator's choice; null when the user's only tenant is meant
 * @param workedIn the tenant of earlier work, which a user with another or with several tenants changes nothing of
 * @throws MirrorError `settings`: `tenant-choice` when there are several and none is chosen, `tenant-not-allowed` when the chosen
 * one is not the user's, `tenant-gone` when that of earlier work no longer is; all list the ids to choose from
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
  const choice = `set clinic.tenantId to one of: ${ids.join(', ')}${user.tenants.length > LISTED_IDS ? ', …' : ''}`;
  if (configuredId !== null) {
    throw choiceError('tenant-not-allowed', 'the configured tenant is not one of the connected user', choice);
  }
  if (workedIn === null) throw choiceError('tenant-choice', 'the connected user has several tenants', choice);
  const remedy = `have the clinic give the user access to ${workedIn} again, connect as another user, or ${choice}`;
  throw choiceError('tenant-gone', 'the tenant of all work so far is no longer one of the connected user', remedy);
}

function choiceError(code: string, message: string, remedy: string): MirrorError {
  return new MirrorError(message, { actor: 'settings', code, retry: 'never', remedy });
}

function readTenant(tenant: unknown, profile: ClinicProfile): TenantReference | null {
  if (!isJsonObject(tenant)) return null;
  const id = asId(compilePaths(profile.tenants.fields.id)(tenant));
  const name = compilePaths(profile.tenants.fields.name)(tenant);
  return id === null ? null : { id, name: typeof name === 'string' ? name : null };
}
