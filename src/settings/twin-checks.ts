import { message, withRemedy } from '../messages/message.ts';
import type { FilePart } from './describe-issue.ts';
import type { ConfigurationFault } from './faults.ts';

/*
 * Checks that two parts of a file do not share what only one may have. A file can have thousands of parts, so each is compared with the first
 * part of its kind and not with all others.
 */

/** Targets without a break. */
const TARGETS_AT_ONCE = 16;

/** A receiver under two names would get each document twice, with two ids. */
export function* checkDoubleEndpoints(endpoints: FilePart): Generator<ConfigurationFault> {
  const firsts = new Map<unknown, Firsts>();
  for (const name of endpoints.names) {
    const endpoint = endpoints.at(name);
    const url = endpoint.at('url');
    if (url.isMissing) continue;
    const ofUrl = firsts.get(url.value) ?? new Firsts();
    firsts.set(url.value, ofUrl);
    const first = ofUrl.take(name, endpoint.at('events').list);
    if (first !== null) yield endpoint.fault(...withRemedy('settings.endpoint-twice', { first }));
  }
}

/** State and owner tag of a target name belong to one target only. */
export function* checkFormerTargets(targets: FilePart): Generator<ConfigurationFault> {
  const names = new Set(targets.names);
  const formerOf = (name: string) => targets.at(name, 'formerly');
  const firsts = new Map<string, string>();
  for (const name of names) {
    const former = formerOf(name).text;
    if (former === null) continue;
    const first = names.has(former) ? former : firsts.get(former);
    if (first === undefined) firsts.set(former, name);
    if (first === undefined || former === name) continue;
    const code = first === former ? 'settings.target-exists' : 'settings.target-renamed';
    yield formerOf(name).fault(message(code, { name: first }), message('settings.target-formerly.remedy'));
  }
}

/** Two targets with an equal calendar and agenda would show each appointment twice. */
export function* checkDoubleTargets(targets: FilePart): Generator<ConfigurationFault | undefined> {
  const firsts = new Map<string, Firsts>();
  for (const [index, name] of targets.names.entries()) {
    if (index % TARGETS_AT_ONCE === TARGETS_AT_ONCE - 1) yield;
    const target = targets.at(name);
    const use = useOf(target);
    if (use === null) continue;
    const ofUse = firsts.get(use.where) ?? new Firsts();
    firsts.set(use.where, ofUse);
    const first = ofUse.take(name, use.agendas);
    if (first === null) continue;
    const code = target.at('crm').isMissing ? 'settings.calendar-twice' : 'settings.records-twice';
    yield target.fault(...withRemedy(code, { name: first }));
  }
}

/** A target's calendar or list of records, and the agendas in it; null if a part is missing. */
function useOf(target: FilePart): { where: string; agendas: readonly unknown[] | 'all' } | null {
  const parts = ['connector', 'connection', 'settings'].map((part) => target.at(part));
  const where = parts.map(({ value }) => sortedJson(value) ?? '');
  const agendas = target.at('agendas');
  const of = (value: unknown) => (value === 'all' ? value : Array.isArray(value) ? value : []);
  if (target.at('crm').isMissing) {
    if (parts.some(({ isMissing }) => isMissing)) return null;
    return { where: JSON.stringify(where), agendas: of(agendas.value) };
  }
  const stream = target.at('crm', 'stream').value ?? 'patients';
  const isDivided = stream === 'appointments';
  return { where: JSON.stringify([...where, stream]), agendas: isDivided ? of(agendas.value ?? 'all') : 'all' };
}

/** The first names with each element, in the order of their arrival. */
class Firsts {
  readonly #names: string[] = [];
  readonly #ofElements = new Map<unknown, number>();
  #ofAll: number | null = null;

  /** Returns the first earlier name with a common element, or null. @param elements `all` has an element in common with every list */
  take(name: string, elements: readonly unknown[] | 'all'): string | null {
    const index = this.#names.push(name) - 1;
    if (elements === 'all') {
      const first = this.#names[0] ?? name;
      this.#ofAll ??= index;
      return index === 0 ? null : first;
    }
    const found = elements.flatMap((element) => this.#ofElements.get(element) ?? []);
    for (const element of elements) if (!this.#ofElements.has(element)) this.#ofElements.set(element, index);
    if (this.#ofAll !== null) found.push(this.#ofAll);
    return found.length === 0 ? null : (this.#names[found.reduce((one, other) => Math.min(one, other))] ?? null);
  }
}

/** Serialises to JSON with sorted keys. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
