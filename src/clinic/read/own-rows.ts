import { MirrorError } from '../../model/errors.ts';
import type { SetAside } from '../../model/records.ts';
import { asId, compilePaths, isJsonObject, type RowMapper } from '../http/rows.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import type { ResourceName } from '../schema/resources.ts';

/** Where a row was asked for. */
interface Place {
  list: ResourceName;
  tenantId: string;
}

/** Whether a row was set aside because it names another tenant: the list that it came in proves nothing by what it does not show. */
export function isForeign({ code }: SetAside): boolean {
  return code === 'wrong-tenant';
}

/** The rows of a tenant: one that names another is set aside with the code `wrong-tenant`, whatever else it holds. */
export function ofTenant<Model>(profile: ClinicProfile, place: Place, map: RowMapper<Model>): RowMapper<Model> {
  const namesAnother = compileOwnership(profile, place);
  const fields: object = profile[place.list].fields;
  const readId = compilePaths((fields as { id?: readonly string[] }).id ?? []);
  return (row) => {
    if (!namesAnother(row)) return map(row);
    const recordId = isJsonObject(row) ? asId(readId(row)) : null;
    return { setAside: { recordId, code: 'wrong-tenant', field: 'tenantId' } };
  };
}

/** @throws MirrorError `contract`, code `record-of-another`, for a row that names another tenant: nothing is written on its ground */
export function requireOwn(profile: ClinicProfile, place: Place, label: string, row: unknown): void {
  if (!compileOwnership(profile, place)(row)) return;
  throw new MirrorError(`${label}: the record names another tenant`, {
    actor: 'contract',
    code: 'record-of-another',
    retry: 'later',
    remedy: `if it is the tenant's own, mend ${place.list}.tenantId in the clinic profile`,
  });
}

function compileOwnership(profile: ClinicProfile, { list, tenantId }: Place): (row: unknown) => boolean {
  const read = compilePaths(profile[list].tenantId);
  return (row) => {
    const told = isJsonObject(row) ? read(row) : null;
    return told !== null && asId(told) !== tenantId;
  };
}
