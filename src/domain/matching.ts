import { createHash } from 'node:crypto';
import type { CrmItem } from '../core/model/items.ts';
import { eachInPieces, type Pieces } from '../core/model/pieces.ts';
import type { Patient } from '../core/model/records.ts';
import type { CrmFile } from '../settings/crm-schema.ts';

/** Compared fields, as far as the mapping assigns them to CRM properties. */
const COMPARED = ['firstName', 'lastName', 'fullName', 'email', 'phone', 'mobilePhone', 'birthDate'] as const;
type Compared = (typeof COMPARED)[number];

/** CRM properties by field of a patient. */
export type ComparedProperties = Readonly<Record<Compared, readonly string[]>>;

/** Compared fields of a patient or a contact, as written. */
export interface Person {
  name: string;
  /** `YYYY-MM-DD`. */
  birthDate: string | null;
  addresses: readonly string[];
  phones: readonly string[];
}

/** A field that is equal, or different although both sides have a value. */
export type Trait = 'email' | 'phone' | 'name' | 'birth-date';

/** A patient and a contact that may be the same human. */
export interface Match {
  recordId: string;
  remoteId: string;
  same: readonly Trait[];
  differs: readonly Trait[];
  /** Number of contacts that may be this patient, and of patients that may be this contact. Above 1, only an operator can decide. */
  contacts: number;
  patients: number;
}

/** Possible matches. */
export interface Matching {
  matches: Match[];
  /** Email addresses, telephones, and names with birth date that are too common to identify anyone. */
  tooCommon: number;
}

/** Above the size of a large family: a reception's telephone, or a placeholder email address. */
const MOST_SHARING = 10;

/** Returns the CRM properties of compared fields: those that the mapping copies unchanged. */
export function comparedProperties({ mapping }: CrmFile): ComparedProperties {
  const namesOf = (field: Compared) =>
    [...mapping].flatMap(([name, { from, values, transforms }]) =>
      from === field && values === undefined && !transforms.includes('year') ? [name] : [],
    );
  return Object.fromEntries(COMPARED.map((field) => [field, namesOf(field)])) as Record<Compared, string[]>;
}

/** Returns a patient's compared fields. */
export function patientAsPerson(patient: Patient, properties: ComparedProperties): Person {
  const { firstName, lastName, email, phone, mobilePhone, birthDate } = patient;
  const isCompared = (...fields: Compared[]) => fields.some((field) => properties[field].length > 0);
  return {
    name: isCompared('firstName', 'lastName', 'fullName') ? joined([firstName, lastName]) : '',
    birthDate: isCompared('birthDate') ? birthDate : null,
    addresses: isCompared('email') ? present([email]) : [],
    phones: isCompared('phone', 'mobilePhone') ? present([phone, mobilePhone]) : [],
  };
}

/** Returns a contact's compared fields. */
export function contactAsPerson(
  { properties: values, otherAddresses }: { properties: CrmItem['properties']; otherAddresses: readonly string[] },
  properties: ComparedProperties,
): Person {
  const valuesOf = (...fields: Compared[]) =>
    present(fields.flatMap((field) => properties[field].map((name) => asText(values[name]))));
  const [fullName] = valuesOf('fullName');
  return {
    name: fullName ?? joined(valuesOf('firstName').slice(0, 1).concat(valuesOf('lastName').slice(0, 1))),
    birthDate: /^\d{4}-\d{2}-\d{2}/.exec(valuesOf('birthDate')[0] ?? '')?.[0] ?? null,
    addresses: [...valuesOf('email'), ...present(otherAddresses)],
    phones: valuesOf('phone', 'mobilePhone'),
  };
}

/**
 * Finds possible matches: equal email address, equal telephone, or equal name and birth date. An operator chooses.
 * @param patients by record
 * @param contacts by remote id
 * @param phone converts a number to E.164; null for other text
 */
