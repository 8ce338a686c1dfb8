import { redact } from '../log/redact.ts';
import { type Message, message } from '../messages/message.ts';
import type { ActFacts, ActVerb, AuditDraft, AuditVerb, Principal } from '../model/acts.ts';
import { asMirrorError, MirrorError } from '../model/errors.ts';
import { type Clock, HOUR_MS } from '../model/time.ts';
import type { ApprovalSettings } from '../settings/access-schema.ts';
import type { AuditLog } from '../state/audit-log.ts';
import type { ApprovalRequest, ApprovalStore } from '../state/stored-documents.ts';

/** What acts are recorded with, and allowed by; put together by `composition/`. */
export interface ActServices {
  /** Null where no `dataDirectory` is configured: acts are told as lines alone then. */
  log: AuditLog | null;
  /** Tells of an act where no log is kept. */
  announce(draft: AuditDraft): void;
  /** What is done only with a reason. */
  readonly reasonFor: readonly ActVerb[];
  approvalsOf(tenant: string): { policy: ApprovalSettings; store: ApprovalStore };
  /** A keyed hash of what a clinic calls a record, or of anything else that is not to be told: the same each time for one tenant. */
  keyed(tenant: string, id: string): string;
  clock: Clock;
}

/** Who acts, and why: every verb that changes something takes it first (`acts.ts`). */
export interface Acting {
  who: Principal;
  /** In the person's own words; null where none were given. */
  why: string | null;
  actServices: ActServices;
}

/** What an act is about. */
export interface ActAbout {
  verb: AuditVerb;
  /** One of the configuration; null for none, or all. */
  tenant: string | null;
  what?: ActFacts;
  /** What a second person may have to want too: exactly this. */
  second?: { subject: string; isNeeded(policy: ApprovalSettings): boolean };
}

/** Longest reason, and longest name that a person gives. */
const MOST_CHARACTERS = 200;

/**
 * Does what a person wants, between two entries of the audit log: what can't be recorded is not begun.
 * @param factsOf what the log says of the result
 * @throws MirrorError `settings`, code `reason-missing`, `reason-unusable` or `audit-log-unwritable`; `guard`, code `second-person-needed`,
 *   `second-person-same` or `name-missing`; and what `work` throws
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
    // Where this can't be written either, the act stays one that was begun; its own error tells more.
    await recordEntry(acting, whole, { outcome: 'failed', code: asMirrorError(error).code, act }).catch(() => {});
    throw error;
  }
  await recordEntry(acting, { ...whole, what: { ...whole.what, ...factsOf(result) } }, { outcome: 'done', act });
  return result;
}

/** What an act is about, from the arguments of its verb; null for one that changes nothing. What it throws was no act. */
type AboutOf<Input extends readonly unknown[]> = (
  services: ActServices,
  ...parameters: Input
) => ActAbout | null | Promise<ActAbout | null>;

/** A verb that is recorded: with who acts and why before its own arguments. */
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

/** As somebody is named to others. */
export function nameOf({ claimed, name }: Principal): string {
  return claimed ?? name;
}

/**
 * Writes an entry of an act. @returns its number; null where no log is kept: then it is told as a line
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

/** Whether an act may begin; a refusal is recorded. @returns what the log says of the first person, where there were two */
async function admit(acting: Acting, about: ActAbout): Promise<ActFacts> {
  checkWords(acting);
  try {
    checkReason(acting, about);
    return await secondOf(acting, about);
  } catch (error) {
    const { code } = asMirrorError(error);
    await recordEntry(acting, about, { outcome: code === 'second-person-needed' ? 'requested' : 'refused', code });
    throw error;
  }
}

/** What stands in the log for years is not to tell of patients, as far as a program can tell. */
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
  // One person may have both a user of the machine and an account.
  if (request.by.kind !== who.kind) throw otherWay(request);
  // Somebody else was the second person just now: this is a new request.
  if (!(await store.take(id))) return secondOf(acting, about);
  return { requestedBy: request.by.claimed ?? request.by.name, requestedById: request.by.id };
}

/** What tells one person from another. */
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

/** Of several secrets nobody knows whose they are. */
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
