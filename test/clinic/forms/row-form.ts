import fc from 'fast-check';
import type { Form } from './form.ts';
import { anySpelling, type Spelling } from './spelling.ts';

/** How rows express places, deletions, ids, contacts and names. */
export interface RowForm {
  zones: { row: boolean; agenda: boolean; location: 'none' | 'row' | 'agenda' };
  /** `bare`: an id and a flag; `whole`: the flag in a row with all fields; `cancelled`: an id and the cancelled status. */
  tombstones: 'none' | 'bare' | 'whole' | 'cancelled';
  /** Value that raises the flag of a tombstone. */
  raised: 'yes' | 'time' | 'word';
  /** Numeric ids are above 2^53. */
  hasLongIds: boolean;
  /** Name of the id in records and in references. */
  idName: 'id' | 'uid' | '_id' | 'Key' | 'recordNumber';
  /** Location of a single status; with a condition, a list of codings starts with one of another system. */
  statusAt: '' | '.code' | '.value' | '.Key' | '.coding[].code' | '.coding[system=clinic].code';
  contacts: 'flat' | 'only' | 'index' | 'first' | 'condition' | 'single';
  fullName: { order: 'given-first' | 'family-first'; separator: ',' | '/'; isSeparated: boolean } | null;
  /** Telephone numbers and postal codes are numbers. */
  hasNumbersForText: boolean;
  spelling: Spelling;
  /** What an ETag changes with, and whether "not modified" repeats the headers of paging. */
  etags: { cover: 'body' | 'answer'; areHeadersRepeated: boolean };
}

/** Any way of rows. */
export const anyRowForm: fc.Arbitrary<RowForm> = fc.record({
  zones: fc.record({
    row: fc.boolean(),
    agenda: fc.boolean(),
    location: fc.constantFrom('none', 'row', 'agenda'),
  }),
  tombstones: fc.constantFrom('none', 'bare', 'whole', 'cancelled'),
  raised: fc.constantFrom('yes', 'time', 'word'),
  hasLongIds: fc.boolean(),
  idName: fc.constantFrom('id', 'uid', '_id', 'Key', 'recordNumber'),
  statusAt: fc.constantFrom('', '.code', '.value', '.Key', '.coding[].code', '.coding[system=clinic].code'),
  contacts: fc.constantFrom('flat', 'only', 'index', 'first', 'condition', 'single'),
  fullName: fc.option(
    fc.record({
      order: fc.constantFrom('given-first', 'family-first'),
      separator: fc.constantFrom(',', '/'),
      isSeparated: fc.boolean(),
    }),
    { freq: 2 },
  ),
  hasNumbersForText: fc.boolean(),
  spelling: anySpelling,
  etags: fc.record({ cover: fc.constantFrom('body', 'answer'), areHeadersRepeated: fc.boolean() }),
});

const ROW_ZONES = [null, 'Pacific/Auckland', 'Atlantic/Canary', ''];
const ROW_LOCATIONS = ['31', '32', null, '33'];
const AGENDA_ZONES: Readonly<Record<string, string | null>> = {
  11: 'America/Sao_Paulo',
  12: null,
  13: 'Atlantic/Canary',
};
const AGENDA_LOCATIONS: Readonly<Record<string, string>> = { 11: '31', 12: '33', 13: '32' };
/** The zones of the locations that a clinic has. */
export const LOCATION_ZONES: Readonly<Record<string, string | null>> = {
  31: 'Asia/Kathmandu',
  32: null,
  33: 'Pacific/Auckland',
};

/** The zone that an agenda names; null where the form has none there. */
export function zoneOfAgenda({ rows }: Form, agendaId: string): string | null {
  return rows.zones.agenda ? (AGENDA_ZONES[agendaId] ?? null) : null;
}

/** The location of an agenda; null where the form has none there. */
export function locationOfAgenda({ rows }: Form, agendaId: string): string | null {
  return rows.zones.location === 'agenda' ? (AGENDA_LOCATIONS[agendaId] ?? null) : null;
}

/** The zone that an appointment's own row names; empty or null where it names none. */
export function zoneOfRow({ rows }: Form, id: string): string | null {
  return rows.zones.row ? (ROW_ZONES[Number(id) % 4] ?? null) : null;
}

/** The location that an appointment's own row names. */
export function locationOfRow({ rows }: Form, id: string): string | null {
  return rows.zones.location === 'row' ? (ROW_LOCATIONS[Math.floor(Number(id) / 2) % 4] ?? null) : null;
}

