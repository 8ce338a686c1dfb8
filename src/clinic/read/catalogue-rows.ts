import type { Agenda, Location, Patient, PostalAddress, Treatment } from '../../core/model/records.ts';
import { STORED_LIMITS } from '../../core/model/stored-limits.ts';
import { shortened } from '../../core/model/text.ts';
import type { Report } from '../../core/model/triggers.ts';
import { ianaZone } from '../../core/model/zone-names.ts';
import { isJsonObject, type JsonObject } from '../../described-api/paths.ts';
import { asFlag, asId, compilePaths, type RowMapper } from '../http/rows.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { agenda, location, medicalReport, patient, treatment } from '../schema/shapes.ts';
import { withTombstones } from './appointment-rows.ts';
import {
  compileFields,
  compileFullName,
  compileRows,
  compileSome,
  type FieldReaders,
  type OnUnreadable,
  tolerant,
} from './records.ts';

/** Compiles the mapping of location rows; a zone without a known IANA name is treated as absent. */
export function compileLocationRows(profile: ClinicProfile): RowMapper<Location> {
  const read = compileFields(location, profile.locations.fields, profile);
  return compileRows(read.id, (row) => ({
    id: read.id(row),
    name: shortened(read.name(row), STORED_LIMITS.name),
    ...zoneOf(read.zone(row)),
    address: joined(
      [read.street(row), joined([read.postalCode(row), read.city(row), inBrackets(read.province(row))], ' ')],
      ', ',
    ),
  }));
}

/** Compiles the mapping of agenda rows; an agenda is active unless its row denies it. */
export function compileAgendaRows(profile: ClinicProfile): RowMapper<Agenda> {
  const read = compileFields(agenda, profile.agendas.fields, profile);
  const zoneOf = tolerant(read.zone);
  return compileRows(read.id, (row) => ({
    id: read.id(row),
    name: shortened(read.name(row), STORED_LIMITS.name),
    locationId: read.locationId(row),
    isActive: read.isActive(row) ?? true,
    ...statedZone(zoneOf(row)),
  }));
}

/** Compiles the mapping of treatment rows. */
export function compileTreatmentRows(profile: ClinicProfile): RowMapper<Treatment> {
  const map = compileSome(treatment, ['id', 'name'], profile.treatments, profile);
  return (row) => {
    const mapped = map(row);
    if ('record' in mapped) mapped.record.name = shortened(mapped.record.name, STORED_LIMITS.name);
    return mapped;
  };
}

/** Compiles the mapping of report rows, without their medical content. */
export function compileReportRows(profile: ClinicProfile): RowMapper<Report> {
  const names = ['id', 'patientId', 'episodeId', 'status', 'fileSizeBytes'] as const;
  return compileSome(medicalReport, names, profile.medicalReports, profile);
}

/**
 * Compiles the mapping of patient rows. An unreadable field except the id is treated as absent and recorded, because reminders require none
 * of these fields.
 */
export function compilePatientRows(profile: ClinicProfile): RowMapper<Patient> {
  const read = compileFields(patient, profile.patients.fields, profile, profile.patients.words);
  const taxCode = tolerant(read.taxCode);
  const birthDate = tolerant(read.birthDate);
  const gender = tolerant(read.gender);
  const updatedAt = tolerant(read.updatedAt);
  const isActive = tolerant(read.isActive);
  const consentsOf = compileConsents(profile);
  const namesIn = compileFullName(profile.patients.fullName, profile);
  const map = compileRows(read.id, (row, onUnreadable) => ({
    id: read.id(row),
    ...namesIn(row, { firstName: read.firstName(row, onUnreadable), lastName: read.lastName(row, onUnreadable) }),
    email: read.email(row, onUnreadable),
    phone: read.phone(row, onUnreadable),
    mobilePhone: read.mobilePhone(row, onUnreadable),
    language: read.language(row, onUnreadable),
    consents: consentsOf(row),
    isActive: isActive(row, onUnreadable) ?? true,
    taxCode: taxCode(row, onUnreadable),
    birthDate: birthDate(row, onUnreadable),
    gender: gender(row, onUnreadable),
    address: postalAddressOf(row, read, onUnreadable),
    updatedAt: updatedAt(row, onUnreadable),
  }));
  return withMerges(profile.patients, withTombstones(profile.patients, map));
}

/** Wraps a mapper: a patient merged into another one becomes a tombstone with the id of the remaining patient. */
function withMerges({ fields, merged }: ClinicProfile['patients'], map: RowMapper<Patient>): RowMapper<Patient> {
  if (typeof merged !== 'string') return map;
  const [readId, readMerged] = [compilePaths(fields.id), compilePaths([merged])];
  return (row) => {
    if (!isJsonObject(row)) return map(row);
    const [recordId, mergedInto] = [asId(readId(row)), asId(readMerged(row))];
    if (recordId === null || mergedInto === null || mergedInto === recordId) return map(row);
    return { unusable: { recordId, code: 'tombstone', field: 'merged', isTombstone: true, mergedInto } };
  };
}

function postalAddressOf(
  row: JsonObject,
  read: FieldReaders<typeof patient>,
  onUnreadable: OnUnreadable,
): PostalAddress | null {
  const address = {
    street: read.street(row, onUnreadable),
    postalCode: read.postalCode(row, onUnreadable),
    city: read.city(row, onUnreadable),
    province: read.province(row, onUnreadable),
    country: read.country(row, onUnreadable),
  };
  return Object.values(address).every((part) => part === null) ? null : address;
}

/** Reads a patient's consents by the profile's names. Only yes and no are accepted (`asFlag`): a date or a word is ambiguous. */
export function compileConsents(profile: ClinicProfile): (row: unknown) => Record<string, boolean> {
  const readers = Object.entries(profile.patients.consents).map(
    ([name, paths]) => [name, compilePaths(paths)] as const,
  );
  return (row) => {
    const stated = readers.flatMap(([name, read]) => {
      const value = isJsonObject(row) ? asFlag(read(row)) : null;
      return value === null ? [] : [[name, value] as const];
    });
    return Object.fromEntries(stated);
  };
}

/** Returns a zone known to this host by its IANA or Windows name, or the unknown text. */
function zoneOf(text: string | null): Pick<Location, 'zone' | 'unknownZone'> {
  const stated = text?.trim() ?? '';
  if (stated === '') return { zone: null };
  const zone = ianaZone(stated);
  return zone === null ? { zone, unknownZone: stated } : { zone };
}

function statedZone(text: string | null): Pick<Agenda, 'zone'> {
  const stated = text?.trim() ?? '';
  return stated === '' ? {} : { zone: ianaZone(stated) ?? stated };
}

function inBrackets(text: string | null): string | null {
  return text === null || text.trim() === '' ? null : `(${text.trim()})`;
}

function joined(parts: (string | null)[], separator: string): string | null {
  const stated = parts.map((part) => part?.trim() ?? '').filter((part) => part !== '');
  return stated.length === 0 ? null : stated.join(separator);
}
