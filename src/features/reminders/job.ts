import type { OpenTenant } from '../../jobs/tenant.ts';
import type { Logger } from '../../log/logger.ts';
import { exponentialBackoffMs } from '../../model/backoff.ts';
import { asMirrorError, MirrorError } from '../../model/errors.ts';
import type { Agenda, Appointment, Location, Patient } from '../../model/records.ts';
import type { Correction, CorrectionKind, LedgerEntry } from '../../model/reminders.ts';
import type { Lookup } from '../../model/snapshots.ts';
import { type Instant, MINUTE_MS, SECOND_MS } from '../../model/time.ts';
import { appointmentIdOf, isShared } from '../../model/visits.ts';
import { STATE_WENT_BACK } from '../../state/state-counter.ts';
import type { Delivery, Reminder } from './channels/channel.ts';
import { type ContentInput, contentOf, findDisclosedFact, namesAddress } from './content.ts';
import { heldReasonOf, recordOutcome, stillFalse } from './corrections.ts';
import type { AddressHash } from './opt-outs.ts';
import { comparableAddress, locationOf } from './places.ts';
import type { OpenChannel, OpenReminders } from './ports.ts';
import { addressOf } from './recipients.ts';
import type { ReminderRule } from './rules.ts';
import { deadlineOf, decideByAppointment, decideByPatient, decideByTime } from './rules.ts';
import { dropped, isForInactive, nextHour, SOURCE_RETRY_MS, type Step, sourceStep, stepOf, unclear } from './steps.ts';
import type { Claim } from './store.ts';

/** Time limit for clinic query and delivery, so that no claim of a live worker expires. */
const READING_MS = 30 * SECOND_MS;
const SENDING_MS = 80 * SECOND_MS;
/** Delay between delivery attempts, doubled each time, at most 15 minutes. */
const CHANNEL_BACKOFF = { firstMs: 30 * SECOND_MS, longestMs: 15 * MINUTE_MS };
/** Delay between checks of whether decisions are persisted and uncertainty has ended. */
const DURABLE_RETRY_MS = 30 * SECOND_MS;
const UNCERTAINTY_RETRY_MS = 5 * MINUTE_MS;

/** Data for delivering a reminder. */
interface Ready {
  reminder: Reminder;
  channel: OpenChannel;
  rule: ReminderRule;
  /** Keyed hash of the recipient; null if the channel needs no contact data. */
  recipient: AddressHash | null;
  /** Keyed hashes of the patient, and of the location in the text. */
  proofs: { patientProof: string; locationProof: string | null };
}

/** Members of a tenant that one step of a reminder uses. */
interface ReminderStep
  extends Pick<OpenTenant, 'clinic' | 'clock' | 'configuration' | 'id' | 'log' | 'outages' | 'protection'> {}

/**
 * Processes one reminder with present clinic data: delivers, drops or reschedules the reminder. Safe to run twice, in parallel, and to
 * interrupt anywhere. A possibly delivered reminder is not delivered again, unless the receiver recognises repeated ids.
 */
export async function remind(
  tenant: ReminderStep & Pick<OpenTenant, 'reminders'>,
  id: string,
  { stop, abort }: { stop: AbortSignal; abort: AbortSignal },
): Promise<void> {
  const { reminders } = tenant;
  if (reminders === null || stop.aborted) return;
  const claim = await reminders.ledger.claim(id);
  if (claim === null) return;
  if ('busyMs' in claim) return reminders.alarms.set([{ id, wakeAt: tenant.clock() + claim.busyMs }]);
  const step = await take(tenant, reminders, claim, abort);
  await finish(tenant, reminders, claim, step);
}

/** Returns the step of one claim. Throws only for Redis errors; the claim then expires, and the ledger contains the progress. */
async function take(tenant: ReminderStep, reminders: OpenReminders, claim: Claim, abort: AbortSignal): Promise<Step> {
  const { entry } = claim;
  // The name is a keyed hash, so that an attacker with only Redis access cannot send messages.
  if (reminders.name(entry) !== entry.id) return dropped('record-forged');
  const channel = reminders.channels.get(entry.channel);
  // The worker stopped during delivery, so the result is unknown.
  if (entry.state === 'sending' && channel?.deduplicates !== true) return unclear('worker-died');
  const ready = await prepare(tenant, reminders, claim, within(READING_MS, abort));
  if (!('reminder' in ready)) return entry.state === 'sending' ? onlyRepeat(ready) : ready;
  const step = await handOver(tenant, reminders, claim, { ready, abort });
  return entry.state === 'sending' ? onlyRepeat(step) : step;
}

