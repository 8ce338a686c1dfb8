import type { ContactStamp, ExistingContact } from '../../connectors/connector.ts';
import { slices } from '../../core/model/pieces.ts';
import type { Patient } from '../../core/model/records.ts';
import type { Progress } from '../../core/model/tasks.ts';
import { comparedProperties, digestOf, patientAsPerson } from '../../domain/matching.ts';
import { planCycle } from '../../engine/cycle.ts';
import { openContainer } from '../../engine/lane.ts';
import type { Lease } from '../../engine/store.ts';
import { laneLease } from '../../engine/store.ts';
import { message } from '../../messages/message.ts';
import { type Installation, pausedError, requireTenant } from '../../operator/control/installation.ts';
import { contactDigest, type MatchableTarget, unmatchedPatients } from '../../operator/control/matching.ts';
import { PLAN_LEASE } from '../../state/config-version.ts';
import { targetWork, waitForLease } from '../../state/leases.ts';
import { type ApprovedPair, fromMatchFile } from './file.ts';
import { type MatchedTenant, matchableTarget } from './propose.ts';
import type { MatchResult } from './schemas.ts';

/** Reason why a pair remains unchanged. */
export type MatchRefusal =
  /** About the patient: excluded by the target, already matched, or changed since the approval. */
  | 'patient-left-out'
  | 'patient-has-contact'
  | 'patient-changed'
  /** About the contact: deleted, key or stamp of a different owner, changed since the approval, or matched to a different patient. */
  | 'contact-gone'
  | 'contact-taken'
  | 'contact-changed'
  | 'contact-not-ours';

/** Number of contacts and keys per request. */
const AT_ONCE = 100;

/** Parameters of the work on a file, while planner and lane are locked. */
interface Work extends MatchableTarget {
  tenant: MatchedTenant;
  pairs: readonly ApprovedPair[];
  plan: Lease;
  lane: Lease;
  progress: Progress;
  signal: AbortSignal;
}

/**
 * Matches approved contacts with patients. Each contact is read again, and receives clinic-mirror's key and stamp if patient and contact
 * are unchanged. No other data is written; the next cycle updates the contacts. Safe to repeat.
 * @param text decided file from {@link proposeMatches}
 * @throws MirrorError as {@link proposeMatches}, and `match-file-unusable`, before any write
 */
export async function applyMatches(
  installation: Installation,
  ids: { tenant: string; target: string },
  text: string,
  { progress, signal }: Pick<Work, 'progress' | 'signal'>,
): Promise<MatchResult> {
  return await work(installation, { ids, text }, { progress, signal }, async (matchWork) => {
    const cycle = await planCycle(matchWork.tenant, { lease: null, progress }, matchWork.signal);
    const unmatched = await unmatchedPatients(matchWork.tenant, matchWork.target, cycle);
    return await adopt(matchWork, unmatched);
  });
}

/**
 * Removes key and stamp from the matched contacts of a file, and deletes their links. Values written by a sync remain. The next cycle
 * creates new contacts for these patients.
 * @throws MirrorError as {@link applyMatches}
 */
export async function undoMatches(
  installation: Installation,
  ids: { tenant: string; target: string },
  text: string,
  { progress, signal }: Pick<Work, 'progress' | 'signal'>,
): Promise<MatchResult> {
  return await work(installation, { ids, text }, { progress, signal }, release);
}

async function work(
  installation: Installation,
  { ids, text }: { ids: { tenant: string; target: string }; text: string },
  { progress, signal }: Pick<Work, 'progress' | 'signal'>,
  carryOut: (matchWork: Work) => Promise<Pick<MatchResult, 'done' | 'already' | 'refused'>>,
): Promise<MatchResult> {
  const tenant = requireTenant(installation, ids.tenant);
  const matchable = matchableTarget(tenant, ids.target);
  const { target } = matchable;
  if (tenant.configuration.paused) throw pausedError(installation, ids.tenant);
  const pairs = fromMatchFile(text, target.identity);
  const plan = await waitForLease(
    tenant.leases,
    PLAN_LEASE,
    { what: message('step.wait.cycle'), report: progress },
    signal,
  );
  try {
    const waitReport = { what: targetWork(target.id), report: progress };
    const lane = await waitForLease(tenant.leases, laneLease(target.id), waitReport, signal);
    try {
      const guarded = AbortSignal.any([signal, plan.signal, lane.signal]);
      const matchWork = { ...matchable, tenant, pairs, plan, lane, progress, signal: guarded };
      const { done, already, refused } = await carryOut(matchWork);
      tenant.log.info({ target: target.id, done, already, refused: refused.length }, 'administrator matched contacts');
      return { ...ids, approved: pairs.length, done, already, refused: refused.sort((a, b) => a.line - b.line) };
    } finally {
      await lane.release();
    }
  } finally {
    await plan.release();
  }
}

/** Reads the present contacts of the file. */
async function readContacts({ existing, pairs, progress, signal }: Work): Promise<Map<string, ExistingContact>> {
  progress('reading the contacts');
  const contacts = new Map<string, ExistingContact>();
  for (const slice of slices(pairs, AT_ONCE)) {
    const remoteIds = slice.map(({ remoteId }) => remoteId);
    for (const one of await existing.read(remoteIds, signal)) contacts.set(one.remoteId, one);
  }
  return contacts;
}

