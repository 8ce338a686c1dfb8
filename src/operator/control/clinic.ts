import { type ClinicApi, callOf, createClinicApi, presented } from '../../clinic/api.ts';
import type { ClinicContext, PdfDownload, PreparedWrite } from '../../clinic/http/call.ts';
import type { FollowedLink } from '../../clinic/read/invoices.ts';
import { type ListPage, readList } from '../../clinic/read/lists.ts';
import { readRow } from '../../clinic/read/reading.ts';
import type { Shape } from '../../clinic/schema/fields.ts';
import { type ClinicOperation, OPERATIONS } from '../../clinic/schema/operations.ts';
import { RESOURCES, type ResourceName } from '../../clinic/schema/resources.ts';
import { tenantInfo } from '../../clinic/schema/shapes.ts';
import type { SerialiseSection } from '../../clinic/write/invoice-calls.ts';
import { MirrorError } from '../../core/model/errors.ts';
import type { InvalidRow } from '../../core/model/records.ts';
import { isJsonObject, type JsonObject } from '../../described-api/paths.ts';
import { message } from '../../messages/message.ts';
import { inputOf, notTaken, requireFiltered, requireValidFilters } from './clinic-input.ts';
import { type ClinicQuestion, operationOf } from './clinic-question.ts';

/** Clinic API of a tenant, for operator commands. */
export interface ClinicAccess {
  /** Tenant id in the configuration. */
  tenant: string;
  context: ClinicContext;
  /** Runs one invoice operation at a time per section, across all processes. */
  serialise: SerialiseSection;
  /** Returns the tenant's id in the clinic API, as in the daemon's cycles. @throws as `chooseTenant` */
  tenantId(signal: AbortSignal): Promise<string>;
  /** Configured id if the user has several tenants; null or absent for a single tenant. */
  configuredId?: string | null;
}

/** A page of readable records, and the rows that could not be parsed. */
export interface ClinicRows {
  records: JsonObject[];
  unusable: readonly InvalidRow[];
}

/**
 * Reads a list, page by page, or one record.
 * @throws MirrorError `settings`, code `no-such-record`, for an unknown id; API errors, where `missing-claim` names the scope and
 * `insufficient-permissions` the user
 */
export async function* readClinic(
  access: ClinicAccess,
  question: ClinicQuestion,
  signal: AbortSignal,
): AsyncGenerator<ClinicRows, void> {
  const operation = operationOf(question);
  const call = callOf(operation);
  const shape = shapeOf(question.resource);
  const show = (record: object) => presented(shape, record);
  try {
    const answer = call.run(apiOf(access), await inputOf(access.tenantId, question, signal), signal);
    if (isPages(answer)) {
      const requireWanted = requireFiltered(access, question);
      let rows = 0;
      for await (const { records, unusable } of answer) {
        rows += records.length + unusable.length;
        const shown = records.map(show);
        await requireWanted(shown, false, signal);
        yield { records: shown, unusable };
      }
      if (rows === 0) await requireValidFilters(access, question, signal);
      return;
    }
    const { record, unusable } = foundIn(await answer);
    yield { records: record === null ? [] : [show(record)], unusable };
  } catch (error) {
    if (isOfValues(error)) await requireValidFilters(access, question, signal);
    throw explained(error, operation, access);
  }
}