/** Stores the intent, delivers, and returns the result. */
async function handOver(
  tenant: Pick<OpenTenant, 'clock' | 'id' | 'log' | 'outages' | 'protection'>,
  reminders: OpenReminders,
  claim: Claim,
  { ready, abort }: { ready: Ready; abort: AbortSignal },
): Promise<Step> {
  const { entry } = claim;
  if ((await reminders.ledger.closingOf(entry.channel)) !== null) return dropped('channel-gone');
  // Opt-outs or erasures may be unknown: the reminder waits within its grace period.
  const uncertainty = await tenant.protection.uncertainty();
  if (uncertainty !== null)
    return { wakeAt: tenant.clock() + UNCERTAINTY_RETRY_MS, code: uncertainty.code, notSent: true };
  const intent = await reminders.ledger.intend(claim, {
    now: tenant.clock(),
    maxPerHour: reminders.file.maxPerHour,
    mayRepeat: ready.channel.deduplicates,
    recipient: ready.recipient,
    ...ready.proofs,
  });
  if (intent === 'lost') return { wakeAt: tenant.clock(), code: null, notSent: false };
  if (intent === 'opted-out') return dropped('opted-out');
  if (intent === 'limit') return nextHour(tenant.clock(), deadlineOf(entry, ready.rule));
  const stop = await madeSure(reminders, claim, ready, tenant.clock());
  if (stop !== null) return stop;
  const { delivery, longestMs } = await tenant.outages.watch(async () => {
    const came = await deliver(ready, tenant.log, within(SENDING_MS, abort));
    const failed = came.result === 'later' || came.result === 'unknown' ? came : null;
    const other = { kind: 'channel', id: ready.channel.id } as const;
    // The reminder's result is stored even if Redis refuses the outage.
    const recorded = tenant.outages.recordOther(tenant.id, other, failed).catch(() => ({ longestMs: null }));
    return { delivery: came, longestMs: (await recorded).longestMs };
  });
  if (delivery.result === 'refused') await remember(tenant, reminders, ready, delivery);
  return afterDelivery(delivery, claim, { ...ready, longestMs }, tenant.clock());
}

/** @returns the step instead of delivery; null if the intent is persisted */
async function madeSure(
  reminders: OpenReminders,
  { entry }: Claim,
  { channel }: Ready,
  now: Instant,
): Promise<Step | null> {
  let wentBackAt: Instant;
  try {
    wentBackAt = await reminders.confirm();
  } catch (error) {
    return { wakeAt: now + DURABLE_RETRY_MS, code: asMirrorError(error).code, notSent: true };
  }
  // The lost decisions may include the delivery of this reminder.
  return entry.dueAt <= wentBackAt && !channel.deduplicates ? unclear(STATE_WENT_BACK) : null;
}

function within(durationMs: number, abort: AbortSignal): AbortSignal {
  return AbortSignal.any([abort, AbortSignal.timeout(durationMs)]);
}

/** Stores refusals that apply to the patient or channel, for all later reminders. */
async function remember(
  { clock, log }: Pick<OpenTenant, 'clock' | 'log'>,
  { optOuts, ledger }: OpenReminders,
  { channel, recipient }: Ready,
  { optedOut, channelGone, code }: Extract<Delivery, { result: 'refused' }>,
): Promise<void> {
  if (optedOut && recipient !== null) await optOuts.add(recipient, { source: 'refused', at: clock() });
  if (!channelGone) return;
  await ledger.closeChannel(channel.id, { code, at: clock() });
  log.error(
    { channel: channel.id, code },
    'channel is gone: reminders are dropped until an operator reopens the channel',
  );
}

/** A possibly delivered reminder may only wait, or end as unknown. */
function onlyRepeat(step: Step): Step {
  if ('wakeAt' in step) return { ...step, notSent: false };
  return step.finish.state === 'dropped' ? unclear(step.finish.reason) : step;
}

async function finish(
  tenant: Pick<OpenTenant, 'clock' | 'id' | 'log'>,
  reminders: OpenReminders,
  claim: Claim,
  step: Step,
): Promise<void> {
  const { id, dueAt, rule, channel } = claim.entry;
  const now = tenant.clock();
  if ('wakeAt' in step) {
    if (await reminders.ledger.postpone(claim, step)) await reminders.alarms.set([{ id, wakeAt: step.wakeAt }]);
    return;
  }
  if (!(await reminders.ledger.finish(claim, step.finish, now))) return;
  const { state } = step.finish;
  const reason = state === 'dropped' ? step.finish.reason : null;
  const code = state === 'sent' ? null : step.finish.code;
  const isOver = state === 'sent' || isForInactive({ ...claim.entry, state, lastCode: code });
  await recordOutcome(reminders, claim.entry, isOver ? 'sent' : (reason ?? 'unclear'), now);
  if (state === 'sent') reminders.observeLag(tenant.id, now - dueAt);
  const level =
    state === 'unknown' || reason === 'record-forged' || reason === 'channel-failed' || reason === 'hourly-limit'
      ? 'warn'
      : 'info';
  tenant.log[level]({ reminder: id, rule, channel, state, reason }, 'reminder finished');
}