/** Writes the stamps. Before the first stamp, links are marked as unread, so that the next cycle finds contacts by stamp. */
async function adopt(matchWork: Work, unmatched: ReadonlyMap<string, Patient>) {
  const { tenant, target, existing, pairs, plan, lane, signal } = matchWork;
  const { identity } = target;
  // Contacts are read after the clinic, because a clinic read may take minutes and contacts could change meanwhile.
  const contacts = await readContacts(matchWork);
  const checks = pairs.map((pair) => ({ pair, why: checkPair(matchWork, pair, { contacts, unmatched }) }));
  const approved = checks.filter(({ why }) => why === null).map(({ pair }) => pair);
  const taken = approved.length === 0 ? new Set<string>() : await prepare(matchWork, approved);
  const free = approved.filter(({ recordId }) => !taken.has(recordId));
  if (free.length > 0) {
    // Waiting creations would create a second contact.
    await tenant.outbox.abandon(
      target.id,
      free.map(({ recordId }) => recordId),
      plan,
    );
    await tenant.targetStore.write(target.id, { adoptedAt: null });
    lane.signal.throwIfAborted();
  }
  const failed = await existing.stamp(
    free.map(({ recordId, remoteId }): ContactStamp => {
      return { remoteId, as: { key: identity.key(recordId, 0), sealedRecordId: identity.sealedRecordId(recordId) } };
    }),
    signal,
  );
  const refused = [
    ...checks.flatMap(({ pair, why }) => (why === null || why === 'already' ? [] : [refusal(pair, why)])),
    ...approved.filter(({ recordId }) => taken.has(recordId)).map((pair) => refusal(pair, 'patient-has-contact')),
    ...free.flatMap((pair) => {
      const error = failed.get(pair.remoteId);
      return error === undefined ? [] : [refusal(pair, error.code)];
    }),
  ];
  const already = checks.filter(({ why }) => why === 'already').length;
  return { done: free.length - failed.size, already, refused };
}

/** Opens the target for writing. @returns patients with a managed contact but without a link */
async function prepare(matchWork: Work, approved: readonly ApprovedPair[]): Promise<Set<string>> {
  const { tenant, target, lane, signal } = matchWork;
  const { connector, identity } = target;
  await openContainer(tenant, target, lane, signal);
  const { container } = await tenant.targetStore.read(target.id);
  const recordOf = new Map(approved.map(({ recordId }) => [identity.key(recordId, 0), recordId]));
  const taken = new Set<string>();
  for (const keys of slices([...recordOf.keys()], AT_ONCE)) {
    for (const { key } of await connector.find(container ?? '', keys, signal)) taken.add(recordOf.get(key) ?? '');
  }
  return taken;
}

/** Returns the reason why a pair cannot be matched, or null. */
function checkPair(
  { target, crm }: Work,
  { recordId, remoteId, patientSeen, contactSeen }: ApprovedPair,
  { contacts, unmatched }: { contacts: ReadonlyMap<string, ExistingContact>; unmatched: ReadonlyMap<string, Patient> },
): MatchRefusal | 'already' | null {
  const contact = contacts.get(remoteId);
  if (contact !== undefined && isOf(target, recordId, contact)) return 'already';
  const patient = unmatched.get(recordId);
  if (patient === undefined) return 'patient-left-out';
  if (digestOf(patientAsPerson(patient, comparedProperties(crm))) !== patientSeen) return 'patient-changed';
  if (contact === undefined) return 'contact-gone';
  if (!contact.isFree) return 'contact-taken';
  return contactDigest(contact) === contactSeen ? null : 'contact-changed';
}

function isOf({ identity }: MatchableTarget['target'], recordId: string, { key }: ExistingContact): boolean {
  return key !== null && identity.idAttemptOf(recordId, key) !== null;
}

async function release(matchWork: Work) {
  const { tenant, target, existing, pairs, plan, lane, signal } = matchWork;
  const contacts = await readContacts(matchWork);
  const stateOf = ({ recordId, remoteId }: ApprovedPair) => {
    const contact = contacts.get(remoteId);
    if (contact === undefined) return 'contact-gone';
    if (contact.isFree) return 'already';
    return isOf(target, recordId, contact) ? null : 'contact-not-ours';
  };
  const states = pairs.map((pair) => ({ pair, why: stateOf(pair) }));
  const ours = states.filter(({ why }) => why === null).map(({ pair }) => pair);
  const failed = await existing.stamp(
    ours.map(({ remoteId }): ContactStamp => ({ remoteId, as: null })),
    signal,
  );
  const released = ours.filter(({ remoteId }) => !failed.has(remoteId)).map(({ recordId }) => recordId);
  await tenant.outbox.abandon(target.id, released, plan);
  await tenant.links.release(target.id, released, lane);
  const refused = [
    ...states.flatMap(({ pair, why }) => (why === null || why === 'already' ? [] : [refusal(pair, why)])),
    ...ours.flatMap((pair) => {
      const error = failed.get(pair.remoteId);
      return error === undefined ? [] : [refusal(pair, error.code)];
    }),
  ];
  return { done: released.length, already: states.filter(({ why }) => why === 'already').length, refused };
}

function refusal({ line, recordId: record }: ApprovedPair, why: string): MatchResult['refused'][number] {
  return { line, record, why };
}
