import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import { asMirrorError, MirrorError } from '../model/errors.ts';
import type { Hold, PendingChange } from '../model/plan.ts';
import type { Appointment } from '../model/records.ts';
import { hasPassed, type Instant } from '../model/time.ts';
import { fieldsByHand } from '../sync/audit.ts';
import { windowOf } from '../sync/followed.ts';
import { type Exclusion, exclusionOf } from '../sync/mapping-sources.ts';
import { type LastCycle, type TargetWay, wayOf } from './appointment-way.ts';
import { type Installation, requireTenant } from './installation.ts';
import type { DriftPolicy } from './status-view.ts';

/** What the clinic says of the appointment now. */
export type SourceView =
  | { state: 'there'; status: string; agenda: string; startAt: Instant; updatedAt: Instant | null }
  | { state: 'absent' }
  | { state: 'unusable'; code: string; field: string }
  | { state: 'unknown'; code: string; message: string };

/** Why the appointment is, or is not, in one target. */
export interface TargetExplanation {
  target: string;
  connector: string;
  /** Whether it should be shown there, and the rule that says so: its code, and in words. */
  decision: { shown: boolean; code: DecisionCode; because: string };
  /** What the target was last given; null when nothing. */
  link: { startAt: Instant; epoch: number; remoteId: string } | null;
  /** What a person did to its object, and what is done about that; null when nothing is known. */
  byHand: { done: 'edited' | 'removed'; fields: string[]; policy: DriftPolicy } | null;
  pending: Pick<
    PendingChange,
    'reason' | 'want' | 'attempts' | 'lastError' | 'about' | 'parked' | 'enqueuedAt' | 'dueAt'
  > | null;
  holds: Pick<Hold, 'id' | 'kind' | 'state'>[];
  failure: string | null;
  /** The rest of its way: what it was compared with, what was written, and what was read back. */
  way: TargetWay;
}

/** One appointment's whole story, without its contents. */
export interface Explanation {
  tenant: string;
  appointment: string;
  /** The clinic's answer for this appointment alone. */
  source: SourceView;
  /** When it was asked. */
  askedAt: Instant;
  /** The last cycle, which read all; null before the first. */
  lastCycle: LastCycle | null;
  targets: TargetExplanation[];
}

/** Why an appointment is shown in a target, or is not. */
export const DECISIONS = {
  'tenant-paused': 'the tenant is paused',
  'target-paused': 'the target is paused',
  absent: 'the clinic has no such appointment',
  unread: 'the clinic could not be asked, or its answer could not be used',
  forgotten: 'an operator had its patient forgotten',
  agenda: 'its agenda does not feed this target',
  treatment: 'the target does not show its treatment',
  'blocked-time': 'the target does not show blocked time',
  status: 'the target does not show its status',
  'before-window': 'it lies before the window: what was written stays',
  'beyond-window': 'it lies beyond the window: it is written when it comes nearer',
  pinned: "an undo put it back, whatever the target's rules say",
  'of-contact': "it passes this target's rules; its patient must be held by the target of contacts too: see health",
  shown: 'its agenda feeds this target, its status is shown, and it lies in the window',
} satisfies Record<Exclusion, string> & Record<string, string>;

/** Such a reason. */
export type DecisionCode = keyof typeof DECISIONS;

/** Reads the appointment alone and everything that we hold of it. */
export async function explain(
  installation: Installation,
  tenantId: string,
  recordId: string,
  signal: AbortSignal,
): Promise<Explanation> {
  const tenant = requireTenant(installation, tenantId);
  const { source, appointment } = await readSource(tenant, recordId, signal);
  const holds = await tenant.holds.list();
  const followers = [...tenant.targets.values()].filter(({ stream }) => stream === 'appointments');
  const targets = followers.map((target) => explainTarget(tenant, target, recordId, { source, appointment, holds }));
  const [last] = await tenant.runs.list(1);
  return {
    ...{ tenant: tenantId, appointment: recordId, source, askedAt: tenant.clock() },
    lastCycle:
      last === undefined
        ? null
        : {
            ...{ run: last.id, startedAt: last.startedAt },
            ...{ completeness: last.snapshot?.completeness ?? null, error: last.error?.code ?? null },
          },
    targets: await Promise.all(targets),
  };
}

