import { redact } from '../../core/log/redact.ts';
import type { ActFacts, ActVerb, ApprovalRequest, AuditDraft, AuditVerb, Principal } from '../../core/model/acts.ts';
import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import { type Clock, HOUR_MS } from '../../core/model/time.ts';
import { type Message, message } from '../../messages/message.ts';
import type { ApprovalSettings } from '../../settings/access-schema.ts';
import type { ApprovalStore } from '../../state/stored-documents.ts';
import type { AuditLog } from './audit-log.ts';

/** Services that record and authorise actions, built by `daemon/`. */
export interface ActServices {
  /** Null without a configured `dataDirectory`: actions are then only log lines. */
  log: AuditLog | null;
  /** Logs an action if no audit log is kept. */
  announce(draft: AuditDraft): void;
  /** Actions that require a reason. */
  readonly reasonFor: readonly ActVerb[];
  approvalsOf(tenant: string): { policy: ApprovalSettings; store: ApprovalStore };
  /** Returns a keyed hash of a clinic id or other confidential value, constant per tenant. */
  keyed(tenant: string, id: string): string;
  clock: Clock;
}

/** Caller and reason of an action, the first argument of each recorded function (`acts.ts`). */
export interface Acting {
  who: Principal;
  /** Reason typed by the user, or null. */
  why: string | null;
  /** The user's sign-in is too old for sensitive actions (`mustSignInAgain`); absent without a session. */
  isStale?: boolean;
  actServices: ActServices;
}

/** Actions that require a recent sign-in: they change rights, access or tenants, or cannot be undone. */
const SENSITIVE: ReadonlySet<AuditVerb> = new Set([
  ...(['add-tenant', 'replace-tenant', 'remove-tenant', 'adopt-tenant', 'accept-tenant'] as const),
  ...(['access-token', 'revoke-access-token', 'release-account', 'sign-in-link', 'end-sessions'] as const),
  ...(['forget', 'backup', 'restore', 'accept-loss'] as const),
]);

/** Code of {@link requireRecentSignIn}; pages lead to the sign-in, and back. */
export const SIGN_IN_AGAIN = 'sign-in-again';

/** @throws MirrorError `guard`, code `sign-in-again` */
export function requireRecentSignIn({ isStale = false }: Pick<Acting, 'isStale'>): void {
  if (!isStale) return;
  throw new MirrorError(message('sign-in-again'), {
    ...{ actor: 'guard', code: 'sign-in-again', retry: 'never' },
    remedy: message('sign-in-again.remedy'),
  });
}

/** Subject of an action. */
export interface ActAbout {
  verb: AuditVerb;
  /** A configured tenant; null for no tenant or every tenant. */
  tenant: string | null;
  what?: ActFacts;
  /** Exact subject for the approval by a second user, if required. */
  second?: { subject: string; isNeeded(policy: ApprovalSettings): boolean };
}

/** Largest length of reasons and typed names. */
const MOST_CHARACTERS = 200;

/**
 * Performs an action between two audit records. An action that cannot be recorded does not begin.
 * @param factsOf returns facts of the result for the audit log
 * @throws MirrorError `settings`, code `reason-missing`, `reason-unusable` or `audit-log-unwritable`; `guard`, code `second-person-needed`,
 * `second-person-same`, `name-missing` or `sign-in-again`; and errors of `work`
 */
export async function recordAct<Result>(
  acting: Acting,
  about: ActAbout,
  work: () => Promise<Result>,
  factsOf: (result: Result) => ActFacts = () => ({}),
): Promise<Result> {
  const approved = await admit(acting, about);
  const whole = { ...about, what: { ...about.what, ...approved } };
  const act = await recordEntry(acting, whole, { outcome: 'begun' });
  let result: Result;
  try {
    result = await work();
  } catch (error) {
    // If the end cannot be recorded, the begin remains in the log. The error of the action is more important.
    await recordEntry(acting, whole, { outcome: 'failed', code: asMirrorError(error).code, act }).catch(() => {});
    throw error;
  }
  await recordEntry(acting, { ...whole, what: { ...whole.what, ...factsOf(result) } }, { outcome: 'done', act });
  return result;
}

/** Returns the subject of an action from its arguments; null for no change. If the function throws, the action does not begin. */
type AboutOf<Input extends readonly unknown[]> = (
  services: ActServices,
  ...parameters: Input
) => ActAbout | null | Promise<ActAbout | null>;

/** Wraps a function so that the function takes caller and reason first, and is recorded. */
export function act<Input extends readonly unknown[], Result>(
  work: (...parameters: Input) => Promise<Result>,
  aboutOf: AboutOf<Input>,
  factsOf?: (result: Result) => ActFacts,
): (acting: Acting, ...parameters: Input) => Promise<Result> {
  return async (acting, ...parameters) => {
    const about = await aboutOf(acting.actServices, ...parameters);
    return about === null ? work(...parameters) : recordAct(acting, about, () => work(...parameters), factsOf);
  };
}

/** Returns the display name of a principal. */
export function nameOf({ claimed, name }: Principal): string {
  return claimed ?? name;
}

/**
 * Writes an audit record. @returns its number; null without an audit log, when the action is only logged
 * @throws MirrorError `settings`, code `audit-log-unwritable`
 */
