import type { Agenda, Appointment, Location } from '../../core/model/records.ts';

/** Locations of appointments in the clinic's catalogue. */
export interface LocationCatalogue {
  agendas: ReadonlyMap<string, Agenda>;
  locations: ReadonlyMap<string, Location>;
}

/** Combining diacritical marks of Latin, Greek and Cyrillic letters. In other scripts, marks are separate letters. */
const ACCENTS = /[\u0300-\u036f]/g;

/**
 * Normalises a postal address: without case, accents, punctuation and repeated spaces. "Via Roma, 12/A" equals "via Roma 12 a", but "12/3"
 * differs from "123".
 */
export function comparableAddress(address: string | null): string {
  const letters = (address ?? '').normalize('NFKD').replace(ACCENTS, '').toUpperCase().toLowerCase();
  const apart = letters.replace(/(?<=\p{N})(?=\p{L})|(?<=\p{L})(?=\p{N})/gu, ' ');
  return apart.replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ').trim();
}

/** Returns the location of an appointment, or of its agenda, or null. */
export function locationOf(appointment: Appointment, { agendas, locations }: LocationCatalogue): Location | null {
  const id = appointment.locationId ?? agendas.get(appointment.agendaId)?.locationId ?? null;
  return id === null ? null : (locations.get(id) ?? null);
}
