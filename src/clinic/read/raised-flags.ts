import type { JsonObject } from '../../described-api/paths.ts';
import { asFlag, compilePaths } from '../http/rows.ts';
import type { RaisedBy } from '../schema/resources.ts';

/** Compiles the check of a flag. Clinics also write yes and no as numbers and words. */
export function compileRaised({ path, when }: RaisedBy): (row: JsonObject) => boolean {
  const read = compilePaths([path]);
  const values: readonly unknown[] = Array.isArray(when) ? when : [when];
  const flags: unknown[] = values.filter((one) => typeof one === 'boolean');
  return (row) => {
    const value = read(row);
    if (when === 'present') return (value ?? '') !== '' && asFlag(value) !== false;
    return values.includes(value) || (flags.length > 0 && flags.includes(asFlag(value)));
  };
}

/** Compiles the check of several flags: one set flag is sufficient. */
export function anyRaised(flags: readonly RaisedBy[]): (row: JsonObject) => boolean {
  const checks = flags.map(compileRaised);
  return (row) => checks.some((isRaised) => isRaised(row));
}
