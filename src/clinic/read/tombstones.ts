import type { SetAside } from '../../model/records.ts';
import { asId, compilePaths, isJsonObject, type JsonObject, type Mapped } from '../http/rows.ts';
import type { RaisedBy } from '../schema/resources.ts';
import { compileRaised } from './statuses.ts';

/** What of a list's profile tells tombstones. */
interface TombstoneRules {
  fields: { id: readonly string[] };
  deletedFlags: readonly RaisedBy[];
}

/**
 * Wraps a mapper so that a row with a raised `deletedFlags` becomes a tombstone, whatever else the row holds, and so does a row that can't be
 * read and is cancelled. A tombstone needs an id and nothing else.
 * @param isCancelled whether a row that can't be read says by itself that its record is cancelled
 */
export function withTombstones<Model, Rest extends unknown[]>(
  { fields, deletedFlags }: TombstoneRules,
  map: (row: unknown, ...rest: Rest) => Mapped<Model>,
  isCancelled: (row: JsonObject) => boolean = () => false,
): (row: unknown, ...rest: Rest) => Mapped<Model> {
  const flags = deletedFlags.map(compileRaised);
  const readId = compilePaths(fields.id);
  const tombstoneOf = (row: JsonObject): { setAside: SetAside } | null => {
    const recordId = asId(readId(row));
    return recordId === null ? null : { setAside: { recordId, code: 'tombstone', field: 'status', isTombstone: true } };
  };
  return (row, ...rest) => {
    if (!isJsonObject(row)) return map(row, ...rest);
    const deleted = flags.some((isRaised) => isRaised(row)) ? tombstoneOf(row) : null;
    if (deleted !== null) return deleted;
    const mapped = map(row, ...rest);
    return 'setAside' in mapped && isCancelled(row) ? (tombstoneOf(row) ?? mapped) : mapped;
  };
}
