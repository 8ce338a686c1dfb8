import type { HttpResponse } from '../../http/client.ts';
import { readJson } from '../../http/json.ts';
import { type LongNumbers, longNumbersIn } from '../../model/json.ts';
import type { InvalidRow } from '../../model/records.ts';
import type { Lookup } from '../../model/snapshots.ts';
import type { ClinicContext } from '../http/call.ts';
import { addressOf, send } from '../http/call.ts';
import { clinicError, saysAbsent } from '../http/errors.ts';
import { asId, compilePaths, ITSELF, isJsonObject, type JsonObject, type RowMapper, valueAt } from '../http/rows.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { RESOURCE_PATHS, type ResourceName } from '../schema/resources.ts';

/** One record that is wanted. */
export interface RecordQuestion {
  list: ResourceName;
  tenantId: string;
  id: string;
  signal: AbortSignal;
}

/** The path of a list, or of what is below it. */
export function segmentsOf(list: ResourceName, tenantId: string, ...more: string[]): string[] {
  return ['tenants', tenantId, ...RESOURCE_PATHS[list], ...more];
}

/** One record as the clinic sends it; null for 404 and 410. */
export async function readRow(context: ClinicContext, question: RecordQuestion): Promise<JsonObject | null> {
  return (await readToWrite(context, question))?.row ?? null;
}

/** The same, with what is needed to send the row back as it was. */
export async function readToWrite(
  context: ClinicContext,
  question: RecordQuestion,
): Promise<{ row: JsonObject; longNumbers: () => LongNumbers } | null> {
  const { list, tenantId, id, signal } = question;
  const label = labelOf(list);
  const url = addressOf(context, segmentsOf(list, tenantId, id));
  const accepts = (answer: HttpResponse) => saysAbsent(answer, context.profile);
  const answer = await send(context, { label, url, signal, accepts });
  if (accepts(answer)) return null;
  const row = recordIn(answer, label, context.profile, list);
  return { row, longNumbers: () => longNumbersIn(answer.body.toString()) };
}

/**
 * One record by its id; 404, 410 and a tombstone mean `absent`.
 * @param isAsked whether a record is the one that was asked for; by its id when absent
 * @throws MirrorError `contract`, code `wrong-record`, when another came
 */
export async function readOne<Model extends object>(
  context: ClinicContext,
  question: RecordQuestion,
  map: RowMapper<Model>,
  isAsked: (record: Model) => boolean = (record) => Reflect.get(record, 'id') === question.id,
): Promise<Lookup<Model>> {
  const row = await readRow(context, question);
  if (row === null) return { absent: true };
  const mapped = ofTenant(context.profile, question, map)(row);
  if ('unusable' in mapped) {
    // Two such answers count like two that say that the record is not there.
    if (mapped.unusable.isTombstone === true) return { absent: true };
    return { unusable: { ...mapped.unusable, recordId: question.id } };
  }
  if (isAsked(mapped.record)) return { found: mapped.record };
  throw clinicError('wrong-record', `${labelOf(question.list)}: another record came than the one asked for`);
}

/**
 * The JSON object of an answer for one record.
 * @param of the resource that it is of
 * @throws MirrorError `contract`, code `not-a-record`, and those of `readJson`
 */
export function recordIn(
  answer: HttpResponse,
  label: string,
  profile: ClinicProfile,
  of: ResourceName | 'tenantInfo',
): JsonObject {
  const whole = readJson(answer, label);
  const path = profile[of].recordPath ?? profile.recordPath;
  const record = path === null || path === ITSELF ? whole : valueAt(whole, path);
  if (isJsonObject(record)) return record;
  throw clinicError('not-a-record', `${label}: the answer is no record`);
}

function labelOf(list: ResourceName): string {
  return `clinic.${list}.read`;
}

/** Where a row was asked for. */
interface RowSource {
  list: ResourceName;
  tenantId: string;
}

/** Whether a row was set aside because it names another tenant: the list that it came in proves nothing by what it does not show. */
export function isForeign({ code }: InvalidRow): boolean {
  return code === 'wrong-tenant';
}

/** The rows of a tenant: one that names another is set aside with the code `wrong-tenant`, whatever else it holds. */
export function ofTenant<Model>(profile: ClinicProfile, source: RowSource, map: RowMapper<Model>): RowMapper<Model> {
  const namesAnother = compileOwnership(profile, source);
  const fields: object = profile[source.list].fields;
  const readId = compilePaths((fields as { id?: readonly string[] }).id ?? []);
  return (row) => {
    if (!namesAnother(row)) return map(row);
    const recordId = isJsonObject(row) ? asId(readId(row)) : null;
    return { unusable: { recordId, code: 'wrong-tenant', field: 'tenantId' } };
  };
}

/** @throws MirrorError `contract`, code `record-of-another`, for a row that names another tenant: nothing is written on its ground */
export function requireOwn(profile: ClinicProfile, source: RowSource, label: string, row: unknown): void {
  if (!compileOwnership(profile, source)(row)) return;
  const remedy = `if it is the tenant's own, mend ${source.list}.tenantId in the clinic profile`;
  throw clinicError('record-of-another', `${label}: the record names another tenant`, { remedy });
}

function compileOwnership(profile: ClinicProfile, { list, tenantId }: RowSource): (row: unknown) => boolean {
  const read = compilePaths(profile[list].tenantId);
  return (row) => {
    const stated = isJsonObject(row) ? read(row) : null;
    return stated !== null && asId(stated) !== tenantId;
  };
}
