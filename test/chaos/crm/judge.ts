import { type ExpectedState, timeOf, type Values, type Wanted } from './expected.ts';

/** A record that was found in a CRM. */
export interface Found {
  id: string;
  /** Whether the record carries a key of clinic-mirror. */
  isOurs: boolean;
  values: Values;
  /** Ids of the contacts that it belongs to. */
  contactIds: readonly string[];
}

/** Content of a CRM, and its content before the first start of the daemon. */
export interface Holdings {
  contacts: readonly Found[];
  activities: readonly Found[];
  strangers: Strangers;
}

/** Records that people made: each in all its bytes, by id. */
export interface Strangers {
  before: ReadonlyMap<string, string>;
  now: ReadonlyMap<string, string>;
}

/** How one kind of record stands against what the clinic holds. */
export interface Tally {
  /** Expected records. */
  records: number;
  remoteRecords: number;
  /** Unexpected records: duplicates, patients without consent, cancelled appointments. */
  duplicates: number;
  missing: number;
  /** Records with other values than expected, or that belong to another contact, to none or to several. */
  wrong: number;
  /** Each difference, with the found and the expected record. */
  texts: { kind: 'duplicates' | 'missing' | 'wrong'; text: string }[];
}

/** How one CRM stands. */
export interface CrmTotals {
  contacts: Tally;
  activities: Tally;
  strangers: { records: number; changed: number };
}

/** Compares what a CRM holds with what is expected. */
export function judge({ contacts, activities, strangers }: Holdings, expected: ExpectedState): CrmTotals {
  const isStranger = ({ id }: Found) => strangers.before.has(id);
  const ours = contacts.filter((contact) => !isStranger(contact));
  const names = new Map(ours.flatMap(({ id, isOurs, values }) => (isOurs ? [[id, values.lastName ?? '']] : [])));
  const people = tally(
    ours.map(({ isOurs, values }) => ({ identity: isOurs ? (values.lastName ?? '') : 'without a key', values })),
    expected.contacts,
  );
  const visits = activities
    .filter((activity) => !isStranger(activity))
    .map(({ isOurs, values: { startAt = null, endAt = null, status = null }, contactIds }) => {
      // An activity of several contacts, or of a stranger's contact, is never expected.
      const owner = contactIds.length === 1 ? (names.get(contactIds[0] ?? '') ?? null) : null;
      return { identity: isOurs ? timeOf(startAt, endAt) : 'without a key', values: { owner, status } };
    });
  const addresses = ours.map(({ values }) => values.email);
  const lost = expected.sharedAddresses.filter((address) => addresses.filter((each) => each === address).length !== 1);
  const changed = [...strangers.before].filter(([id, bytes]) => strangers.now.get(id) !== bytes);
  return {
    contacts: { ...people, wrong: people.wrong + lost.length },
    activities: tally(visits, expected.activities),
    strangers: { records: strangers.before.size, changed: changed.length },
  };
}

interface Seen {
  identity: string;
  values: Values;
}

/** Pairs both sides one to one: first those that agree, then those of one identity that don't. */
function tally(found: readonly Seen[], wanted: readonly Wanted[]): Tally {
  const left = new Map<string, Seen[]>();
  for (const one of found) left.set(one.identity, [...(left.get(one.identity) ?? []), one]);
  const unpaired = wanted.filter(({ identity, alternatives }) => {
    const candidates = left.get(identity) ?? [];
    const index = candidates.findIndex(({ values }) => alternatives.some((each) => isSame(each, values)));
    if (index >= 0) candidates.splice(index, 1);
    return index < 0;
  });
  const texts = unpaired.map(({ identity, alternatives: [one = {}] }): Tally['texts'][number] => {
    const other = left.get(identity)?.pop();
    return other === undefined
      ? { kind: 'missing', text: identity }
      : { kind: 'wrong', text: `${identity}, ${differing(other.values, one)}` };
  });
  for (const { identity } of [...left.values()].flat()) texts.push({ kind: 'duplicates', text: identity });
  const count = (wantedKind: string) => texts.filter(({ kind }) => kind === wantedKind).length;
  const counts = { duplicates: count('duplicates'), missing: count('missing'), wrong: count('wrong') };
  return { records: wanted.length, remoteRecords: found.length, ...counts, texts };
}

function differing(found: Values, wanted: Values): string {
  const names = Object.keys(wanted).filter((name) => (found[name] ?? null) !== wanted[name]);
  return names.map((name) => `${name} ${found[name] ?? 'nothing'} instead of ${wanted[name] ?? 'nothing'}`).join(', ');
}

function isSame(wanted: Values, found: Values): boolean {
  return Object.entries(wanted).every(([name, value]) => (found[name] ?? null) === value);
}

/** Returns whether a CRM shows exactly the expected records, and strangers' records are unchanged. */
export function isExactCrm({ contacts, activities, strangers }: CrmTotals): boolean {
  const faults = [contacts, activities].map(({ duplicates, missing, wrong }) => duplicates + missing + wrong);
  return faults.every((many) => many === 0) && strangers.changed === 0;
}
