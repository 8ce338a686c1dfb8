/**
 * All operator actions that change data. Each function takes the caller and reason first, and writes the audit log. CLI, HTTP API and
 * daemon use these functions; a test finds actions that are missing here.
 */
import type { ActFacts } from '../../core/model/acts.ts';
import { asMirrorError } from '../../core/model/errors.ts';
import { accountText } from '../../oauth/accounts.ts';
import type { LoginResult } from '../../oauth/login.ts';
import * as clinic from './clinic.ts';
import { operationOf } from './clinic-question.ts';
import * as logins from './logins.ts';
import { type ActAbout, type Acting, act, recordEntry } from './recording.ts';

/** @see clinic.writeClinic */
export const writeClinic = act(clinic.writeClinic, ({ keyed }, { tenant }, question) => {
  const { name } = operationOf(question);
  const { ids, values } = question;
  const records = Array.isArray(values) ? values.length : 1;
  return {
    verb: 'clinic-write',
    tenant,
    what: { operation: name, ids: ids.map((id) => keyed(tenant, id)).join(' '), records },
  };
});

/** @see logins.loginWithBrowser */
export const loginWithBrowser = act(
  logins.loginWithBrowser,
  (_, services, login) => loginAbout('browser', services, login),
  loginFacts,
);

/** @see logins.loginWithDevice */
export const loginWithDevice = act(
  logins.loginWithDevice,
  (_, services, login) => loginAbout('device', services, login),
  loginFacts,
);

/**
 * Records only the start from a valid link, so that forged requests cannot fill the log.
 * @see logins.openRemoteLogin
 */
export async function openRemoteLogin(
  acting: Acting,
  services: logins.LoginServices,
  ticket: string,
): Promise<logins.OpenedLogin> {
  const opened = await logins.openRemoteLogin(services, ticket);
  const { tenant, connection, link } = opened;
  // Without an audit record, the browser is not redirected.
  await recordEntry(acting, { verb: 'open-link', tenant, what: { connection, link } }, { outcome: 'begun' });
  return opened;
}

/**
 * Records only the end of a connection that a valid link began.
 * @see logins.completeRemoteLogin
 */
export async function completeRemoteLogin(
  acting: Acting,
  services: logins.LoginServices,
  { callback, browserKey }: { callback: URL; browserKey: string },
  signal: AbortSignal,
): Promise<LoginResult> {
  let about = null as ActAbout | null;
  const target: logins.LoginServices['target'] = (tenant, connection) => {
    const found = services.target(tenant, connection);
    about = { verb: 'end-link', tenant, what: { connection } };
    return found;
  };
  const ended = (more: ActFacts): ActAbout => {
    const { verb = 'end-link', tenant = null, what } = about ?? {};
    return { verb, tenant, what: { ...what, ...more } };
  };
  let result: LoginResult;
  try {
    result = await logins.completeRemoteLogin({ ...services, target }, { callback, browserKey }, signal);
  } catch (error) {
    if (about !== null) await recordEntry(acting, ended({}), { outcome: 'failed', code: asMirrorError(error).code });
    throw error;
  }
  await recordEntry(acting, ended(loginFacts(result)), { outcome: 'done' });
  return result;
}

function loginAbout(
  way: 'browser' | 'device',
  services: logins.LoginServices,
  { tenant, connection }: logins.TenantConnection,
): ActAbout {
  services.target(tenant, connection);
  return { verb: 'login', tenant, what: { connection, way } };
}

/** The account is not patient data. Administrators need the account to investigate an unauthorised connection. */
function loginFacts({ account, isUnconfirmed, missingScopes }: LoginResult): ActFacts {
  return { account: accountText(account), unconfirmed: isUnconfirmed, missingScopes: missingScopes.length };
}
