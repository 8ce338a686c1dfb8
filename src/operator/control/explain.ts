import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import type { Link } from '../../core/model/operations.ts';
import type { Hold, PendingChange } from '../../core/model/plan.ts';
import { type Appointment, belongsTo } from '../../core/model/records.ts';
import type { SourceView } from '../../core/model/schemas.ts';
import { type Clock, hasPassed, type Instant } from '../../core/model/time.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import { exclusionOf, windowOf } from '../../domain/mapping-sources.ts';
import { fieldsByHand } from '../../engine/audit.ts';
import { auditRules, withheldIn } from '../../engine/policy.ts';
import type { ChangeTable, ErasedPersons, LinkTable, StoredTarget, TargetTable } from '../../engine/store.ts';
import { type Message, message, render } from '../../messages/message.ts';
import type { Journal } from '../../state/journal.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import { type Installation, requireTenant } from './installation.ts';
import {
  DECISIONS,
  type DecisionCode,
  type Explanation,
  type TargetExplanation,
  type TargetWay,
} from './record-schemas.ts';
import { agendaNameOf, targetNamesOf } from './target-names.ts';

/** Known state of an appointment and its object. */
interface AppointmentState {
  /** Present clinic state: start time, `absent`, or null if unknown. */
  clinic: { startAt: Instant } | 'absent' | null;
  link: Link | null;
  pending: PendingChange | null;
}

/** Members of a tenant that the explanation of an appointment in one target is computed from. */
interface ExplanationSource {
  clock: Clock;
  configuration: { paused: boolean };
  journal: Journal;
  links: LinkTable;
  outbox: ChangeTable;
  targetStore: TargetTable;
  tombstones: { load(): Promise<ErasedPersons> };
}

/** Gathers the evidence without querying clinic or target. */
async function wayOf(
  tenant: ExplanationSource,
  target: OpenTarget,
  recordId: string,
  state: AppointmentState & { stored: StoredTarget },
): Promise<TargetWay> {
  const { link, stored } = state;
  const [changes, unseen] = await Promise.all([
    tenant.journal.linesOf(target.id, recordId, tenant.clock()),
    tenant.links.unseen(target.id),
  ]);
  const writtenAt = unseen.get(recordId) ?? changes[0]?.at ?? null;
  const readAt = stored.drift?.checkedAt ?? null;
  const isSeen = readAt !== null && !unseen.has(recordId) && (writtenAt === null || writtenAt <= readAt);
  return {
    compared: { at: stored.lastPlannedAt, ...comparisonOf(target, state) },
    written: { at: writtenAt, version: link?.versionTag ?? null, revision: link?.revision ?? null, changes },
    readBack: { at: readAt, covers: link === null ? null : isSeen },
  };
}

function comparisonOf(
  { identity }: Pick<OpenTarget, 'identity'>,
  { clinic, link, pending }: AppointmentState,
): Pick<TargetWay['compared'], 'found' | 'fields'> {
  if (pending?.want === 'absent') return { found: 'removal', fields: [] };
  if (pending !== null && link === null) return { found: 'new', fields: [] };
  if (pending !== null && link !== null) {
    return { found: 'differs', fields: identity.differingFields(link.fingerprint, pending.fingerprint ?? '') };
  }
  if (link === null) return { found: 'none', fields: [] };
  if (clinic === 'absent') return { found: 'gone', fields: [] };
  if (clinic === null) return { found: 'unread', fields: [] };
  const isNewer = Math.floor(clinic.startAt / 1_000) !== Math.floor(link.startAt / 1_000);
  return isNewer ? { found: 'newer', fields: ['time'] } : { found: 'same', fields: [] };
}

