import type { HttpResponse } from '../http/door.ts';
import { readJson } from '../http/json.ts';
import { MirrorError } from '../model/errors.ts';
import type { Lookup } from '../model/snapshots.ts';
import type { FieldPaths, RecordOf, Shape } from '../settings/clinic-fields.ts';
import { RESOURCE_PATHS, RESOURCES, type ResourceName } from '../settings/clinic-resources.ts';
import { addressOf } from './addresses.ts';
import { send } from './call.ts';
import type { ClinicContext } from './context.ts';
import { saysAbsent } from './errors.ts';
import { type ListPage, readCatalogue, readPagesOf } from './lists.ts';
import { compileRecords } from './records.ts';
import { isJsonObject, type JsonObject, type Mapped, valueAt } from './rows.ts';
import { compileWriter } from './writing.ts';

/** A list of the clinic as the API has it. */
export type ClinicRecord<Name extends ResourceName> = RecordOf<(typeof RESOURCES)[Name]>;

/** Calls for one list of the clinic (specification section 4). All throw MirrorError; see `errors.ts` for who must act. */
export interface ResourceCalls<Model> {
  /**
   * The list page by page, each id once; an iteration that ends without throwing has seen the whole list.
   * @param parameters query parameters beside those of paging, by the clinic's own names
   */
  list(tenantId: string, parameters: readonly [string, string][], signal: AbortSignal): AsyncIterable<ListPage<Model>>;
  /** One record by its id; 404 and 410 mean `absent`. */
  read(tenantId: string, id: string, signal: AbortSignal): Promise<Lookup<Model>>;
}

/** Calls that write. What an answer without a body leaves open is read again. */
export interface WritableCalls<Model> extends ResourceCalls<Model> {
  /**
   * @param twin finds the record that a create whose answer was lost has made; asked before the create is sent a second time
   * @throws MirrorError `remote`, ambiguous, when no answer came and there is no way to look the record up
   */
  create(tenantId: string, values: Partial<Model>, signal: AbortSignal, twin?: TwinFinder<Model>): Promise<Model>;
  /** Changes some fields; what the record holds beside them stays, what we don't know of included. */
  update(tenantId: string, id: string, changes: Partial<Model>, signal: AbortSignal): Promise<Model>;
  /** @returns whether it was there */
  remove(tenantId: string, id: string, signal: AbortSignal): Promise<boolean>;
}

/** Looks a record up by what is natural to it; null when it is not there. */
export type TwinFinder<Model> = (signal: AbortSignal) => Promise<Model | null>;