export function* matchPeople(
  patients: ReadonlyMap<string, Person>,
  contacts: ReadonlyMap<string, Person>,
  phone: (written: string) => string | null,
): Pieces<Matching> {
  const fold = (person: Person) => folded(person, phone);
  const byClue = new Map<string, { recordIds: string[]; remoteIds: string[] }>();
  const [existing, wanted] = [new Map<string, Folded>(), new Map<string, Folded>()];
  const collect = (people: Map<string, Folded>, side: 'recordIds' | 'remoteIds') => {
    return ([id, person]: [string, Person]) => {
      const one = fold(person);
      people.set(id, one);
      for (const clue of cluesOf(one)) {
        const sharing = byClue.get(clue) ?? { recordIds: [], remoteIds: [] };
        sharing[side].push(id);
        byClue.set(clue, sharing);
      }
    };
  };
  yield* eachInPieces(patients, collect(wanted, 'recordIds'));
  yield* eachInPieces(contacts, collect(existing, 'remoteIds'));
  const pairs = new Map<string, [recordId: string, remoteId: string]>();
  let tooCommon = 0;
  yield* eachInPieces(byClue.values(), ({ recordIds, remoteIds }) => {
    const isShared = recordIds.length > 0 && remoteIds.length > 0;
    if (isShared && Math.max(recordIds.length, remoteIds.length) > MOST_SHARING) tooCommon += 1;
    else
      for (const recordId of recordIds)
        for (const remoteId of remoteIds) pairs.set(JSON.stringify([recordId, remoteId]), [recordId, remoteId]);
  });
  const contactsOf = Map.groupBy(pairs.values(), ([recordId]) => recordId);
  const patientsOf = Map.groupBy(pairs.values(), ([, remoteId]) => remoteId);
  const matches = [...pairs.values()].map(([recordId, remoteId]): Match => {
    const traits = comparison(wanted.get(recordId)!, existing.get(remoteId)!);
    const rivals = { contacts: contactsOf.get(recordId)!.length, patients: patientsOf.get(remoteId)!.length };
    return { recordId, remoteId, ...traits, ...rivals };
  });
  return { matches: matches.sort((one, other) => (one.recordId < other.recordId ? -1 : 1)), tooCommon };
}

/** Returns a digest of data shown to an operator, to detect a later change. */
export function digestOf(seen: unknown): string {
  return createHash('sha256').update(JSON.stringify(seen)).digest('base64url').slice(0, 22);
}

/** Normalised fields, independent of spelling. */
interface Folded {
  email: readonly string[];
  phone: readonly string[];
  name: readonly string[];
  'birth-date': readonly string[];
}

function folded({ name, birthDate, addresses, phones }: Person, phone: (written: string) => string | null): Folded {
  const words = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return {
    email: addresses.map((address) => address.trim().toLowerCase()).filter((address) => address.includes('@')),
    phone: present(phones.map(phone)),
    // Sorted, because some users write the last name first.
    name: words === null ? [] : [words.sort().join(' ')],
    'birth-date': birthDate === null ? [] : [birthDate],
  };
}

function cluesOf({ email, phone, name, 'birth-date': birthDate }: Folded): Set<string> {
  const both = name.length > 0 && birthDate.length > 0 ? [`name ${birthDate[0]} ${name[0]}`] : [];
  return new Set([...email.map((each) => `email ${each}`), ...phone.map((each) => `phone ${each}`), ...both]);
}

function comparison(one: Folded, other: Folded): { same: Trait[]; differs: Trait[] } {
  const traits = (['email', 'phone', 'name', 'birth-date'] as const).filter(
    (trait) => one[trait].length > 0 && other[trait].length > 0,
  );
  const isSame = (trait: Trait) => one[trait].some((value) => other[trait].includes(value));
  return { same: traits.filter(isSame), differs: traits.filter((trait) => !isSame(trait)) };
}

function present(texts: readonly (string | null)[]): string[] {
  return texts.flatMap((text) => (text === null || text.trim() === '' ? [] : [text.trim()]));
}

function joined(names: readonly (string | null)[]): string {
  return present(names).join(' ');
}

function asText(value: CrmItem['properties'][string] | undefined): string | null {
  return value === undefined || value === null ? null : String(value);
}
