/**
 * Every verb that a person gives and that changes something: as in its own file, with who acts and why before its own arguments, and
 * recorded. Whoever stands above (command line, HTTP, daemon) takes these; a test finds a verb that is not here.
 */
import { createHash } from 'node:crypto';
import type { ActFacts } from '../model/acts.ts';
import { asMirrorError } from '../model/errors.ts';
import { accountText } from '../oauth/accounts.ts';
import type { LoginResult } from '../oauth/login.ts';
import type { HoldChoice } from '../state/holds.ts';
import * as backups from './backups.ts';
import * as clinic from './clinic.ts';
import { operationOf } from './clinic-question.ts';
import * as forget from './forget.ts';
import * as holds from './holds.ts';
import { type Installation, requireTenant } from './installation.ts';
import * as logins from './logins.ts';
import { changeTenant, planAddition } from './managed-tenants.ts';
import { matchableTarget } from './match.ts';
import * as match from './match-apply.ts';
import { type ActAbout, type Acting, act, note, recordAct } from './recording.ts';
import * as undo from './undo.ts';

/** The id of a tenant that there is: nobody's name gets into the log by a slip of the fingers. */
function tenantOf(installation: Installation, id: string): string {
  return requireTenant(installation, id).id;
}

/**
 * Decides a hold as it is now, or as it was seen, whole or in part: one that changes meanwhile is not decided.
 * @see holds.decideHold
 */
export async function decideHold(
  acting: Acting,
  installation: Installation,
  tenantId: string,
  holdId: string,
  decision: 'approved' | 'rejected',
  { seen = null, only = null }: HoldChoice = {},
): ReturnType<typeof holds.decideHold> {
  const tenant = requireTenant(installation, tenantId);
  const all = await tenant.holds.list();
  const hold = all.find(({ id }) => id === holdId);
  const recordIds = hold?.recordIds ?? [];
  const chosen = recordIds.filter((recordId) => only?.has(recordId) ?? true);
  const isPart = chosen.length < recordIds.length;
  const about: ActAbout = {
    verb: decision === 'approved' ? 'approve' : 'reject',
    tenant: tenant.id,
    what: {
      ...{ hold: hold?.id ?? null, target: hold?.target ?? null, kind: hold?.kind ?? null, items: chosen.length },
      ...(isPart ? { of: recordIds.length } : {}),
    },
  };
  if (hold !== undefined && hold.state === 'open' && decision === 'approved') {
    const subject = digestOf([hold.id, ...chosen.toSorted()].join('\n'));
    // Part by part is as much as all at once.
    const before = all.filter(({ partOf, state }) => partOf === hold.id && state === 'approved');
    const count = before.reduce((sum, part) => sum + part.recordIds.length, chosen.length);
    about.second = { subject, isNeeded: ({ holdsAbove }) => holdsAbove !== undefined && count > holdsAbove };
  }
  const choice = { seen: seen ?? (hold === undefined ? null : holds.shownHold(hold, tenantId).seen), only };
  return recordAct(acting, about, () => holds.decideHold(installation, tenantId, holdId, decision, choice));
}

/** How many contacts were given to patients, or taken back. */
const matchFacts = ({ approved, done, already, refused }: match.MatchResult) => ({
  ...{ approved, done, already },
  refused: refused.length,
});

/** @see match.applyMatches */
export const applyMatches = act(
  match.applyMatches,
  (_, installation, { tenant, target }) => ({
    verb: 'match',
    tenant: tenantOf(installation, tenant),
    what: { target: matchableTarget(requireTenant(installation, tenant), target).target.id },
  }),
  matchFacts,
);

/** @see match.undoMatches */
export const undoMatches = act(
  match.undoMatches,
  (_, installation, { tenant, target }) => ({
    verb: 'unmatch',
    tenant: tenantOf(installation, tenant),
    what: { target: matchableTarget(requireTenant(installation, tenant), target).target.id },
  }),
  matchFacts,
);

/** @see undo.undoRun */
export const undoRun = act(
  undo.undoRun,
  async (_, installation, run, { tenant, dryRun }) =>
    dryRun ? null : { verb: 'undo', tenant: (await undo.tenantOfRun(installation, run, tenant)).id, what: { run } },
  ({ records }) => ({
    records: records.length,
    restored: records.filter(({ result }) => result === 'restored').length,
  }),
);

