import type { Agenda, Location, Patient, PostalAddress, Treatment } from '../model/records.ts';
import type { ClinicProfile } from '../settings/clinic-profile.ts';
import { patient } from '../settings/clinic-registry.ts';
import { compileRecords } from './records.ts';
import { compileFields, isJsonObject, type JsonObject, type Mapped, RowReader } from './rows.ts';

/** Prepares the mapping of location rows; a zone that is not an IANA name counts as not told. */
export function compileLocationRows(profile: ClinicProfile): (row: unknown) => Mapped<Location> {
  return compileRows(profile.locations.fields, (row, id) => ({
    id,
    name: row.neededText('name'),
    address: addressOf([
      row.text('street'),
      joined([row.text('postalCode'), row.text('city'), inBrackets(row.text('province'))], ' '),
    ]),
    zone: asZone(row.text('zone')),
  }));
}

/** Prepares the mapping of agenda rows; an agenda is active unless its row says that it is not. */
export function compileAgendaRows(profile: ClinicProfile): (row: unknown) => Mapped<Agenda> {
  return compileRows(profile.agendas.fields, (row, id) => ({
    id,
    name: row.neededText('name'),
    locationId: row.id('locationId'),
    isActive: row.flag('isActive') ?? true,
  }));
}

/** Prepares the mapping of treatment rows. */
export function compileTreatmentRows(profile: ClinicProfile): (row: unknown) => Mapped<Treatment> {
  return compileRows(profile.treatments.fields, (row, id) => ({ id, name: row.neededText('name') }));
}

/**
 * Prepares the mapping of patient rows. A birth date, gender, tax code or time of change that can't be read counts as not told: a
 * reminder needs none of them.
 */
export function compilePatientRows(profile: ClinicProfile): (row: unknown) => Mapped<Patient> {
  const consentsOf = compileConsents(profile);
  const { fields, words } = profile.patients;
  const tolerant = <Name extends keyof typeof patient>(name: Name) => {
    const map = compileRecords({ value: patient[name] }, { value: fields[name] }, profile, {
      value: words[name] ?? {},
    });
    return (json: JsonObject) => {
      const mapped = map(json);
      return 'record' in mapped ? mapped.record.value : null;
    };
  };
  const taxCode = tolerant('taxCode');
  const birthDate = tolerant('birthDate');
  const gender = tolerant('gender');
  const updatedAt = tolerant('updatedAt');
  return compileRows(profile.patients.fields, (row, id, json) => ({
    id,
    firstName: row.text('firstName'),
    lastName: row.text('lastName'),
    email: row.text('email'),
    phone: row.text('phone'),
    mobilePhone: row.text('mobilePhone'),
    language: row.text('language'),
    consents: consentsOf(json),
    isActive: row.flag('isActive') ?? true,
    taxCode: taxCode(json),
    birthDate: birthDate(json),
    gender: gender(json),
    address: postalAddressOf(row),
    updatedAt: updatedAt(json),
  }));
}

function postalAddressOf(row: Pick<RowReader<keyof typeof patient>, 'text'>): PostalAddress | null {
  const address = {
    street: row.text('street'),
    postalCode: row.text('postalCode'),
    city: row.text('city'),
    province: row.text('province'),
    country: row.text('country'),
  };
  return Object.values(address).every((part) => part === null) ? null : address;
}

/** Reads what a patient agrees to, under the profile's names. Only true and false count as told: a date or a word may mean either. */
export function compileConsents(profile: ClinicProfile): (row: unknown) => Record<string, boolean> {
  const readers = [...compileFields(profile.patients.consents)];
  return (row) => {
    const told = readers.flatMap(([name, read]) => {
      const value = isJsonObject(row) ? read(row) : null;
      return typeof value === 'boolean' ? [[name, value] as const] : [];
    });
    return Object.fromEntries(told);
  };
}

function compileRows<Name extends string, Model>(
  fields: Record<Name | 'id', readonly string[]>,
  build: (row: RowReader<Name | 'id'>, id: string, json: JsonObject) => Model,
): (row: unknown) => Mapped<Model> {
  const readers = compileFields(fields);
  return (json) => {
    if (!isJsonObject(json)) return { setAside: { recordId: null, code: 'wrong-type', field: 'row' } };
    const row = new RowReader(json, readers);
    const id = row.id('id');
    if (id === null) return { setAside: { recordId: null, code: 'missing-id', field: 'id' } };
    const record = build(row, id, json);
    return row.fault === null ? { record } : { setAside: { recordId: id, ...row.fault } };
  };
}

/** Whether a text is an IANA zone that this machine knows. */
export function asZone(text: string | null): string | null {
  if (text === null) return null;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone === '' ? null : text;
  } catch {
    return null;
  }
}

function addressOf(lines: (string | null)[]): string | null {
  return joined(lines, ', ');
}

function inBrackets(text: string | null): string | null {
  return text === null || text.trim() === '' ? null : `(${text.trim()})`;
}

function joined(parts: (string | null)[], separator: string): string | null {
  const told = parts.map((part) => part?.trim() ?? '').filter((part) => part !== '');
  return told.length === 0 ? null : told.join(separator);
}
