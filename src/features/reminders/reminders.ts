import { MirrorError } from '../../core/model/errors.ts';
import type { Appointment } from '../../core/model/records.ts';
import type { AddressKind, LedgerEntry, PlannedReminder } from '../../core/model/reminders.ts';
import type { Instant } from '../../core/model/time.ts';
import { visitsOf } from '../../core/model/visits.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import { message } from '../../messages/message.ts';
import { readSource } from '../../operator/control/explain.ts';
import { type Installation, requireTenant, settingsLocation } from '../../operator/control/installation.ts';
import { mobileNumber } from './content.ts';
import { localDay } from './due.ts';
import { type LocationCatalogue, locationOf } from './places.ts';
import { resumeReminders } from './plan.ts';
import type { OpenReminders, RemindedTenant } from './ports.ts';
import { lateness, longestAheadMs, type ReminderDecision, remindersFor } from './rules.ts';
import type {
  DeliveryReport,
  ReminderExplanation,
  ReminderLine,
  ReminderList,
  ReplyList,
  RuleView,
} from './schemas.ts';

/** Returns the replies of patients. Patient data. @throws MirrorError `settings`, code `no-reminders` */
export async function listReplies(installation: Installation, tenantId: string): Promise<ReplyList> {
  const { tenant, reminders } = requireReminders(installation, tenantId);
  return { tenant: tenantId, replies: await reminders.replies.list(tenant.clock()) };
}

/** Deletes a reply. @throws MirrorError `settings`, code `no-reminders` */
export async function endReply(installation: Installation, tenantId: string, id: string) {
  return { changed: await requireReminders(installation, tenantId).reminders.replies.end(id) };
}

/** Returns planned and active reminders from the ledger. @throws MirrorError `settings`, code `no-reminders` */
export async function upcomingReminders(installation: Installation, tenantId: string): Promise<ReminderList> {
  const { reminders } = requireReminders(installation, tenantId);
  const open = (await reminders.ledger.open()).sort((one, other) => one.dueAt - other.dueAt);
  return { tenant: tenantId, day: null, complete: true, reminders: await linesOf(reminders, open) };
}

/**
 * Returns the reminders due on a local day from present clinic data, including days not planned yet. Plans no reminders.
 * @param day `YYYY-MM-DD`; null for tomorrow
 * @throws MirrorError `settings`, code `bad-day`
 */
export async function previewDay(
  installation: Installation,
  tenantId: string,
  day: string | null,
  signal: AbortSignal,
): Promise<ReminderList> {
  const { tenant, reminders } = requireReminders(installation, tenantId);
  const now = tenant.clock();
  const span = daySpan(day, now, tenant.configuration.zone);
  const window = { fromAt: span.fromAt, toAt: span.toAt + longestAheadMs(reminders.rules) };
  const catalogue = await readLocations(tenant.clinic, signal);
  const snapshot = await tenant.clinic.readAppointments({ agendaIds: null, window }, signal);
  const isForgotten = await tenant.tombstones.load();
  const followed = [...snapshot.records.values()]
    .flatMap(visitsOf)
    .filter(({ patientId }) => !isForgotten(patientId ?? ''));
  const due = followed.flatMap((appointment) =>
    decisionsFor(reminders, appointment, tenant.configuration.zone, catalogue).flatMap((decision) =>
      'reminder' in decision && span.fromAt <= decision.reminder.dueAt && decision.reminder.dueAt < span.toAt
        ? [{ reminder: decision.reminder, appointment }]
        : [],
    ),
  );
  const found = await reminders.ledger.readSome(due.map(({ reminder }) => reminder.id));
  const lines = due.map(({ reminder, appointment }) => {
    const entry = found.get(reminder.id);
    return entry === undefined ? foreseen(reminder, appointment, reminders, now) : lineOf(entry, null);
  });
  lines.sort((one, other) => one.dueAt - other.dueAt || one.startAt - other.startAt);
  return { tenant: tenantId, day: span.day, complete: snapshot.completeness === 'complete', reminders: lines };
}

/** Returns sent, dropped and unknown reminders, newest first. */
export async function finishedReminders(
  installation: Installation,
  tenantId: string,
  limit: number,
): Promise<ReminderList> {
  const { reminders } = requireReminders(installation, tenantId);
  const lines = await linesOf(reminders, await reminders.ledger.finished(limit));
  return { tenant: tenantId, day: null, complete: true, reminders: lines };
}

/** Explains past and future reminders of an appointment. */
export async function explainReminders(
  installation: Installation,
  tenantId: string,
  appointmentId: string,
  signal: AbortSignal,
): Promise<ReminderExplanation> {
  const { tenant, reminders } = requireReminders(installation, tenantId);
  const { source, appointment } = await readSource(tenant, appointmentId, signal);
  const entries = await reminders.ledger.ofAppointment(appointmentId);
  const decisions =
    appointment === null
      ? []
      : decisionsFor(reminders, appointment, tenant.configuration.zone, await readLocations(tenant.clinic, signal));
  const rules = decisions.map((decision): RuleView => {
    const { rule, channel } = decision;
    if ('excluded' in decision) return { rule, channel, excluded: decision.excluded };
    return { rule, channel, dueAt: decision.reminder.dueAt, zone: decision.reminder.zone };
  });
  return { tenant: tenantId, appointment: appointmentId, source, rules, reminders: await linesOf(reminders, entries) };
}

