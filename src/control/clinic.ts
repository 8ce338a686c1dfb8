import { basename } from 'node:path';
import { type ClinicApi, createClinicApi } from '../clinic/api.ts';
import type { ClinicContext } from '../clinic/http/context.ts';
import { type PdfDownload, pdfFile } from '../clinic/http/files.ts';
import { isJsonObject, type JsonObject } from '../clinic/http/rows.ts';
import { OPERATION_CALLS, type OperationInput } from '../clinic/operation-calls.ts';
import { presented, valuesOf } from '../clinic/present.ts';
import { type ListPage, readList } from '../clinic/read/lists.ts';
import { readRow } from '../clinic/read/reading.ts';
import type { Shape } from '../clinic/schema/fields.ts';
import type { ClinicOperation } from '../clinic/schema/operations.ts';
import { tenantInfo } from '../clinic/schema/places.ts';
import { RESOURCES, type ResourceName } from '../clinic/schema/resources.ts';
import type { SerialiseSection } from '../clinic/write/invoice-calls.ts';
import { MirrorError } from '../model/errors.ts';
import type { SetAside } from '../model/records.ts';
import { type ClinicQuestion, operationOf } from './clinic-question.ts';

/** The API of one tenant's clinic, for verbs that a person gives. */
export interface ClinicAccess {
  context: ClinicContext;
  /** One invoice at a time in each section, over all processes. */
  serialise: SerialiseSection;
  /** The clinic's id of the tenant, as for the daemon's cycles. @throws as `chooseTenant` */
  tenantId(signal: AbortSignal): Promise<string>;
}

/** A page of what was read: records as people read them, and what could not become one. */
export interface ClinicRows {
  records: JsonObject[];
  setAside: readonly SetAside[];
}

/**
 * Reads a list, page by page, or one record.
 * @throws MirrorError `settings`, code `no-such-record`, for an id that the clinic does not have; and those of the API, where
 *   `missing-claim` names the scope and `insufficient-permissions` the user
 */
export async function* readClinic(
  access: ClinicAccess,
  question: ClinicQuestion,
  signal: AbortSignal,
): AsyncGenerator<ClinicRows, void> {
  const operation = operationOf(question);
  const call = OPERATION_CALLS[operation.name];
  if (call === undefined) throw new Error(`no call for ${operation.name}`);
  const shape = shapeOf(question.resource);
  const show = (record: object) => presented(shape, record);
  try {
    const answer = call.run(apiOf(access), await inputOf(access, question, signal), signal);
    if (isPages(answer)) {
      for await (const { records, setAside } of answer) yield { records: records.map(show), setAside };
      return;
    }
    const { record, setAside } = foundIn(await answer);
    yield { records: record === null ? [] : [show(record)], setAside };
  } catch (error) {
    throw explained(error, operation, access);
  }
}

/** The same as the clinic sends it, for lists and their records. @throws as {@link readClinic} */
export async function* readClinicRaw(
  access: ClinicAccess,
  question: ClinicQuestion,
  signal: AbortSignal,
): AsyncGenerator<ClinicRows, void> {
  const operation = operationOf(question);
  if (!Object.hasOwn(RESOURCES, question.resource) || question.ids.length > 1) throw onlyLists();
  const list = question.resource as ResourceName;
  try {
    const tenantId = await access.tenantId(signal);
    const [id] = question.ids;
    if (id === undefined) {
      const asked = { list, tenantId, parameters: [...question.parameters], signal };
      for await (const { rows } of readList(access.context, asked, (row) => row))
        yield { records: rows.filter(isJsonObject), setAside: [] };
    } else {
      const row = await readRow(access.context, { list, tenantId, id, signal });
      if (row === null) throw absent();
      yield { records: [row], setAside: [] };
    }
  } catch (error) {
    throw explained(error, operation, access);
  }
}

/** A request as it would go out, without the token. */
export interface PreviewedRequest {
  method: string;
  /** Without the base URL. */
  path: string;
  /** JSON; null for none, or for a form with a file. */
  body: string | null;
}

/** What would be sent: everything is read that has to be, and nothing is changed. */
export async function previewWrite(
  access: ClinicAccess,
  question: ClinicQuestion,
  signal: AbortSignal,
): Promise<PreviewedRequest> {
  const { context } = access;
  let seen: PreviewedRequest | null = null;
  const held = new Error('held back: only shown');
  const http: ClinicContext['http'] = {
    ...context.http,
    async send(request) {
      if (request.method === 'GET') return context.http.send(request);
      const { pathname, search } = new URL(request.url);
      seen = {
        method: request.method,
        path: pathname + search,
        body: typeof request.body === 'string' ? request.body : null,
      };
      throw held;
    },
  };
  await writeClinic({ ...access, context: { ...context, http } }, question, signal).catch((error: unknown) => {
    if (seen === null) throw error;
  });
  if (seen === null) throw new Error('a write that sends nothing');
  return seen;
}

