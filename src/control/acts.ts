/**
 * Every verb that a person gives and that changes something: as in its own file, with who acts and why before its own arguments, and
 * recorded. Whoever stands above (command line, HTTP, daemon) takes these; a test finds a verb that is not here.
 */
import type { ActFacts } from '../model/acts.ts';
import { asMirrorError } from '../model/errors.ts';
import { accountText } from '../oauth/accounts.ts';
import type { LoginResult } from '../oauth/login.ts';
import * as clinic from './clinic.ts';
import { operationOf } from './clinic-question.ts';
import * as logins from './logins.ts';
import { type ActAbout, type Acting, act, note } from './recording.ts';

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
  (_, desk, login) => loginAbout('browser', desk, login),
  loginFacts,
);

/** @see logins.loginWithDevice */
export const loginWithDevice = act(
  logins.loginWithDevice,
  (_, desk, login) => loginAbout('device', desk, login),
  loginFacts,
);

/**
 * Records only what a good link began: whoever posts others fills nothing.
 * @see logins.openRemoteLogin
 */
export async function openRemoteLogin(
  acting: Acting,
  desk: logins.LoginDesk,
  ticket: string,
): Promise<logins.OpenedLogin> {
  const opened = await logins.openRemoteLogin(desk, ticket);
  const { tenant, connection, link } = opened;
  // Without an entry the browser is not told where to go on.
  await note(acting, { verb: 'open-link', tenant, what: { connection, link } }, { outcome: 'begun' });
  return opened;
}

/**
 * Records how a login ended that a good link began, and nothing of others.
 * @see logins.completeRemoteLogin
 */
export async function completeRemoteLogin(
  acting: Acting,
  desk: logins.LoginDesk,
  { callback, browserKey }: { callback: URL; browserKey: string },
  signal: AbortSignal,
): Promise<LoginResult> {
  let about = null as ActAbout | null;
  const target: logins.LoginDesk['target'] = (tenant, connection) => {
    const found = desk.target(tenant, connection);
    about = { verb: 'end-link', tenant, what: { connection } };
    return found;
  };
  const ended = (more: ActFacts): ActAbout => {
    const { verb = 'end-link', tenant = null, what } = about ?? {};
    return { verb, tenant, what: { ...what, ...more } };
  };
  let result: LoginResult;
  try {
    result = await logins.completeRemoteLogin({ ...desk, target }, { callback, browserKey }, signal);
  } catch (error) {
    if (about !== null) await note(acting, ended({}), { outcome: 'failed', code: asMirrorError(error).code });
    throw error;
  }
  await note(acting, ended(loginFacts(result)), { outcome: 'done' });
  return result;
}

function loginAbout(
  way: 'browser' | 'device',
  desk: logins.LoginDesk,
  { tenant, connection }: logins.TenantConnection,
): ActAbout {
  desk.target(tenant, connection);
  return { verb: 'login', tenant, what: { connection, way } };
}

/** Whose account it is: no patient, and what an administrator looks for after a login that nobody wanted. */
function loginFacts({ account, isUnconfirmed, missingScopes }: LoginResult): ActFacts {
  return { account: accountText(account), unconfirmed: isUnconfirmed, missingScopes: missingScopes.length };
}