export async function recordEntry(
  { who, why, actServices }: Acting,
  { verb, tenant, what = {} }: ActAbout,
  came: Pick<AuditDraft, 'outcome'> & Partial<Pick<AuditDraft, 'code' | 'act'>>,
): Promise<number | null> {
  const draft = { verb, tenant, who, what, why, code: null, act: null, ...came };
  if (actServices.log !== null) return (await actServices.log.append(draft)).sequence;
  actServices.announce(draft);
  return null;
}

/** Authorises an action, and records a refusal. @returns facts about the first user of an approval */
async function admit(acting: Acting, about: ActAbout): Promise<ActFacts> {
  checkWords(acting);
  try {
    checkReason(acting, about);
    if (SENSITIVE.has(about.verb)) requireRecentSignIn(acting);
    return await secondOf(acting, about);
  } catch (error) {
    const { code } = asMirrorError(error);
    await recordEntry(acting, about, { outcome: code === 'second-person-needed' ? 'requested' : 'refused', code });
    throw error;
  }
}

/** Refuses patient data in the audit log, as far as detectable, because the log is kept for years. */
function checkWords({ who, why }: Acting): void {
  for (const words of [who.claimed, why]) {
    if (words === null) continue;
    const isPlain = words.trim() !== '' && words.length <= MOST_CHARACTERS && !/\p{Cc}/u.test(words);
    if (isPlain && redact({ words }).words === words) continue;
    throw actRefusal(
      'reason-unusable',
      message('reason-unusable'),
      message('reason-unusable.remedy', { most: MOST_CHARACTERS }),
    );
  }
}

function checkReason({ why, actServices }: Acting, { verb }: ActAbout): void {
  if (why !== null || !actServices.reasonFor.some((each) => each === verb)) return;
  throw actRefusal('reason-missing', message('reason-missing', { verb }), message('reason-missing.remedy'));
}

async function secondOf(acting: Acting, about: ActAbout): Promise<ActFacts> {
  const { verb, tenant, what = {}, second } = about;
  if (second === undefined || tenant === null) return {};
  const { actServices, who } = acting;
  const { policy, store } = actServices.approvalsOf(tenant);
  if (!second.isNeeded(policy)) return {};
  requireRecentSignIn(acting);
  const person = personOf(who, policy);
  const id = actServices.keyed(tenant, `${verb} ${second.subject}`);
  const request = (await store.list()).find((each) => each.id === id);
  if (request === undefined) {
    const at = actServices.clock();
    const expiresAt = at + policy.expireAfterHours * HOUR_MS;
    await store.put({ id, verb: verb as ActVerb, what, by: who, at, expiresAt });
    throw secondNeeded(expiresAt);
  }
  if (personOf(request.by, policy) === person) throw samePerson(request);
  // One human may have a host user and an account, so an approval must come from an equal kind of sign-in.
  if (request.by.kind !== who.kind) throw otherWay(request);
  // A concurrent action used the request, so this action makes a new request.
  if (!(await store.take(id))) return secondOf(acting, about);
  return { requestedBy: request.by.claimed ?? request.by.name, requestedById: request.by.id };
}

/** Returns the identity that distinguishes approvers. */
function personOf({ kind, id, claimed }: Principal, { persons }: ApprovalSettings): string {
  if (kind === 'holder') throw unidentifiedError();
  if (persons === 'system' || kind === 'account') return id;
  if (claimed !== null) return `name:${claimed.trim().toLowerCase()}`;
  throw new MirrorError(message('name-missing'), {
    actor: 'guard',
    code: 'name-missing',
    retry: 'never',
    remedy: message('name-missing.remedy'),
  });
}

/** The owner of a shared secret is unknown. */
function unidentifiedError(): MirrorError {
  return new MirrorError(message('second-person-unknown'), {
    actor: 'guard',
    code: 'second-person-unknown',
    retry: 'never',
    remedy: message('second-person-unknown.remedy'),
  });
}

function otherWay({ by, expiresAt }: ApprovalRequest): MirrorError {
  return new MirrorError(message('second-person-other-way'), {
    actor: 'guard',
    code: 'second-person-other-way',
    retry: 'never',
    remedy: message('second-person-other-way.remedy', {
      until: new Date(expiresAt).toISOString().slice(0, 16),
      action: message(by.kind === 'account' ? 'sign-in' : 'sign-in-on-host'),
    }),
  });
}

function secondNeeded(expiresAt: number): MirrorError {
  return new MirrorError(message('second-person-needed'), {
    actor: 'guard',
    code: 'second-person-needed',
    retry: 'never',
    remedy: message('same-command-until', { until: new Date(expiresAt).toISOString().slice(0, 16) }),
  });
}

function samePerson({ expiresAt }: ApprovalRequest): MirrorError {
  return new MirrorError(message('second-person-same'), {
    actor: 'guard',
    code: 'second-person-same',
    retry: 'never',
    remedy: message('same-command-until', { until: new Date(expiresAt).toISOString().slice(0, 16) }),
  });
}

function actRefusal(code: string, text: Message, remedy: Message): MirrorError {
  return new MirrorError(text, { actor: 'settings', code, retry: 'never', remedy });
}