/** The zone in which an appointment's local times are meant. */
export function zoneNameOf(form: Form, { id, agendaId }: { id: string; agendaId: string }): string {
  const location = locationOfRow(form, id) ?? locationOfAgenda(form, agendaId);
  const ofLocation = location === null ? null : LOCATION_ZONES[location];
  return zoneOfRow(form, id) || zoneOfAgenda(form, agendaId) || ofLocation || form.zone;
}

/** Whether the clinic reports a record as deleted. */
export function isBuried({ rows }: Form, id: string): boolean {
  return rows.tombstones !== 'none' && Number(id) % 5 === 3;
}

/** A full name in one field; a family name that is ambiguous without a separator gets one. */
export function fullNameIn({ rows: { fullName } }: Form, first: string | null, last: string): string {
  if (fullName === null) return last;
  const { order, separator, isSeparated } = fullName;
  const isUnclear = last === 'Rossi Bianchi' || (first === null && order === 'given-first' && last.includes(' '));
  if (isSeparated || isUnclear) return `${last}${separator} ${first ?? ''}`;
  return (order === 'given-first' ? `${first ?? ''} ${last}` : `${last} ${first ?? ''}`).trim();
}

/** Paths of the telephone number and the e-mail address in rows of patients. */
export function contactPaths({ rows: { contacts } }: Form): { phone: string; email: string } {
  switch (contacts) {
    case 'flat':
      return { phone: 'phone', email: 'email' };
    case 'only':
      return { phone: 'phones', email: 'contacts.emails' };
    case 'index':
      return { phone: 'phones.1', email: 'mails.0.address' };
    case 'first':
      return { phone: 'phones[].number', email: 'Mail[].address' };
    case 'condition':
      return { phone: 'telecom[system=phone].value', email: 'telecom[system=email].value' };
    case 'single':
      return { phone: 'phones[].number', email: 'contacts[kind=mail].address' };
  }
}

/** Puts contacts into a row, among others of the same lists that are not meant. */
export function putContacts(
  row: Record<string, unknown>,
  { rows: { contacts } }: Form,
  { phone, email }: { phone: string | number | null; email: string | null },
): void {
  switch (contacts) {
    case 'flat':
      Object.assign(row, { phone, email });
      break;
    case 'only':
      Object.assign(row, {
        phones: phone === null ? [] : [phone],
        contacts: { emails: email === null ? [] : [email] },
      });
      break;
    case 'index':
      Object.assign(row, {
        phones: ['02 1', phone, '02 2'],
        mails: [{ address: email }, { address: 'x@clinic.test' }],
      });
      break;
    case 'first':
      Object.assign(row, { phones: [{ note: 'home' }, { number: '' }, { number: phone }], Mail: [{ address: email }] });
      break;
    case 'condition':
      Object.assign(row, {
        telecom: [
          { system: 'fax', value: '02 3' },
          { system: 'email', value: email },
          { value: '02 4' },
          { system: 'phone', value: phone },
        ],
      });
      break;
    case 'single':
      Object.assign(row, { phones: { number: phone }, contacts: { kind: 'mail', address: email } });
  }
}

/** Puts a value where a path of a profile leads; a list with a condition holds another element before. */
export function putAt(row: Record<string, unknown>, path: string, value: unknown): void {
  let holder = row;
  const steps = path.split('.');
  for (const [at, step] of steps.entries()) {
    const [, name = '', bracket, field, wanted] = /^([^[]+)(\[(?:(\w+)=(\w+))?\])?$/.exec(step) ?? [];
    if (at === steps.length - 1) {
      holder[name] = value;
    } else if (bracket === undefined) {
      holder[name] ??= {};
      holder = holder[name] as Record<string, unknown>;
    } else {
      holder[name] ??= field === undefined ? [] : [{ [field]: 'other', id: '777', code: '777' }];
      const list = holder[name] as Record<string, unknown>[];
      const found = list.find((one) => field === undefined || one[field] === wanted);
      if (found === undefined) list.push(field === undefined ? {} : { [field]: wanted });
      holder = found ?? (list.at(-1) as Record<string, unknown>);
    }
  }
}

const FIRST_LONG = 2n ** 53n + 1n;

/** An id above 2^53: adjacent ids would become the same number. */
export function longId(id: string): bigint {
  return FIRST_LONG + BigInt(id);
}

/** JSON with whole numbers of any length. */
export function jsonOf(value: unknown): string {
  const marked = JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? `whole:${one}` : one));
  return marked.replaceAll(/"whole:(-?\d+)"/g, '$1');
}

/** Parses JSON with integers above 2^53 kept exact. */
export function ofJson(text: string): unknown {
  const exact = (_: string, value: unknown, { source }: { source: string }) =>
    typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(source) : value;
  return JSON.parse(text, exact as Parameters<typeof JSON.parse>[1]);
}
