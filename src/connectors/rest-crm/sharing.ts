import type { CrmItem, PropertyValue } from '../../model/items.ts';
import type { ItemKey, Operation, Outcome } from '../../model/operations.ts';
import type { CrmRow } from './from-model.ts';
import type { Scope } from './scope.ts';
import type { Write } from './writing.ts';

/** Carries out operations; `before`: what was seen under their keys then. */
type CarryOutAll = (
  scope: Scope,
  operations: readonly Operation<CrmItem>[],
) => Promise<{ outcomes: Outcome<CrmItem>[]; before: ReadonlyMap<ItemKey, readonly CrmRow[]> }>;

/**
 * Carries out operations where the CRM lets no two records have the same value of a property, as relatives have one address. What it
 * refuses is written once more without such values, whatever they were refused for; where another one of this call gave the value up,
 * it is tried with it before. `stored` tells what was left out.
 * @returns one outcome for each operation
 */
export async function writeSharing(
  scope: Scope,
  operations: readonly Operation<CrmItem>[],
  carryOutAll: CarryOutAll,
): Promise<Outcome<CrmItem>[]> {
  const { outcomes, before } = await carryOutAll(scope, operations);
  const { unique } = scope.resource;
  const ends = new Map(outcomes.map((outcome) => [outcome.recordId, outcome]));
  const refused = () => operations.filter((operation) => hasAny(operation, unique) && isRefused(ends, operation));
  const freed = refused().length === 0 ? new Set() : valuesGivenUp(unique, operations, ends, before);
  const free = refused().filter(({ item }) => valuesOf(unique, item).some((value) => freed.has(value)));
  if (free.length > 0) for (const end of (await carryOutAll(scope, free)).outcomes) ends.set(end.recordId, end);
  const reduced = new Map(refused().map((operation) => [operation.recordId, without(operation, unique)]));
  if (reduced.size === 0) return [...ends.values()];
  const { outcomes: again } = await carryOutAll(scope, [...reduced.values()]);
  for (const end of again) {
    // What it was refused for first says more than what was refused of the rest.
    if (end.result === 'failed' && end.error.code === 'record-refused') continue;
    const { item } = reduced.get(end.recordId)!;
    ends.set(end.recordId, end.result === 'written' ? { ...end, stored: end.stored ?? item } : end);
  }
  return [...ends.values()];
}

function isRefused(ends: ReadonlyMap<string, Outcome<CrmItem>>, { recordId }: Write): boolean {
  const end = ends.get(recordId);
  return end?.result === 'failed' && end.error.code === 'record-refused';
}

function hasAny(operation: Operation<CrmItem>, names: readonly string[]): operation is Write {
  return operation.kind !== 'delete' && valuesOf(names, operation.item).length > 0;
}

function without(operation: Write, names: readonly string[]): Write {
  const properties: Record<string, PropertyValue> = { ...operation.item.properties };
  for (const name of names) if (Object.hasOwn(properties, name)) properties[name] = null;
  return { ...operation, item: { ...operation.item, properties } };
}

/** Values that records had before and have no more, since this call wrote or deleted them. */
function valuesGivenUp(
  names: readonly string[],
  operations: readonly Operation<CrmItem>[],
  ends: ReadonlyMap<string, Outcome<CrmItem>>,
  before: ReadonlyMap<ItemKey, readonly CrmRow[]>,
): Set<string> {
  const given = operations.flatMap((operation) => {
    if (ends.get(operation.recordId)?.result === 'failed') return [];
    const now = new Set(operation.kind === 'delete' ? [] : valuesOf(names, operation.item));
    const had = (before.get(operation.key) ?? []).flatMap(({ remote }) => valuesOf(names, remote.item));
    return had.filter((value) => !now.has(value));
  });
  return new Set(given);
}

/** Values with their properties' names, the same whatever their case; those that are empty are none. */
function valuesOf(names: readonly string[], item: CrmItem | null): string[] {
  return names.flatMap((name) => {
    const value = item?.properties[name] ?? null;
    return value === null || value === '' ? [] : [`${name} ${String(value).toLowerCase()}`];
  });
}
