import type { Agenda, Location, Patient, PostalAddress, Treatment } from '../../model/records.ts';
import type { Report } from '../../model/triggers.ts';
import { isZone } from '../../model/zones.ts';
import { asFlag, compilePaths, isJsonObject, type JsonObject, type RowMapper } from '../http/rows.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { agenda, location, medicalReport, patient, treatment } from '../schema/shapes.ts';
import { compileFullName } from './full-names.ts';
import { compileFields, compileRows, compileSome, type FieldReaders, type Note, tolerant } from './records.ts';
import { withTombstones } from './statuses.ts';

/** Prepares the mapping of location rows; a zone that is not an IANA name counts as not told. */
export function compileLocationRows(profile: ClinicProfile): RowMapper<Location> {
  const read = compileFields(location, profile.locations.fields, profile);
  return compileRows(read.id, (row) => ({
    id: read.id(row),
    name: read.name(row),
    ...zoneOf(read.zone(row)),
    address: joined(
      [read.street(row), joined([read.postalCode(row), read.city(row), inBrackets(read.province(row))], ' ')],
      ', ',
    ),
  }));
}

/** Prepares the mapping of agenda rows; an agenda is active unless its row says that it is not. */
export function compileAgendaRows(profile: ClinicProfile): RowMapper<Agenda> {
  const read = compileFields(agenda, profile.agendas.fields, profile);
  const zoneOf = tolerant(read.zone);
  return compileRows(read.id, (row) => ({
    id: read.id(row),
    name: read.name(row),
    locationId: read.locationId(row),
    isActive: read.isActive(row) ?? true,
    ...toldZone(zoneOf(row)),
  }));
}

/** Prepares the mapping of treatment rows. */
export function compileTreatmentRows(profile: ClinicProfile): RowMapper<Treatment> {
  return compileSome(treatment, ['id', 'name'], profile.treatments, profile);
}

/** Prepares the mapping of report rows: without what they are about. */
export function compileReportRows(profile: ClinicProfile): RowMapper<Report> {
  const names = ['id', 'patientId', 'episodeId', 'status', 'fileSizeBytes'] as const;
  return compileSome(medicalReport, names, profile.medicalReports, profile);
}

/**
 * Prepares the mapping of patient rows. What can't be read beside the id counts as not told, and is noted: a reminder needs
 * none of it.
 */
export function compilePatientRows(profile: ClinicProfile): RowMapper<Patient> {
  const read = compileFields(patient, profile.patients.fields, profile, profile.patients.words);
  const taxCode = tolerant(read.taxCode);
  const birthDate = tolerant(read.birthDate);
  const gender = tolerant(read.gender);
  const updatedAt = tolerant(read.updatedAt);
  const isActive = tolerant(read.isActive);
  const consentsOf = compileConsents(profile);
  const namesIn = compileFullName(profile.patients.fullName);
  const map = compileRows(read.id, (row, note) => ({
    id: read.id(row),
    ...namesIn(row, { firstName: read.firstName(row, note), lastName: read.lastName(row, note) }),
    email: read.email(row, note),
    phone: read.phone(row, note),
    mobilePhone: read.mobilePhone(row, note),
    language: read.language(row, note),
    consents: consentsOf(row),
    isActive: isActive(row, note) ?? true,
    taxCode: taxCode(row, note),
    birthDate: birthDate(row, note),
    gender: gender(row, note),
    address: postalAddressOf(row, read, note),
    updatedAt: updatedAt(row, note),
  }));
  return withTombstones(profile.patients, map);
}

function postalAddressOf(row: JsonObject, read: FieldReaders<typeof patient>, note: Note): PostalAddress | null {
  const address = {
    street: read.street(row, note),
    postalCode: read.postalCode(row, note),
    city: read.city(row, note),
    province: read.province(row, note),
    country: read.country(row, note),
  };
  return Object.values(address).every((part) => part === null) ? null : address;
}

/** Reads what a patient agrees to, under the profile's names. Only yes and no count as told (`asFlag`): a date or a word may mean either. */
export function compileConsents(profile: ClinicProfile): (row: unknown) => Record<string, boolean> {
  const readers = Object.entries(profile.patients.consents).map(
    ([name, paths]) => [name, compilePaths(paths)] as const,
  );
  return (row) => {
    const told = readers.flatMap(([name, read]) => {
      const value = isJsonObject(row) ? asFlag(read(row)) : null;
      return value === null ? [] : [[name, value] as const];
    });
    return Object.fromEntries(told);
  };
}

/** A zone that this machine knows by its IANA name, apart from a text that names none. */
function zoneOf(text: string | null): Pick<Location, 'zone' | 'unknownZone'> {
  const told = text?.trim() ?? '';
  if (told === '') return { zone: null };
  return isZone(told) ? { zone: told } : { zone: null, unknownZone: told };
}

function toldZone(text: string | null): Pick<Agenda, 'zone'> {
  const told = text?.trim() ?? '';
  return told === '' ? {} : { zone: told };
}

function inBrackets(text: string | null): string | null {
  return text === null || text.trim() === '' ? null : `(${text.trim()})`;
}

function joined(parts: (string | null)[], separator: string): string | null {
  const told = parts.map((part) => part?.trim() ?? '').filter((part) => part !== '');
  return told.length === 0 ? null : told.join(separator);
}