/** What the clinic says of an appointment at this moment; a clinic that can't be asked is an answer too. */
export async function readSource(
  tenant: Pick<OpenTenant, 'clinic'>,
  recordId: string,
  signal: AbortSignal,
): Promise<{ source: SourceView; appointment: Appointment | null }> {
  try {
    const answer = await tenant.clinic.readAppointment(recordId, signal);
    if ('absent' in answer) return { source: { state: 'absent' }, appointment: null };
    if ('setAside' in answer) {
      const { code, field } = answer.setAside;
      return { source: { state: 'unusable', code, field }, appointment: null };
    }
    const { found } = answer;
    const { status, agendaId, updatedAt } = found;
    const source = { state: 'there', status, agenda: agendaId, startAt: found.time.startAt, updatedAt } as const;
    return { source, appointment: found };
  } catch (error) {
    if (signal.aborted || !(error instanceof MirrorError)) throw error;
    const { code, message } = asMirrorError(error);
    return { source: { state: 'unknown', code, message }, appointment: null };
  }
}

async function explainTarget(
  tenant: Pick<OpenTenant, 'clock' | 'configuration' | 'journal' | 'links' | 'outbox' | 'targetStore' | 'tombstones'>,
  target: OpenTarget,
  recordId: string,
  { source, appointment, holds }: { source: SourceView; appointment: Appointment | null; holds: readonly Hold[] },
): Promise<TargetExplanation> {
  const isForgotten = (await tenant.tombstones.load())(appointment?.patientId ?? '');
  const [links, pending, record, pinned] = await Promise.all([
    tenant.links.readSome(target.id, [recordId]),
    tenant.outbox.pendingOf(target.id, recordId),
    tenant.targetStore.read(target.id),
    tenant.journal.pinned(target.id, tenant.clock()),
  ]);
  const link = links.get(recordId);
  return {
    target: target.id,
    connector: target.configuration.connector,
    decision: decide(tenant, target, { source, appointment }, { isPinned: pinned.has(recordId), isForgotten }),
    link:
      link === undefined
        ? null
        : {
            startAt: link.startAt,
            epoch: link.epoch,
            remoteId: link.remoteId ?? target.identity.key(recordId, link.epoch),
          },
    byHand:
      link === undefined || link.drift === null
        ? null
        : { done: link.drift, fields: fieldsByHand(link, target.identity), policy: target.configuration.audit.drift },
    pending,
    holds: holds.filter((hold) => hold.target === target.id && hold.recordIds.includes(recordId)),
    failure: record.failure === null ? null : record.failure.code,
    way: await wayOf(tenant, target, recordId, {
      clinic: source.state === 'there' ? source : source.state === 'absent' ? 'absent' : null,
      ...{ link: link ?? null, pending, stored: record },
    }),
  };
}

function decide(
  tenant: Pick<OpenTenant, 'clock' | 'configuration'>,
  target: OpenTarget,
  { source, appointment }: { source: SourceView; appointment: Appointment | null },
  { isPinned, isForgotten }: { isPinned: boolean; isForgotten: boolean },
): TargetExplanation['decision'] {
  const no = (code: DecisionCode, because: string = DECISIONS[code]) => ({ shown: false, code, because });
  const yes = (code: DecisionCode, because: string = DECISIONS[code]) => ({ shown: true, code, because });
  if (tenant.configuration.paused) return no('tenant-paused');
  if (target.configuration.paused) return no('target-paused');
  if (source.state === 'absent') return no('absent');
  if (appointment === null) return no('unread');
  if (isForgotten) return no('forgotten');
  const { statuses } = target.configuration;
  const exclusion = isPinned ? null : exclusionOf(appointment, target.configuration);
  if (exclusion !== null) return no(exclusion);
  const isStatusShown = statuses.includes(appointment.status) || (isPinned && appointment.status !== 'cancelled');
  if (!isStatusShown) return no('status', `the target does not show the status ${appointment.status}`);
  const window = windowOf(target, tenant.clock());
  if (hasPassed(appointment.time, window)) return no('before-window');
  if (appointment.time.startAt >= window.toAt) return no('beyond-window');
  if (isPinned) return yes('pinned');
  if (target.crm === null) return yes('shown');
  const contacts = target.configuration.crm?.contacts;
  return yes('of-contact', `it passes this target's rules; its patient must be held by ${contacts} too: see health`);
}
