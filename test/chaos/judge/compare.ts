import type { Entry, History } from './history.ts';
import { type Shown, shownOf, type TargetRules, verdictOn } from './rules.ts';

/** An object of a target as its own protocol shows it. */
export interface RemoteObject extends Shown {
  id: string;
  /** The object's calendar. */
  container: string;
}

/** One difference between the clinic and a target. */
export interface Difference {
  kind: 'duplicate' | 'missing' | 'wrong';
  /** Of the clinic; null for an object that no appointment accounts for. */
  appointment: string | null;
  text: string;
}

/** Objects that users created, and appointments whose objects users changed before a daemon noticed. */
export interface Exceptions {
  /** Ids of objects. */
  strangers: ReadonlySet<string>;
  /** Ids of appointments. */
  touched: ReadonlySet<string>;
}

/**
 * Compares a target's content with the clinic's data between two times: unchanged data must be present exactly, changed data may be present
 * in any of its versions.
 * @param from epoch ms of the reported in-sync time
 * @param to epoch ms of the read
 */
export function compareTarget(
  history: History,
  rules: TargetRules,
  remote: readonly RemoteObject[],
  { from, to, strangers, touched }: { from: number; to: number } & Exceptions,
): Difference[] {
  const left = remote.filter(({ id }) => !strangers.has(id));
  const differences: Difference[] = [];
  const unmet = [...history.between(from, to)].flatMap(([id, versions]) => {
    const verdicts = versions.map((entry) => verdictOn(entry, rules, from));
    const wanted = versions.filter((_, index) => verdicts[index] !== 'hidden').map(shownOf);
    const right = left.find((object) => wanted.some((shown) => isSame(object, shown)));
    if (right !== undefined) left.splice(left.indexOf(right), 1);
    const must = !history.isYoungerThan(id, from) && verdicts.every((verdict) => verdict === 'shown');
    return right === undefined && !touched.has(id) ? [{ id, wanted, must, surnames: surnamesOf(versions) }] : [];
  });
  // After a merge several appointments have one surname: those with an exact object are met first.
  for (const { id, wanted, must, surnames } of unmet) {
    const other = left.find(({ title }) => surnames.some((surname) => title.includes(surname)));
    if (other !== undefined && wanted.length > 0) {
      left.splice(left.indexOf(other), 1);
      differences.push({ kind: 'wrong', appointment: id, text: `${textOf(other)} instead of ${wanted.map(textOf)}` });
    } else if (must) differences.push({ kind: 'missing', appointment: id, text: wanted.map(textOf).join(' or ') });
  }
  const named = [...history.between(from, to)].map(([id, versions]) => [id, surnamesOf(versions)] as const);
  for (const object of left) {
    const ids = named.flatMap(([id, surnames]) => (surnames.some((one) => object.title.includes(one)) ? [id] : []));
    const [appointment = null] = ids;
    if (ids.some((id) => touched.has(id))) continue;
    differences.push({ kind: 'duplicate', appointment, text: textOf(object) });
  }
  return differences;
}

function surnamesOf(versions: readonly Entry[]): string[] {
  return [...new Set(versions.map(surnameOf))];
}

/** Returns the surname, which identifies an appointment in every title. Only a merge of patients gives several appointments one surname. */
export function surnameOf({ lastName, id }: Entry): string {
  return lastName === '' ? id : lastName;
}

function isSame(one: Shown, other: Shown): boolean {
  return one.title === other.title && one.startAt === other.startAt && one.endAt === other.endAt;
}

function textOf({ title, startAt, endAt }: Shown): string {
  return `"${title}" ${new Date(startAt).toISOString().slice(0, 16)}–${new Date(endAt).toISOString().slice(11, 16)}`;
}