/** Checks all conditions of a delivery. Returns the step if a condition fails. */
async function prepare(
  tenant: Pick<OpenTenant, 'clinic' | 'clock' | 'configuration' | 'id'>,
  reminders: OpenReminders,
  { entry }: Claim,
  signal: AbortSignal,
): Promise<Ready | Step> {
  const rule = reminders.rules.rules.get(entry.rule);
  const channel = reminders.channels.get(entry.channel);
  if (rule === undefined || channel === undefined || !rule.channels.includes(entry.channel))
    return dropped('rule-gone');
  const inTime = decideByTime(entry, rule, reminders.rules.quiet, tenant.clock());
  if (inTime.do !== 'send') return stepOf(inTime);
  // Facts of the message are uncertain, both for the correction and for a reminder of the same time.
  const heldReason = await heldReasonOf(reminders, entry.appointmentId, tenant.clock());
  if (heldReason !== null) return { wakeAt: tenant.clock() + UNCERTAINTY_RETRY_MS, code: heldReason, notSent: true };
  let source: Source;
  try {
    source = await readSource(tenant, channel, entry.appointmentId, signal);
  } catch (error) {
    return sourceStep(asMirrorError(error), entry.dueAt, reminders, tenant.clock());
  }
  const decision = decideByAppointment(entry, rule, source.appointment);
  if (decision.do !== 'send') return stepOf(decision);
  if (source.patient !== null) {
    const allowed = decideByPatient(source.patient, channel.consent);
    if (allowed.do !== 'send') return stepOf(allowed);
  }
  // Reads take time, so quiet hours may have begun.
  const stillInTime = decideByTime(entry, rule, reminders.rules.quiet, tenant.clock());
  if (stillInTime.do !== 'send') return stepOf(stillInTime);
  const correction = await correctionNow(tenant, reminders, entry, source);
  if (correction !== null && !('kind' in correction)) return correction;
  return address(tenant, reminders, { rule, channel, source, entry, correction });
}

/** Compares a correction again. Returns null for a reminder, and a step for an outdated correction. */
async function correctionNow(
  tenant: Pick<OpenTenant, 'clock' | 'configuration'>,
  reminders: OpenReminders,
  entry: LedgerEntry,
  source: Source,
): Promise<NonNullable<ContentInput['correction']> | Step | null> {
  if (entry.correction === null) return null;
  if (!('found' in source.appointment)) return dropped('vanished');
  const appointment = source.appointment.found;
  const location = locationOf(appointment, source);
  const zone = location?.zone ?? tenant.configuration.zone;
  const found = await stillFalse(reminders, entry, { appointment, zone, address: location?.address ?? null });
  if (found === 'waits') return { wakeAt: tenant.clock() + SOURCE_RETRY_MS, code: null, notSent: true };
  return typeof found === 'string'
    ? dropped(found)
    : { kind: wordsOf(entry.correction, found.sent), sentTime: found.sent };
}

/** Returns the text kind of a correction. A patient notified of a cancellation receives the reminder text. */
function wordsOf({ kind }: Correction, disclosed: LedgerEntry): CorrectionKind {
  return kind === 'moved' && disclosed.correction?.kind === 'cancelled' ? 'changed' : kind;
}

/** Present clinic data. */
interface Source {
  appointment: Lookup<Appointment>;
  /** Null if the channel needs no patient data. */
  patient: Lookup<Patient> | null;
  agendas: ReadonlyMap<string, Agenda>;
  locations: ReadonlyMap<string, Location>;
}

async function readSource(
  tenant: Pick<OpenTenant, 'clinic'>,
  channel: OpenChannel,
  appointmentId: string,
  signal: AbortSignal,
): Promise<Source> {
  const { clinic } = tenant;
  const agendas = new Map((await clinic.agendas(signal)).map((agenda) => [agenda.id, agenda]));
  const locations = new Map((await clinic.locations(signal)).map((location) => [location.id, location]));
  const appointment = await clinic.readAppointment(appointmentId, signal);
  const patientId = 'found' in appointment ? appointment.found.patientId : null;
  if (patientId === null || !channel.readsPatient) {
    return { appointment, patient: null, agendas, locations };
  }
  const named = await clinic.readPatient(patientId, signal);
  const remainingId = 'absent' in named ? named.mergedInto : undefined;
  const patient = remainingId === undefined ? named : await clinic.readPatient(remainingId, signal);
  return { appointment, patient, agendas, locations };
}