/** Yields unparsed clinic data, for lists and their records. @throws as {@link readClinic} */
export async function* readClinicRaw(
  access: ClinicAccess,
  question: ClinicQuestion,
  signal: AbortSignal,
): AsyncGenerator<ClinicRows, void> {
  const operation = operationOf(question);
  const { resource, ids, values, parameters } = question;
  if (!Object.hasOwn(RESOURCES, resource) || ids.length > 1) throw onlyLists();
  if (Object.keys(values).length > 0) throw notTaken('--data with --raw', message('not-taken.raw-data'));
  const [id] = ids;
  if (id !== undefined && parameters.length > 0) throw notTaken('--params', message('not-taken.leave-out'));
  const list = resource as ResourceName;
  try {
    const tenantId = await access.tenantId(signal);
    if (id === undefined) {
      const requireWanted = requireFiltered(access, question);
      let count = 0;
      const asked = { list, tenantId, parameters: [...parameters], signal };
      for await (const { rows } of readList(access.context, asked, (row) => row)) {
        count += rows.length;
        const records = rows.filter(isJsonObject);
        await requireWanted(records, true, signal);
        yield { records, unusable: [] };
      }
      if (count === 0) await requireValidFilters(access, question, signal);
    } else {
      const row = await readRow(access.context, { list, tenantId, id, signal });
      if (row === null) throw absent();
      yield { records: [row], unusable: [] };
    }
  } catch (error) {
    if (isOfValues(error)) await requireValidFilters(access, question, signal);
    throw explained(error, operation, access);
  }
}

/**
 * Reads an invoice and the doctors of its lines: a row for each doctor, and a row for each line or link without a doctor.
 * @throws MirrorError as {@link readClinic}; requires the scope `episodes` too
 */
export async function readInvoiceDoctors(
  access: ClinicAccess,
  question: ClinicQuestion,
  signal: AbortSignal,
): Promise<JsonObject[]> {
  const operation = operationOf(question);
  const { invoices } = apiOf(access);
  const [id] = question.ids;
  if (operation.subject !== 'invoices' || id === undefined)
    throw notTaken('--doctors', message('not-taken.give-invoice'));
  try {
    const { tenantId } = await inputOf(access.tenantId, question, signal);
    const found = await invoices.read(tenantId, id, signal);
    if ('absent' in found) throw absent();
    if ('unusable' in found) throw unreadable(found.unusable);
    const { items } = found.found;
    const { lines } = await invoices.resolve(tenantId, found.found, signal);
    return lines.flatMap(({ links }, index) => doctorRows(index + 1, items[index]?.description ?? null, links));
  } catch (error) {
    throw explained(error, operation, access);
  }
}

function doctorRows(line: number, description: string | null, links: readonly FollowedLink[]): JsonObject[] {
  const row = { line, description, episodeId: null, practiceId: null, doctor: null, fault: null };
  const nobody = { doctorId: null, role: null, share: null };
  if (links.length === 0) return [{ ...row, ...nobody }];
  return links.flatMap(({ episodeId, practiceId, doctors, fault }): JsonObject[] => {
    const link = { ...row, episodeId, practiceId, fault };
    if (doctors.length === 0) return [{ ...link, ...nobody }];
    return doctors.map(({ id, firstName, lastName, role, share }) => {
      const doctor = [firstName, lastName].filter((part) => part !== null && part !== '').join(' ');
      return { ...link, doctor, doctorId: id, role, share };
    });
  });
}

/** A prepared request without the token. */
export interface PreviewedRequest extends Omit<PreparedWrite, 'url'> {
  /** Without the base URL. */
  path: string;
}

/** Returns the request that a change would send. Reads the required data and checks a file, but changes nothing. */
export async function previewWrite(
  access: ClinicAccess,
  question: ClinicQuestion,
  signal: AbortSignal,
): Promise<PreviewedRequest> {
  let seen: PreviewedRequest | null = null;
  const beforeWrite = ({ url, ...write }: PreparedWrite) => {
    const { pathname, search } = new URL(url);
    seen = { ...write, path: pathname + search };
    throw new Error('held back: only shown');
  };
  const context = { ...access.context, beforeWrite };
  await writeClinic({ ...access, context }, question, signal).catch((error: unknown) => {
    if (seen === null) throw error;
  });
  if (seen === null) throw new Error('a write that sends nothing');
  return seen;
}

/**
 * Changes data in the clinic.
 * @returns the changed record; for a removal, whether the record existed
 * @throws as {@link readClinic}, and write errors of the API
 */
