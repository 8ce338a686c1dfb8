import type { Agenda, Appointment, Location } from '../model/records.ts';

/** Where appointments take place, as the clinic's catalogue tells. */
export interface Place {
  agendas: ReadonlyMap<string, Agenda>;
  locations: ReadonlyMap<string, Location>;
}

/** The location of an appointment: its own, else that of its agenda; null when neither tells one. */
export function placeOf(appointment: Appointment, { agendas, locations }: Place): Location | null {
  const id = appointment.locationId ?? agendas.get(appointment.agendaId)?.locationId ?? null;
  return id === null ? null : (locations.get(id) ?? null);
}