/**
 * Changes something in the clinic.
 * @returns the record as it is afterwards; for a removal, whether it was there
 * @throws as {@link readClinic}, and what the API says of writes
 */
export async function writeClinic(
  access: ClinicAccess,
  question: ClinicQuestion,
  signal: AbortSignal,
): Promise<JsonObject> {
  const operation = operationOf(question);
  const call = OPERATION_CALLS[operation.name];
  if (call === undefined || operation.method === 'GET') throw onlyLists();
  try {
    const answer = await call.run(apiOf(access), await inputOf(access, question, signal), signal);
    if (typeof answer === 'boolean') return { removed: answer };
    return isJsonObject(answer) ? presented(shapeOf(question.resource), answer) : {};
  } catch (error) {
    throw explained(error, operation, access);
  }
}

/** The PDF of an invoice or a report, as a stream. @throws as {@link readClinic} */
export async function readClinicPdf(
  access: ClinicAccess,
  question: ClinicQuestion,
  signal: AbortSignal,
): Promise<PdfDownload> {
  const operation = operationOf({ ...question, verb: 'pdf' });
  try {
    const input = await inputOf(access, { ...question, pdf: null }, signal);
    const answer = await OPERATION_CALLS[operation.name]?.run(apiOf(access), input, signal);
    if (answer === null || answer === undefined) throw absent();
    return answer as PdfDownload;
  } catch (error) {
    throw explained(error, operation, access);
  }
}

function apiOf({ context, serialise }: ClinicAccess): ClinicApi {
  return createClinicApi(context, serialise);
}

async function inputOf(access: ClinicAccess, question: ClinicQuestion, signal: AbortSignal): Promise<OperationInput> {
  const { ids, values, parameters, pdf, resource } = question;
  const takes = OPERATION_CALLS[operationOf(question).name]?.takes ?? null;
  const file = pdf === null ? null : await pdfFile(pdf, basename(pdf));
  const tenantId = resource === 'userInfo' ? '' : await access.tenantId(signal);
  return { tenantId, ids, values: valuesOf(takes ?? {}, values), parameters, file };
}

function isPages(answer: object): answer is AsyncIterable<ListPage<object>> {
  return Symbol.asyncIterator in answer;
}

/** A look for a record may have found none, or one that can't be read. */
function foundIn(answer: object | boolean | null): { record: object | null; setAside: SetAside[] } {
  if (answer === null || typeof answer === 'boolean' || 'absent' in answer) throw absent();
  if ('found' in answer) return { record: answer.found as object, setAside: [] };
  if ('setAside' in answer) return { record: null, setAside: [answer.setAside as SetAside] };
  return { record: answer, setAside: [] };
}

function shapeOf(resource: string): Shape {
  if (resource === 'tenantInfo') return tenantInfo;
  return Object.hasOwn(RESOURCES, resource) ? RESOURCES[resource as ResourceName] : {};
}

/** Says which scope is missing: the clinic itself may not, and the login has to ask for it. */
function explained(error: unknown, { scope }: ClinicOperation, { context }: ClinicAccess): unknown {
  if (!(error instanceof MirrorError) || error.code !== 'missing-claim' || scope === null) return error;
  const { actor, code, retry, status } = error;
  const wanted = `${context.profile.scopePrefix}${scope}`;
  const remedy = `the login lacks the scope ${wanted}: name ${scope} in clinic.scopes of the tenant file, connect the clinic again and grant it`;
  return new MirrorError(error.message, {
    actor,
    code,
    retry,
    remedy,
    cause: error,
    ...(status === undefined ? {} : { status }),
  });
}

function absent(): MirrorError {
  return new MirrorError('the clinic has no such record', {
    actor: 'settings',
    code: 'no-such-record',
    retry: 'never',
    remedy: 'look for its id in the list',
  });
}

function onlyLists(): MirrorError {
  return new MirrorError('the resource can not be asked for in this way', {
    actor: 'settings',
    code: 'no-such-operation',
    retry: 'never',
    remedy: 'leave --raw, --write or the second id out',
  });
}
