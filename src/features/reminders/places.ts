import type { Agenda, Appointment, Location } from '../../model/records.ts';

/** Where appointments take place, as the clinic's catalogue tells. */
export interface LocationCatalogue {
  agendas: ReadonlyMap<string, Agenda>;
  locations: ReadonlyMap<string, Location>;
}

/** Combining diacritical marks of Latin, Greek and Cyrillic letters. In other scripts marks are letters of their own. */
const ACCENTS = /[\u0300-\u036f]/g;

/**
 * An address by what makes it another place: without case, accents, punctuation and repeated spaces. "Via Roma, 12/A" and "via Roma 12 a" are the same,
 * "12/3" and "123" are not.
 */
export function comparableAddress(address: string | null): string {
  const letters = (address ?? '').normalize('NFKD').replace(ACCENTS, '').toUpperCase().toLowerCase();
  const apart = letters.replace(/(?<=\p{N})(?=\p{L})|(?<=\p{L})(?=\p{N})/gu, ' ');
  return apart.replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ').trim();
}

/** The location of an appointment: its own, else that of its agenda; null when neither tells one. */
export function locationOf(appointment: Appointment, { agendas, locations }: LocationCatalogue): Location | null {
  const id = appointment.locationId ?? agendas.get(appointment.agendaId)?.locationId ?? null;
  return id === null ? null : (locations.get(id) ?? null);
}
