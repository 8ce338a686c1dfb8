import type { Lookup } from '../../model/snapshots.ts';
import type { ClinicContext } from '../http/context.ts';
import { isJsonObject, type RowMapper } from '../http/rows.ts';
import type { FieldPaths, RecordOf, Shape } from '../schema/fields.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { RESOURCES, type ResourceName } from '../schema/resources.ts';
import { compileConsents } from './catalogue-rows.ts';
import { compileFullName, type Names } from './full-names.ts';
import { type ListPage, readCatalogue } from './lists.ts';
import { readOne } from './reading.ts';
import { compileRecords } from './records.ts';

/** A record of a list, as the API has it. */
export type ClinicRecord<Name extends ResourceName> = RecordOf<(typeof RESOURCES)[Name]>;

/** Reads one list of the clinic (specification section 4). All throw MirrorError; see `errors.ts` for who must act. */
export interface ResourceCalls<Model> {
  /**
   * The list page by page, each id once; an iteration that ends without throwing has seen the whole list.
   * @param parameters query parameters beside those of paging, by the clinic's own names
   */
  list(tenantId: string, parameters: readonly [string, string][], signal: AbortSignal): AsyncIterable<ListPage<Model>>;
  /** One record by its id; 404 and 410 mean `absent`. */
  read(tenantId: string, id: string, signal: AbortSignal): Promise<Lookup<Model>>;
}

/**
 * Prepares the reading of a list under the context's profile.
 * @param map makes records of its rows; as the API has them when absent
 */
export function createReadingCalls<Name extends ResourceName, Model extends object = ClinicRecord<Name>>(
  context: ClinicContext,
  name: Name,
  map: RowMapper<Model> = mapperOf(context, name),
): ResourceCalls<Model> {
  return {
    list: (tenantId, parameters, signal) =>
      readCatalogue(context, { list: name, tenantId, parameters: [...parameters], signal }, map),
    read: (tenantId, id, signal) => readOne(context, { list: name, tenantId, id, signal }, map),
  };
}

/** Makes records of a list's rows, as the API has them. */
export function mapperOf<Name extends ResourceName, Model = ClinicRecord<Name>>(
  { compiled }: Pick<ClinicContext, 'compiled'>,
  name: Name,
): RowMapper<Model> {
  return compiled.of(compileMapper, name) as RowMapper<Model>;
}

/** Of patients with what they agree to, which is read alone. */
function compileMapper(profile: ClinicProfile, name: ResourceName): RowMapper<RecordOf<Shape>> {
  const { fields, words } = profile[name];
  const map = compileRecords<Shape>(RESOURCES[name], fields as FieldPaths<Shape>, profile, words);
  if (name !== 'patients') return map;
  const consentsOf = compileConsents(profile);
  const namesIn = compileFullName(profile.patients.fullName);
  return (row) => {
    const mapped = map(row);
    if (!('record' in mapped) || !isJsonObject(row)) return mapped;
    const { firstName, lastName } = namesIn(row, mapped.record as unknown as Names);
    return { record: { ...mapped.record, firstName, lastName, consents: consentsOf(row) as never } as never };
  };
}
