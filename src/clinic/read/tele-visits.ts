import { LONGEST_URL } from '../../model/items.ts';
import type { AppointmentPatient } from '../../model/records.ts';
import { compilePaths, type JsonObject } from '../http/rows.ts';

/** Shorter ones stand in any address by chance. */
const SHORTEST_NAME = 3;

/**
 * Prepares the reading of a video visit's address: https, without a login, and without a name of the patient or an e-mail address in it.
 * Anything else counts as none: a calendar would show it to whoever sees the entry.
 */
export function compileTeleVisit(
  paths: readonly string[],
): (row: JsonObject, patient: AppointmentPatient | null) => string | null {
  if (paths.length === 0) return () => null;
  const find = compilePaths(paths);
  return (row, patient) => {
    const value = find(row);
    const url = typeof value === 'string' ? URL.parse(value.trim()) : null;
    if (url === null || url.protocol !== 'https:' || url.username !== '' || url.href.length > LONGEST_URL) return null;
    return tellsOfPerson(url, patient) ? null : url.href;
  };
}

function tellsOfPerson({ pathname, search, hash }: URL, patient: AppointmentPatient | null): boolean {
  const text = plain(decoded(`${pathname}${search}${hash}`));
  const names = [patient?.firstName, patient?.lastName].map((name) => plain(name ?? ''));
  return text.includes('@') || names.some((name) => name.length >= SHORTEST_NAME && text.includes(name));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** Without case and accents. */
function plain(text: string): string {
  return text.trim().toLowerCase().normalize('NFD').replace(/\p{M}/gu, '');
}
