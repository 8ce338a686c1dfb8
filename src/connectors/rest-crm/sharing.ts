import type { CrmItem, PropertyValue } from '../../model/items.ts';
import type { ItemKey, Operation, Outcome } from '../../model/operations.ts';
import type { CrmRow } from './from-model.ts';
import type { Scope } from './scope.ts';
import type { Write } from './writing.ts';

/** Carries out operations; `before`: what was seen under their keys then. */
type CarryOutAll = (
  operations: readonly Operation<CrmItem>[],
) => Promise<{ outcomes: Outcome<CrmItem>[]; before: ReadonlyMap<ItemKey, readonly CrmRow[]> }>;

/**
 * Carries out operations where the CRM lets no two records have the same value of a property, as relatives have one address. What it
 * refuses is written once more without such values, whatever it was refused for, and `stored` tells so; where another one of this call
 * gave the value up, as when two exchange theirs, it is tried with it after that.
 * @returns one outcome for each operation
 */
export async function writeSharing(
  scope: Scope,
  operations: readonly Operation<CrmItem>[],
  carryOutAll: CarryOutAll,
): Promise<Outcome<CrmItem>[]> {
  const { outcomes, before } = await carryOutAll(operations);
  const { unique } = scope.resource;
  const ends = new Map(outcomes.map((outcome) => [outcome.recordId, outcome]));
  const refused = operations.filter((operation) => hasAny(operation, unique)).filter((one) => isRefused(ends, one));
  if (refused.length === 0) return outcomes;
  const reduced = new Map(refused.map((operation) => [operation.recordId, without(operation, unique)]));
  for (const end of (await carryOutAll([...reduced.values()])).outcomes) {
    // What it was refused for first says more than what was refused of the rest.
    if (end.result === 'failed' && end.error.code === 'record-refused') reduced.delete(end.recordId);
    else ends.set(end.recordId, withStored(end, reduced));
  }
  const now = operations.map((operation) => reduced.get(operation.recordId) ?? operation);
  const freed = valuesGivenUp(unique, now, ends, before);
  const freely = refused.filter(
    ({ recordId, item }) => reduced.has(recordId) && valuesOf(unique, item).some((value) => freed.has(value)),
  );
  if (freely.length === 0) return [...ends.values()];
  for (const end of (await carryOutAll(freely)).outcomes) {
    const first = ends.get(end.recordId);
    if (end.result === 'written' && first?.result === 'written')
      ends.set(end.recordId, { ...end, effect: first.effect });
  }
  return [...ends.values()];
}

/** What was left out is told, also where the CRM shows nothing of what it stored. */
function withStored(end: Outcome<CrmItem>, reduced: ReadonlyMap<string, Write>): Outcome<CrmItem> {
  return end.result === 'written' ? { ...end, stored: end.stored ?? reduced.get(end.recordId)!.item } : end;
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