/** Prepares the calls for a list under the context's profile. Which of them a resource has is `client.ts`'s matter. */
export function createResourceCalls<Name extends ResourceName>(
  context: ClinicContext,
  name: Name,
): WritableCalls<ClinicRecord<Name>> {
  type Model = ClinicRecord<Name>;
  const { profile } = context;
  const shape: Shape = RESOURCES[name];
  const fields = profile[name].fields as FieldPaths<Shape>;
  const map = compileRecords(shape, fields, profile) as (row: unknown) => Mapped<Model>;
  const write = compileWriter(shape, fields, profile);
  const at = (tenantId: string, ...more: string[]) => ['tenants', tenantId, ...RESOURCE_PATHS[name], ...more];
  const labelOf = (verb: string) => `clinic.${name}.${verb}`;
  const call = (verb: string, method: 'GET' | 'POST' | 'PUT' | 'DELETE', segments: string[], signal: AbortSignal) => {
    const accepts = (answer: HttpResponse) => method !== 'POST' && saysAbsent(answer, profile);
    return (body?: JsonObject) =>
      send(context, {
        label: labelOf(verb),
        url: addressOf(context, segments),
        method,
        signal,
        accepts,
        ...(body === undefined ? {} : { body }),
      });
  };

  async function readRaw(tenantId: string, id: string, signal: AbortSignal): Promise<JsonObject | null> {
    const answer = await call('get', 'GET', at(tenantId, id), signal)();
    return saysAbsent(answer, profile) ? null : recordIn(answer, labelOf('get'), context);
  }
  async function read(tenantId: string, id: string, signal: AbortSignal): Promise<Lookup<Model>> {
    const raw = await readRaw(tenantId, id, signal);
    if (raw === null) return { absent: true };
    const mapped = map(raw);
    if ('setAside' in mapped) return { setAside: { ...mapped.setAside, recordId: id } };
    if (idOf(mapped.record) === id) return { found: mapped.record };
    throw new MirrorError(`${labelOf('get')}: another record came than the one asked for`, {
      actor: 'contract',
      code: 'wrong-record',
      retry: 'later',
    });
  }
  /** The record that a write's answer shows; one that shows none, or another, is read again. */
  async function written(verb: string, answer: HttpResponse, tenantId: string, id: string | null, signal: AbortSignal) {
    const raw = answer.body.length === 0 ? null : recordIn(answer, labelOf(verb), context);
    const mapped = raw === null ? null : map(raw);
    if (mapped !== null && 'record' in mapped && (id === null || idOf(mapped.record) === id)) return mapped.record;
    const known =
      id ?? idInLocation(answer) ?? (mapped === null ? null : 'setAside' in mapped ? mapped.setAside.recordId : null);
    const found = known === null ? null : await read(tenantId, known, signal);
    if (found !== null && 'found' in found) return found.found;
    throw unshown(labelOf(verb));
  }

  return {
    list: (tenantId, parameters, signal) => {
      const question = { list: name, tenantId, parameters: [...parameters], signal };
      return 'id' in shape
        ? readCatalogue(context, question, map as (row: unknown) => Mapped<Model & { id: string }>)
        : readPagesOf(context, question, map);
    },
    read,
    async create(tenantId, values, signal, twin) {
      try {
        const answer = await call('create', 'POST', at(tenantId), signal)(write(values));
        return await written('create', answer, tenantId, null, signal);
      } catch (error) {
        if (!(error instanceof MirrorError) || !error.ambiguous || twin === undefined) throw error;
        const made = await twin(signal);
        if (made !== null) return made;
        const answer = await call('create', 'POST', at(tenantId), signal)(write(values));
        return await written('create', answer, tenantId, null, signal);
      }
    },
    async update(tenantId, id, changes, signal) {
      const raw = await readRaw(tenantId, id, signal);
      if (raw === null) throw gone(labelOf('update'));
      const body = write(changes, profile.writes.updates === 'replace' ? raw : {});
      const answer = await call('update', 'PUT', at(tenantId, id), signal)(body);
      if (saysAbsent(answer, profile)) throw gone(labelOf('update'));
      return await written('update', answer, tenantId, id, signal);
    },
    async remove(tenantId, id, signal) {
      return !saysAbsent(await call('remove', 'DELETE', at(tenantId, id), signal)(), profile);
    },
  };
}

/** The JSON object of an answer for one record. */
export function recordIn(answer: HttpResponse, label: string, { profile }: ClinicContext): JsonObject {
  const whole = readJson(answer, label);
  const record = profile.recordPath === null ? whole : valueAt(whole, profile.recordPath);
  if (isJsonObject(record)) return record;
  throw new MirrorError(`${label}: the answer is no record`, {
    actor: 'contract',
    code: 'not-a-record',
    retry: 'later',
    remedy: 'set recordPath in the clinic profile',
  });
}

function idOf(record: object): string | null {
  return 'id' in record && typeof record.id === 'string' ? record.id : null;
}

/** The last segment of a Location header (RFC 9110 section 10.2.2). */
function idInLocation({ headers }: HttpResponse): string | null {
  const path = headers.get('location')?.split(/[?#]/)[0];
  const last = path
    ?.split('/')
    .filter((segment) => segment !== '')
    .at(-1);
  return last === undefined ? null : decodeURIComponent(last);
}

function gone(label: string): MirrorError {
  return new MirrorError(`${label}: there is no such record`, {
    actor: 'conflict',
    code: 'record-gone',
    retry: 'never',
  });
}

function unshown(label: string): MirrorError {
  return new MirrorError(`${label}: the clinic took it and does not show it`, {
    actor: 'contract',
    code: 'write-unshown',
    retry: 'never',
    ambiguous: true,
  });
}