/**
 * Adds or removes an opt-out for contact data.
 * @throws MirrorError `settings`, code `bad-address`
 */
export async function optOut(
  installation: Installation,
  tenantId: string,
  { kind, address, lift }: { kind: AddressKind; address: string; lift: boolean },
): Promise<{ changed: boolean }> {
  const { tenant, reminders } = requireReminders(installation, tenantId);
  const found = kind === 'email' ? emailOf(address) : mobileNumber(address, reminders.file.phoneRegion);
  if (found === null) {
    throw new MirrorError(message('bad-address'), {
      actor: 'settings',
      code: 'bad-address',
      retry: 'never',
      remedy: kind === 'email' ? message('bad-address.email') : message('bad-address.telephone'),
    });
  }
  const hash = reminders.optOuts.hashOf(kind, found);
  if (lift) return { changed: await reminders.optOuts.remove(hash) };
  const before = await reminders.optOuts.find(hash);
  await reminders.optOuts.add(hash, { source: 'operator', at: tenant.clock() });
  return { changed: before === null };
}

/** Reopens a channel closed because its receiver was unavailable, and wakes waiting reminders. */
export async function reopenChannel(
  installation: Installation,
  tenantId: string,
  channel: string,
): Promise<{ changed: boolean }> {
  const { tenant, reminders } = requireReminders(installation, tenantId);
  const changed = await reminders.ledger.reopenChannel(channel);
  await resumeReminders({ reminders, configuration: tenant.configuration });
  return { changed };
}

function requireReminders(
  installation: Installation,
  id: string,
): { tenant: RemindedTenant; reminders: OpenReminders } {
  const tenant = requireTenant(installation, id);
  if (tenant.reminders !== null) return { tenant, reminders: tenant.reminders };
  throw new MirrorError(message('no-reminders', { id }), {
    actor: 'settings',
    code: 'no-reminders',
    retry: 'never',
    remedy: message('no-reminders.remedy', { location: settingsLocation(installation, id) }),
  });
}

function daySpan(day: string | null, now: Instant, zone: string) {
  try {
    return localDay(day ?? { after: now }, zone);
  } catch (cause) {
    throw new MirrorError(message('bad-day'), {
      actor: 'settings',
      code: 'bad-day',
      retry: 'never',
      remedy: message('bad-day.remedy'),
      cause,
    });
  }
}

async function readLocations(clinic: ClinicSource, signal: AbortSignal): Promise<LocationCatalogue> {
  const agendas = await clinic.agendas(signal);
  const locations = await clinic.locations(signal);
  return {
    agendas: new Map(agendas.map((agenda) => [agenda.id, agenda])),
    locations: new Map(locations.map((location) => [location.id, location])),
  };
}

function decisionsFor(
  { rules, name }: OpenReminders,
  appointment: Appointment,
  zone: string,
  catalogue: LocationCatalogue,
): ReminderDecision[] {
  return remindersFor(appointment, rules, locationOf(appointment, catalogue)?.zone ?? zone, name);
}

/** Returns an unplanned reminder as the next cycle would plan the reminder. */
function foreseen(
  reminder: PlannedReminder,
  { updatedAt }: Appointment,
  { rules }: OpenReminders,
  now: Instant,
): ReminderLine {
  const minimumLeadMs = rules.rules.get(reminder.rule)?.minimumLeadMs ?? 0;
  const reason = lateness(reminder, { now, updatedAt, minimumLeadMs });
  const { appointmentId: appointment, rule, channel, dueAt, startAt, zone } = reminder;
  const untouched = {
    id: null,
    finishedAt: null,
    attempts: 0,
    lastCode: null,
    reference: null,
    report: null,
    answer: null,
    correction: null,
  };
  const state = reason === null ? 'planned' : 'dropped';
  return { ...untouched, appointment, rule, channel, dueAt, startAt, zone, state, reason };
}

async function linesOf({ ledger }: OpenReminders, entries: readonly LedgerEntry[]): Promise<ReminderLine[]> {
  const reports = await ledger.reports(entries.flatMap(({ reference }) => reference ?? []));
  return entries.map((entry) => lineOf(entry, reports.get(entry.reference ?? '') ?? null));
}

function lineOf(entry: LedgerEntry, report: DeliveryReport | null): ReminderLine {
  const { appointmentId: appointment, plannedAt: _plannedAt, wakeAt: _wakeAt, correction, ...rest } = entry;
  const {
    movedTo: _movedTo,
    recipient: _recipient,
    handedAs: _handedAs,
    patientProof: _patientProof,
    locationProof: _locationProof,
    ...shown
  } = rest;
  return { appointment, ...shown, correction: correction?.kind ?? null, report };
}

function emailOf(address: string): string | null {
  const trimmed = address.trim();
  return /^[^\s@]+@[^\s@]+$/.test(trimmed) ? trimmed : null;
}
