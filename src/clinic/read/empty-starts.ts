import { isJsonObject, valueAt } from '../../described-api/paths.ts';
import { APART, asId, compilePaths, type Mapped } from '../http/rows.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { anyRaised } from './raised-flags.ts';

/** Values of systems for no date: year 0 or 1, and the first days of date types (1899-12-30, 1900-01-01, 1753-01-01), at midnight. */
const ZERO_DATE =
  /^(?:(?:0000|0001)[-/.]?\d\d[-/.]?\d\d|\d\d[-/.]\d\d[-/.](?:0000|0001)|1899-12-3[01]|1900-01-01|1753-01-01)(?:(?:[T ]| \+ )[0:.]*(?:Z|[+-]\d\d:?\d\d)?)?$/i;
/** The smallest time of .NET, in milliseconds since 1970. */
const DOT_NET_ZERO = /^\\?\/Date\(-62135\d{9}(?:[+-]\d{4})?\)\\?\/$/;

/**
 * Wraps a mapper of appointments: an unusable row whose start is stated as empty (null, an empty text, a zero date) is not scheduled, and
 * becomes a tombstone. A row without the field becomes one only with a flag of `unscheduledFlags`; otherwise it is unusable, because the
 * profile may name a wrong field.
 */
export function withEmptyStarts<Model>(
  {
    epochUnit,
    appointments: { fields, emptyStartMeansUnscheduled, unscheduledFlags },
  }: Pick<ClinicProfile, 'appointments' | 'epochUnit'>,
  map: (row: unknown) => Mapped<Model>,
): (row: unknown) => Mapped<Model> {
  if (!emptyStartMeansUnscheduled) return map;
  const readId = compilePaths(fields.id);
  const mayLackStart = anyRaised(unscheduledFlags);
  const isEmpty = (value: unknown) => {
    if (value === null || (value === 0 && epochUnit !== null)) return true;
    const text = typeof value === 'string' ? value.trim() : null;
    return text !== null && (text === '' || ZERO_DATE.test(text) || DOT_NET_ZERO.test(text));
  };
  return (row) => {
    const mapped = map(row);
    if (!('unusable' in mapped) || mapped.unusable.isTombstone === true || !isJsonObject(row)) return mapped;
    const recordId = asId(readId(row));
    const stated = fields.start
      .map((path) => valueAt(row, path.split(APART)[0] ?? path))
      .filter((one) => one !== undefined);
    const isUnscheduled = stated.length === 0 ? mayLackStart(row) : stated.every(isEmpty);
    if (recordId === null || !isUnscheduled) return mapped;
    return { unusable: { recordId, code: 'tombstone', field: 'start', isTombstone: true } };
  };
}
