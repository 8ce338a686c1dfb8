import type { OpenReminders } from '../jobs/open-reminders.ts';
import type { OpenTenant } from '../jobs/tenant.ts';
import { asMirrorError } from '../model/errors.ts';
import { type FieldChange, NOTHING_THERE } from '../model/field-changes.ts';
import type { Appointment } from '../model/records.ts';
import type { LedgerEntry } from '../model/reminders.ts';
import { DAY_MS } from '../model/time.ts';
import { type Place, placeOf } from '../reminders/places.ts';
import type { HeldItem } from './held-item.ts';

/** Field of the zone in which a patient reads the time. */
const ZONE = 'zone';

/**
 * Tells of corrections that are held what each patient was told, and what the clinic says now. Queries the clinic for one list, from a day before
 * the first to a day after the last start that patients were told, or that the last cycle found.
 */
export async function heldCorrections(
  tenant: OpenTenant,
  reminders: OpenReminders,
  recordIds: readonly string[],
  signal: AbortSignal,
): Promise<{ items: HeldItem[]; unread: string | null }> {
  const entries = await reminders.ledger.ofAppointments(recordIds);
  const told = new Map(recordIds.map((record) => [record, lastOf(entries.get(record) ?? [])]));
  const noted = (await reminders.ledger.wrong(tenant.clock())).filter(({ appointmentId }) => told.has(appointmentId));
  const starts = [
    ...[...told.values()].flatMap((entry) => entry?.startAt ?? []),
    ...noted.map(({ untilAt }) => untilAt),
  ];
  const { appointments, place, unread } = await listed(tenant, starts, signal);
  const items = recordIds.map((record): HeldItem => {
    const appointment = appointments.get(record);
    const entry = told.get(record) ?? null;
    const agenda = appointment === undefined ? null : place.agendas.get(appointment.agendaId);
    const zone = appointment === undefined ? null : (placeOf(appointment, place)?.zone ?? tenant.configuration.zone);
    return {
      record,
      startAt: appointment?.time.startAt ?? entry?.startAt ?? null,
      agenda: appointment === undefined ? null : { id: appointment.agendaId, name: agenda?.name ?? null },
      status: appointment?.status ?? null,
      fieldChanges: appointment === undefined || entry === null ? [] : changesOf(entry, appointment, zone ?? ''),
    };
  });
  const at = ({ startAt }: HeldItem) => startAt ?? Number.POSITIVE_INFINITY;
  return { items: items.toSorted((one, other) => at(one) - at(other)), unread };
}

/** The last message that was handed over, or may have been. */
function lastOf(entries: readonly LedgerEntry[]): LedgerEntry | null {
  const messages = entries.filter(({ state }) => state === 'sent' || state === 'unknown');
  return messages.sort((one, other) => (one.handedAs ?? 0) - (other.handedAs ?? 0)).at(-1) ?? null;
}

function changesOf(entry: LedgerEntry, { time, status }: Appointment, zone: string): FieldChange[] {
  const { startAt } = entry;
  const before = { kind: 'time', startAt, endAt: startAt } as const;
  if (status === 'cancelled') return [{ field: 'time', before, after: NOTHING_THERE }];
  const after = { kind: 'time', startAt: time.startAt, endAt: time.startAt } as const;
  const times = startAt === time.startAt ? [] : [{ field: 'time', before, after }];
  if (entry.zone === zone) return times;
  const zones = { before: { kind: 'text', text: entry.zone }, after: { kind: 'text', text: zone } } as const;
  return [...times, { field: ZONE, ...zones }];
}

async function listed(
  { clinic }: OpenTenant,
  starts: readonly number[],
  signal: AbortSignal,
): Promise<{ appointments: ReadonlyMap<string, Appointment>; place: Place; unread: string | null }> {
  const nothing = { appointments: new Map(), place: { agendas: new Map(), locations: new Map() }, unread: null };
  if (starts.length === 0) return nothing;
  try {
    const agendas = await clinic.agendas(signal);
    const locations = await clinic.locations(signal);
    const window = { fromAt: Math.min(...starts) - DAY_MS, toAt: Math.max(...starts) + DAY_MS };
    const { records } = await clinic.readAppointments({ agendaIds: null, window }, signal);
    const place = {
      agendas: new Map(agendas.map((agenda) => [agenda.id, agenda])),
      locations: new Map(locations.map((location) => [location.id, location])),
    };
    return { appointments: records, place, unread: null };
  } catch (error) {
    signal.throwIfAborted();
    return { ...nothing, unread: asMirrorError(error).code };
  }
}