/** Reads the appointment from the clinic, and its complete stored state. */
export async function explain(
  installation: Installation,
  tenantId: string,
  recordId: string,
  signal: AbortSignal,
): Promise<Explanation> {
  const tenant = requireTenant(installation, tenantId);
  const { source, appointment } = await readSource(tenant, recordId, signal);
  if (appointment !== null) await readNames(tenant, signal);
  const names = targetNamesOf(tenant);
  const holds = await tenant.holds.list();
  const followers = [...tenant.targets.values()].filter(({ stream }) => stream === 'appointments');
  const targets = followers.map(async (target) => ({
    ...(await explainTarget(tenant, target, recordId, { source, appointment, holds })),
    name: names.get(target.id)?.name ?? target.id,
  }));
  const [last] = await tenant.runs.list(1);
  return {
    ...{ tenant: tenantId, appointment: recordId, source, askedAt: tenant.clock() },
    doctor: appointment === null ? null : agendaNameOf(tenant, appointment.agendaId),
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

/** Reads the agendas, which each process caches for an hour. Names are optional: a list that cannot be read leaves ids. */
async function readNames({ clinic }: { clinic: ClinicSource }, signal: AbortSignal): Promise<void> {
  try {
    await clinic.agendas(signal);
  } catch (error) {
    if (signal.aborted || !(error instanceof MirrorError)) throw error;
  }
}

/** Returns the present clinic state of an appointment. An unreachable clinic is also a valid result. */
export async function readSource(
  { clinic }: { clinic: ClinicSource },
  recordId: string,
  signal: AbortSignal,
): Promise<{ source: SourceView; appointment: Appointment | null }> {
  try {
    const answer = await clinic.readAppointment(recordId, signal);
    if ('absent' in answer) return { source: { state: 'absent' }, appointment: null };
    if ('unusable' in answer) {
      const { code, field } = answer.unusable;
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
  tenant: ExplanationSource,
  target: OpenTarget,
  recordId: string,
  { source, appointment, holds }: { source: SourceView; appointment: Appointment | null; holds: readonly Hold[] },
): Promise<Omit<TargetExplanation, 'name'>> {
  const isForgotten = (await tenant.tombstones.load())(appointment?.patientId ?? '');
  const [links, pending, record, pinned] = await Promise.all([
    tenant.links.readSome(target.id, [recordId]),
    tenant.outbox.pendingOf(target.id, recordId),
    tenant.targetStore.read(target.id),
    tenant.journal.pinned(target.id, tenant.clock()),
  ]);
  const link = links.get(recordId);
  const isPinned = pinned.has(recordId);
  const held = holds.filter((hold) => hold.target === target.id && hold.recordIds.includes(recordId));
  const way = await wayOf(tenant, target, recordId, {
    clinic: source.state === 'there' ? source : source.state === 'absent' ? 'absent' : null,
    ...{ link: link ?? null, pending, stored: record },
  });
  const isStored = link !== undefined || pending !== null || held.length > 0 || way.written.changes.length > 0;
  const isOfAgenda = appointment !== null && belongsTo(appointment, target.configuration.agendas) !== false;
  return {
    target: target.id,
    isConcerned: isOfAgenda || isPinned || isStored,
    connector: target.configuration.connector,
    decision: decide(tenant, target, { source, appointment }, { isPinned, isForgotten }),
    link:
      link === undefined
        ? null
        : {
            startAt: link.startAt,
            idAttempt: link.idAttempt,
            remoteId: link.remoteId ?? target.identity.key(recordId, link.idAttempt),
            ...(link.unmarked === true ? { unmarked: true } : {}),
          },
    byHand:
      link === undefined || link.drift === null
        ? null
        : {
            done: link.drift,
            fields: fieldsByHand(link, target.identity),
            policy: auditRules(target.configuration).drift,
          },
    pending,
    holds: held,
    failure: record.failure === null ? null : record.failure.code,
    ...withheldOf(target, record, recordId),
    way,
  };
}

function withheldOf(target: OpenTarget, record: StoredTarget, recordId: string): Pick<TargetExplanation, 'withheld'> {
  const { policy } = target.configuration;
  const { notRemoved, notUpdated } = withheldIn(target, record);
  if (policy === 'sync') return {};
  if (notRemoved.includes(recordId)) return { withheld: { policy, change: 'delete' } };
  return notUpdated.includes(recordId) ? { withheld: { policy, change: 'update' } } : {};
}

/** Decides by the rules of a target whether it shows an appointment. */
export function decide(
  { clock, configuration }: { clock: Clock; configuration: { paused: boolean } },
  target: OpenTarget,
  { source, appointment }: { source: SourceView; appointment: Appointment | null },
  { isPinned, isForgotten }: { isPinned: boolean; isForgotten: boolean },
): TargetExplanation['decision'] {
  const no = (code: DecisionCode, text: Message = DECISIONS[code]) => ({ shown: false, code, because: render(text) });
  const yes = (code: DecisionCode, text: Message = DECISIONS[code]) => ({ shown: true, code, because: render(text) });
  if (configuration.paused) return no('tenant-paused');
  if (target.configuration.paused) return no('target-paused');
  if (source.state === 'absent') return no('absent');
  if (appointment === null) return no('unread');
  if (isForgotten) return no('forgotten');
  const { statuses } = target.configuration;
  const exclusion = isPinned ? null : exclusionOf(appointment, target.configuration);
  if (exclusion !== null) return no(exclusion);
  const isStatusShown = statuses.includes(appointment.status) || (isPinned && appointment.status !== 'cancelled');
  if (!isStatusShown) return no('status', message('decision.status-named', { status: appointment.status }));
  const window = windowOf(target, clock());
  if (hasPassed(appointment.time, window)) return no('before-window');
  if (appointment.time.startAt >= window.toAt) return no('beyond-window');
  if (target.crm !== null && appointment.patientIds !== undefined) return no('several-patients');
  if (isPinned) return yes('pinned');
  if (target.crm === null) return yes('shown');
  const { contacts = '' } = target.configuration.crm ?? {};
  return yes('of-contact', message('decision.of-contact-named', { contacts }));
}