/** Finds the patient's contact data for the channel, and writes the text. */
async function address(
  tenant: Pick<OpenTenant, 'configuration' | 'id'>,
  reminders: OpenReminders,
  {
    rule,
    channel,
    source,
    entry,
    correction,
  }: {
    rule: ReminderRule;
    channel: OpenChannel;
    source: Source;
    entry: LedgerEntry;
    correction: ContentInput['correction'];
  },
): Promise<Ready | Step> {
  if (!('found' in source.appointment)) return dropped('vanished');
  // A cancellation notice contains the announced time.
  const { id, zone, startAt } = entry;
  const appointment = source.appointment.found;
  const { patientId } = appointment;
  const patient = source.patient !== null && 'found' in source.patient ? source.patient.found : null;
  const { phoneRegion } = reminders.file;
  const email = addressOf('email', patient, phoneRegion);
  const phone = addressOf('phone', patient, phoneRegion);
  let recipientHash: AddressHash | null = null;
  if (channel.needs !== 'nothing') {
    const reachedAt = channel.needs === 'email' ? email : phone;
    if (reachedAt === null) return dropped('no-address');
    recipientHash = reminders.optOuts.hashOf(channel.needs, reachedAt);
  }
  const endAt = startAt + appointment.time.endAt - appointment.time.startAt;
  const location = locationOf(appointment, source);
  const { name, language } = tenant.configuration;
  const input: ContentInput = {
    rule,
    file: reminders.file,
    language,
    clinic: name,
    startAt,
    zone,
    location,
    patient,
    link:
      correction?.kind === 'cancelled' || isShared(appointment)
        ? null
        : ((await reminders.answers?.linkFor({ reminder: id, patientId, startAt })) ?? null),
    correction,
  };
  const content = contentOf(input);
  const disclosed = findDisclosedFact(content, input);
  if (disclosed !== null) return dropped('egress-stopped', `egress-${disclosed}`);
  const reminder: Reminder = {
    id,
    tenant: tenant.id,
    rule: rule.id,
    appointment: { id: appointmentIdOf(appointment.id), agendaId: appointment.agendaId, startAt, endAt, zone },
    recipient: { patientId, email, phone },
    content,
    correction: entry.correction?.kind ?? null,
  };
  const address = comparableAddress(location?.address ?? null);
  const proofs = {
    patientProof: reminders.proofs.patient(id, patientId),
    locationProof: namesAddress(input) ? reminders.proofs.locationProof(appointment.id, address) : null,
  };
  return { reminder, channel, rule, recipient: recipientHash, proofs };
}

/** Channels throw only for errors that require action before delivery. Other errors are unclear. */
async function deliver({ reminder, channel }: Ready, log: Logger, signal: AbortSignal): Promise<Delivery> {
  try {
    return await channel.channel.send(reminder, signal);
  } catch (error) {
    const failure = asMirrorError(error);
    const isBefore =
      error instanceof MirrorError && !failure.ambiguous && ['settings', 'authorization'].includes(failure.actor);
    if (isBefore) {
      const { code, remedy, retryAfterMs = null } = failure;
      log.error({ channel: channel.id, code, remedy }, 'channel needs an administrator: reminders wait');
      return { result: 'later', code, retryAfterMs };
    }
    return { result: 'unknown', code: failure.code };
  }
}

function afterDelivery(
  delivery: Delivery,
  { entry }: Claim,
  { channel, rule, longestMs }: Ready & { longestMs: number | null },
  now: Instant,
): Step {
  const own = exponentialBackoffMs(CHANNEL_BACKOFF, entry.attempts);
  const retryMs = Math.min(own, longestMs ?? own);
  switch (delivery.result) {
    case 'sent':
      return { finish: { state: 'sent', reference: delivery.reference } };
    case 'refused':
      // An unusable address is found before any call of the gateway.
      if (delivery.code === 'address-invalid') return dropped('address-invalid', delivery.code);
      return dropped(
        delivery.channelGone ? 'channel-gone' : delivery.optedOut ? 'opted-out' : 'refused',
        delivery.code,
      );
    case 'later': {
      const wakeAt = now + Math.max(delivery.retryAfterMs ?? 0, retryMs);
      if (wakeAt > deadlineOf(entry, rule)) return dropped('channel-failed', delivery.code);
      return { wakeAt, code: delivery.code, notSent: entry.state === 'planned' };
    }
    case 'unknown': {
      const wakeAt = now + retryMs;
      if (!channel.deduplicates || wakeAt > deadlineOf(entry, rule)) return unclear(delivery.code);
      return { wakeAt, code: delivery.code, notSent: false };
    }
  }
}