/** @see undo.releaseRun */
export const releaseRun = act(
  undo.releaseRun,
  async (_, installation, run, { tenant }) => ({
    verb: 'release',
    tenant: (await undo.tenantOfRun(installation, run, tenant)).id,
    what: { run },
  }),
  ({ released }) => ({ released }),
);

/** @see forget.forgetPatient */
export const forgetPatient = act(
  forget.forgetPatient,
  (desk, installation, id, patientId) => {
    const tenant = tenantOf(installation, id);
    const patient = desk.keyed(tenant, patientId);
    const second = { subject: patient, isNeeded: (policy: { forget: boolean }) => policy.forget };
    return { verb: 'forget', tenant, what: { patient }, second };
  },
  ({ receipt, targets }) => ({
    receipt,
    erased: targets.reduce((sum, { erased }) => sum + erased, 0),
    waiting: targets.reduce((sum, { waiting, failed }) => sum + waiting + failed, 0),
  }),
);

/** @see forget.followAgain */
export const followAgain = act(
  forget.followAgain,
  (desk, installation, id, patientId) => {
    const tenant = tenantOf(installation, id);
    return { verb: 'follow-again', tenant, what: { patient: desk.keyed(tenant, patientId) } };
  },
  ({ changed }) => ({ changed }),
);

/** @see backups.Backups.backup */
export const backUp = act(
  (_: Installation, open: backups.Backups, id: string) => open.backup(id),
  (_, installation, __, id) => ({ verb: 'backup', tenant: tenantOf(installation, id) }),
);

/**
 * A managed tenant that is not there any more is added first, as it was.
 * @see backups.Backups.restore
 */
export async function restore(
  acting: Acting,
  installation: Installation,
  open: backups.Backups,
  id: string,
  text: string,
): Promise<backups.Restored> {
  const isGone = installation.tenants.get(id) === undefined && !installation.setAside.some((aside) => aside.id === id);
  const lost = isGone ? (open.managed?.contentIn(id, text) ?? null) : null;
  if (lost !== null && open.managed !== undefined) {
    const { desk } = open.managed;
    await changeTenant(acting, desk, 'add-tenant', await planAddition(desk, id, lost));
  }
  return restoreTenant(acting, installation, open, id, text);
}

const restoreTenant = act(
  (_: Installation, open: backups.Backups, id: string, text: string) => open.restore(id, text),
  (_, installation, __, id, text) => {
    const backup = digestOf(text);
    const second = { subject: backup, isNeeded: (policy: { restore: boolean }) => policy.restore };
    return { verb: 'restore', tenant: tenantOf(installation, id), what: { backup }, second };
  },
  ({ restored, kept, protections, pins }) => ({ logins: restored.length, kept: kept.length, protections, pins }),
);

/** @see backups.acceptLoss */
export const acceptLoss = act(
  backups.acceptLoss,
  (_, installation, id) => ({ verb: 'accept-loss', tenant: tenantOf(installation, id) }),
  ({ changed }) => ({ changed }),
);

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
  (_, desk, tenant, connection) => loginAbout('browser', desk, tenant, connection),
  loginFacts,
);

/** @see logins.loginWithDevice */
export const loginWithDevice = act(
  logins.loginWithDevice,
  (_, desk, tenant, connection) => loginAbout('device', desk, tenant, connection),
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
  callback: URL,
  browserKey: string,
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
    result = await logins.completeRemoteLogin({ ...desk, target }, callback, browserKey, signal);
  } catch (error) {
    if (about !== null) await note(acting, ended({}), { outcome: 'failed', code: asMirrorError(error).code });
    throw error;
  }
  await note(acting, ended(loginFacts(result)), { outcome: 'done' });
  return result;
}

function loginAbout(way: 'browser' | 'device', desk: logins.LoginDesk, tenant: string, connection: string): ActAbout {
  desk.target(tenant, connection);
  return { verb: 'login', tenant, what: { connection, way } };
}

/** Whose account it is: no patient, and what an administrator looks for after a login that nobody wanted. */
function loginFacts({ account, isUnconfirmed, missingScopes }: LoginResult): ActFacts {
  return { account: accountText(account), unconfirmed: isUnconfirmed, missingScopes: missingScopes.length };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