export async function writeClinic(
  access: ClinicAccess,
  question: ClinicQuestion,
  signal: AbortSignal,
): Promise<JsonObject> {
  const operation = operationOf(question);
  if (operation.method === 'GET') throw onlyLists();
  const call = callOf(operation);
  try {
    const answer = await call.run(apiOf(access), await inputOf(access.tenantId, question, signal), signal);
    if (typeof answer === 'boolean') return { removed: answer };
    return isJsonObject(answer) ? presented(shapeOf(question.resource), answer) : {};
  } catch (error) {
    if (isOfValues(error)) await requireValidFilters(access, question, signal);
    throw explained(error, operation, access);
  }
}

/** Returns the PDF of an invoice or report, as a stream. @throws as {@link readClinic} */
export async function readClinicPdf(
  access: ClinicAccess,
  question: ClinicQuestion,
  signal: AbortSignal,
): Promise<PdfDownload> {
  const asked = { ...question, verb: 'pdf', pdf: null };
  const operation = operationOf(asked);
  try {
    const input = await inputOf(access.tenantId, asked, signal);
    const answer = await callOf(operation).run(apiOf(access), input, signal);
    if (answer === null || answer === undefined) throw absent();
    return answer as PdfDownload;
  } catch (error) {
    throw explained(error, operation, access);
  }
}

/** Status codes of clinics for unknown values. */
function isOfValues(error: unknown): boolean {
  return error instanceof MirrorError && [400, 404, 410, 422].includes(error.status ?? 0);
}

function apiOf({ context, serialise }: ClinicAccess): ClinicApi {
  return createClinicApi(context, serialise);
}

function isPages(answer: object): answer is AsyncIterable<ListPage<object>> {
  return Symbol.asyncIterator in answer;
}

/** The answer may be empty, or hold an unreadable record. */
function foundIn(answer: object | boolean | null): { record: object | null; unusable: InvalidRow[] } {
  if (answer === null || typeof answer === 'boolean' || 'absent' in answer) throw absent();
  if ('found' in answer) return { record: answer.found as object, unusable: [] };
  if ('unusable' in answer) return { record: null, unusable: [answer.unusable as InvalidRow] };
  return { record: answer, unusable: [] };
}

function shapeOf(resource: string): Shape {
  if (resource === 'tenantInfo') return tenantInfo;
  return Object.hasOwn(RESOURCES, resource) ? RESOURCES[resource as ResourceName] : {};
}

/**
 * Adds the missing scope to the error. The clinic user needs the permission, and the connection must request the scope. The scope is of the
 * failed call, although the operation may need several scopes.
 */
function explained(error: unknown, wanted: ClinicOperation, { context }: ClinicAccess): unknown {
  if (!(error instanceof MirrorError) || error.code !== 'missing-claim') return error;
  const failed = OPERATIONS.find(({ name }) => error.message.startsWith(`clinic.${name}:`)) ?? wanted;
  if (failed.scope === null) return error;
  const scope = `${context.profile.scopePrefix}${failed.scope}`;
  return error.reworded(error.texts.message, message('clinic.lacks-scope', { scope, name: failed.scope }));
}

function unreadable({ code, field }: InvalidRow): MirrorError {
  return new MirrorError(message('bad-record', { code, field }), {
    actor: 'contract',
    code: 'bad-record',
    retry: 'never',
    remedy: message('bad-record.remedy'),
  });
}

function absent(): MirrorError {
  return new MirrorError(message('no-such-record'), {
    actor: 'settings',
    code: 'no-such-record',
    retry: 'never',
    remedy: message('no-such-record.remedy'),
  });
}

function onlyLists(): MirrorError {
  return new MirrorError(message('question-unsupported'), {
    actor: 'settings',
    code: 'no-such-operation',
    retry: 'never',
    remedy: message('question-unsupported.remedy'),
  });
}
