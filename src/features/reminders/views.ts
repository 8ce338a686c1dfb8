import { asMirrorError } from '../../core/model/errors.ts';
import type { Hold } from '../../core/model/plan.ts';
import { type FieldChange, type FieldValue, NOTHING_THERE, UNREAD } from '../../core/model/plan-view.ts';
import type { Appointment } from '../../core/model/records.ts';
import { type LedgerEntry, REMINDERS, type ReminderStatus } from '../../core/model/reminders.ts';
import { DAY_MS, type Instant } from '../../core/model/time.ts';
import { withVisits } from '../../core/model/visits.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import type { HeldItem } from '../../operator/control/target-objects.ts';
import type { MessageProofs } from './identity.ts';
import { comparableAddress, type LocationCatalogue, locationOf } from './places.ts';
import type { OpenReminders } from './ports.ts';
import type { Truth } from './told.ts';

/** Field of the zone for printed times. */
const ZONE = 'zone';
/** Field of the postal address in a message. */
const LOCATION = 'location';

/**
 * Returns announced facts and present clinic data of held corrections. Reads one list from the clinic: from a day before the first to a day
 * after the last start, announced or found in the last cycle.
 */
async function heldCorrections(
  clinic: ClinicSource,
  reminders: Pick<OpenReminders, 'ledger' | 'proofs'>,
  { recordIds, now, zone }: { recordIds: readonly string[]; now: Instant; zone: string },
  signal: AbortSignal,
): Promise<{ items: HeldItem[]; unread: string | null }> {
  const entries = await reminders.ledger.ofAppointments(recordIds);
  const announced = new Map(recordIds.map((record) => [record, lastOf(entries.get(record) ?? [])]));
  const wrongInformation = (await reminders.ledger.wrong(now)).filter(({ appointmentId }) =>
    announced.has(appointmentId),
  );
  const starts = [
    ...[...announced.values()].flatMap((entry) => entry?.startAt ?? []),
    ...wrongInformation.map(({ untilAt }) => untilAt),
  ];
  const { appointments, locations, unread } = await listed(clinic, starts, signal);
  const items = recordIds.map((record): HeldItem => {
    const appointment = appointments.get(record);
    const entry = announced.get(record) ?? null;
    const agenda = appointment === undefined ? null : locations.agendas.get(appointment.agendaId);
    const truth = appointment === undefined ? null : truthOf(appointment, locations, zone);
    return {
      record,
      startAt: appointment?.time.startAt ?? entry?.startAt ?? null,
      agenda: appointment === undefined ? null : { id: appointment.agendaId, name: agenda?.name ?? null },
      status: appointment?.status ?? null,
      fieldChanges: truth === null || entry === null ? [] : changesOf(entry, truth, reminders.proofs),
    };
  });
  const at = ({ startAt }: HeldItem) => startAt ?? Number.POSITIVE_INFINITY;
  return { items: items.toSorted((one, other) => at(one) - at(other)), unread };
}

/** Returns the last possibly delivered message. */
function lastOf(entries: readonly LedgerEntry[]): LedgerEntry | null {
  const messages = entries.filter(({ state }) => state === 'sent' || state === 'unknown');
  return messages.sort((one, other) => (one.handedAs ?? 0) - (other.handedAs ?? 0)).at(-1) ?? null;
}

function truthOf(appointment: Appointment, catalogue: LocationCatalogue, zoneOfClinic: string): Truth {
  const location = locationOf(appointment, catalogue);
  return { appointment, zone: location?.zone ?? zoneOfClinic, address: location?.address ?? null };
}

function changesOf(entry: LedgerEntry, { appointment, zone, address }: Truth, proofs: MessageProofs): FieldChange[] {
  const announced = timeOf(entry.startAt);
  if (appointment.status === 'cancelled') return [{ field: 'time', before: announced, after: NOTHING_THERE }];
  const after = timeOf(appointment.time.startAt);
  const changes: FieldChange[] = [];
  if (entry.correction?.kind === 'cancelled') changes.push({ field: 'time', before: NOTHING_THERE, after });
  else if (entry.startAt !== appointment.time.startAt) changes.push({ field: 'time', before: announced, after });
  if (entry.zone !== zone) changes.push({ field: ZONE, before: textOf(entry.zone), after: textOf(zone) });
  const proof = proofs.locationProof(entry.appointmentId, comparableAddress(address));
  // Facts of a message are stored only as keyed hashes.
  if (entry.locationProof !== null && entry.locationProof !== proof)
    changes.push({ field: LOCATION, before: UNREAD, after: address === null ? NOTHING_THERE : textOf(address) });
  return changes;
}

function timeOf(startAt: Instant): FieldValue {
  return { kind: 'time', startAt, endAt: startAt };
}

function textOf(text: string): FieldValue {
  return { kind: 'text', text };
}

async function listed(
  clinic: ClinicSource,
  starts: readonly number[],
  signal: AbortSignal,
): Promise<{ appointments: ReadonlyMap<string, Appointment>; locations: LocationCatalogue; unread: string | null }> {
  const nothing = { appointments: new Map(), locations: { agendas: new Map(), locations: new Map() }, unread: null };
  if (starts.length === 0) return nothing;
  try {
    const agendas = await clinic.agendas(signal);
    const locations = await clinic.locations(signal);
    const window = { fromAt: Math.min(...starts) - DAY_MS, toAt: Math.max(...starts) + DAY_MS };
    const { records } = await clinic.readAppointments({ agendaIds: null, window }, signal);
    const catalogue = {
      agendas: new Map(agendas.map((agenda) => [agenda.id, agenda])),
      locations: new Map(locations.map((location) => [location.id, location])),
    };
    return { appointments: withVisits({ records }).records, locations: catalogue, unread: null };
  } catch (error) {
    signal.throwIfAborted();
    return { ...nothing, unread: asMirrorError(error).code };
  }
}

/** Adds the functions for status and holds. */
export function withViews(parts: Omit<OpenReminders, 'status' | 'heldCorrections'>): OpenReminders {
  return {
    ...parts,
    status: (holds, now) => reminderStatus(parts, holds, now),
    heldCorrections: (clinic, held, signal) => heldCorrections(clinic, parts, held, signal),
  };
}

async function reminderStatus(
  { ledger, channels, replies }: Pick<OpenReminders, 'ledger' | 'channels' | 'replies'>,
  holds: readonly Hold[],
  now: Instant,
): Promise<ReminderStatus> {
  const closings = [...channels.keys()].map(async (channel) => {
    const closing = await ledger.closingOf(channel);
    return closing === null ? [] : [{ channel, ...closing }];
  });
  const unread = await replies.list(now);
  const hold = holds.find(({ target, state }) => target === REMINDERS && state === 'open');
  return {
    waiting: await ledger.openCount(),
    closedChannels: (await Promise.all(closings)).flat(),
    wrong: (await ledger.wrong(now)).map(({ held: _held, ...shown }) => shown),
    replies: unread[0] === undefined ? null : { count: unread.length, sinceAt: unread[0].at },
    hold: hold === undefined ? null : { id: hold.id, appointments: hold.recordIds.length, sinceAt: hold.createdAt },
  };
}
