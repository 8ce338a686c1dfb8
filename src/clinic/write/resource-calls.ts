import type { HttpResponse } from '../../core/http/client.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { type LongNumbers, withLongNumbers } from '../../core/model/json.ts';
import type { Lookup } from '../../core/model/snapshots.ts';
import type { JsonObject } from '../../described-api/paths.ts';
import { message } from '../../messages/message.ts';
import { addressOf, type ClinicCall, type ClinicContext, send } from '../http/call.ts';
import { clinicError, saysAbsent } from '../http/errors.ts';
import { APART, type RowMapper } from '../http/rows.ts';
import type { BookedAppointment } from '../read/appointment-rows.ts';
import { compileAgendaRows, compileLocationRows } from '../read/catalogue-rows.ts';
import { noneWithheld, recordsOf } from '../read/lists.ts';
import { askInZones, createZoneCache, NO_SITE_ZONES, RowZone, type SiteZones } from '../read/place-zones.ts';
import { isLocalFormat, readToWrite, recordIn, requireOwn, segmentsOf } from '../read/reading.ts';
import { type ClinicRecord, createReadingCalls, mapperOf, type ResourceCalls } from '../read/reading-calls.ts';
import type { FieldPaths, Shape } from '../schema/fields.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { RESOURCES, type ResourceName } from '../schema/resources.ts';
import { withTextForms } from './text-forms.ts';
import { compileWriter } from './writing.ts';

/** Calls that write. If an answer has no body, the record is read again. */
export interface WritableCalls<Model, Values = Partial<Model>> extends ResourceCalls<Model> {
  /**
   * Creates a record. After an ambiguous failure, the record is searched by its natural key before a second attempt.
   * @throws MirrorError `remote`, ambiguous, without a natural key: there is no second attempt
   */
  create(tenantId: string, values: Values, signal: AbortSignal): Promise<Model>;
  /** Changes some fields and keeps all other data of the record, including data unknown to clinic-mirror. */
  update(tenantId: string, id: string, changes: Values, signal: AbortSignal): Promise<Model>;
  /** @returns whether the record existed */
  remove(tenantId: string, id: string, signal: AbortSignal): Promise<boolean>;
}

/** Finds the record of a create that lost its answer. */
export interface Duplicate<Model> {
  /** Query parameters that shorten the list. */
  parameters: [string, string][];
  isSame(record: Model): boolean;
}

/** Special handling of a resource. */
interface ResourceManners<Model, Values> {
  map: RowMapper<Model>;
  zones: CallZones;
  /** Null if the values contain no natural key. */
  duplicateOf(values: Values): Duplicate<Model> | null;
}

/** Reads and writes of one list under a profile, for the calls of its resource. */
export interface ResourceTools<Model extends object, Values> extends WritableCalls<Model, Values> {
  /** Returns a record in the clinic's JSON. @param base the existing record */
  write(values: Values, base?: JsonObject): JsonObject;
  /** Finds the record of a lost create. */
  find(tenantId: string, duplicate: Duplicate<Model>, signal: AbortSignal): Promise<Model | null>;
  /**
   * Returns the record in a write's answer. If the answer contains no record or another one, the record is read again.
   * @throws MirrorError `contract`, code `write-unshown`, ambiguous, if the record is unreadable; for an update, the error of the read
   */
  written(
    verb: 'create' | 'update' | 'addReimbursements',
    answer: HttpResponse,
    of: { tenantId: string; id: string | null; signal: AbortSignal },
  ): Promise<Model>;
}

/** Compiles the calls for a list under the context's profile. `api.ts` selects the calls of each resource. */
export function createResourceCalls<
  Name extends ResourceName,
  Model extends object = ClinicRecord<Name>,
  Values extends object = Partial<Model>,
>(
  context: ClinicContext,
  name: Name,
  manners: Partial<ResourceManners<Model, Values>> = {},
): ResourceTools<Model, Values> {
  const { profile, compiled } = context;
  const map = manners.map ?? mapperOf<Name, Model>(context, name);
  const writer = compiled.of(compileWriterOf, name);
  const { zones } = manners;
  const write = (values: Values, base?: JsonObject) => writer({ ...values }, base, zones?.current());
  const accepts = (answer: HttpResponse) => saysAbsent(answer, profile);
  const call = (verb: string, segments: string[], rest: Omit<ClinicCall, 'label' | 'url'>) =>
    send(context, { label: labelOf(name, verb), url: addressOf(context, segments), ...rest });
  const pathOf = (tenantId: string, ...more: string[]) => segmentsOf(profile, { list: name, tenantId }, ...more);
  const { list, read } = createReadingCalls(context, name, map);
  const written = createWritten(context, name, map, read);

  async function find(tenantId: string, duplicate: Duplicate<Model>, signal: AbortSignal): Promise<Model | null> {
    for await (const { records } of list(tenantId, duplicate.parameters, signal)) {
      const same = records.find((record) => duplicate.isSame(record));
      if (same !== undefined) return same;
    }
    return null;
  }

  return {
    list,
    read,
    write,
    find,
    written,
    async create(tenantId, values, signal) {
      await zones?.beforeWrite(tenantId, signal);
      const body = write(values);
      const duplicate = manners.duplicateOf?.(values) ?? null;
      const attempt = async () => {
        const answer = await call('create', pathOf(tenantId), { method: 'POST', body, signal });
        return written('create', answer, { tenantId, id: null, signal });
      };
      return once(attempt, duplicate === null ? null : () => find(tenantId, duplicate, signal));
    },
    async update(tenantId, id, changes, signal) {
      await zones?.beforeWrite(tenantId, signal);
      const found = await readToWrite(context, { list: name, tenantId, id, signal });
      if (found === null) throw recordGone(labelOf(name, 'update'));
      requireOwn(profile, { list: name, tenantId }, labelOf(name, 'update'), found.row);
      const whole = write(changes, found.row);
      const body = sentBack(profile.writes.updates === 'replace' ? whole : changedMembers(whole, found.row), found);
      const answer = await call('update', pathOf(tenantId, id), { method: 'PUT', body, signal, accepts });
      if (accepts(answer)) throw recordGone(labelOf(name, 'update'));
      return written('update', answer, { tenantId, id, signal });
    },
    async remove(tenantId, id, signal) {
      return !accepts(await call('remove', pathOf(tenantId, id), { method: 'DELETE', signal, accepts }));
    },
  };
}

/** Implements `ResourceTools.written`. */
function createWritten<Model extends object>(
  context: ClinicContext,
  name: ResourceName,
  map: RowMapper<Model>,
  read: ResourceCalls<Model>['read'],
): ResourceTools<Model, never>['written'] {
  const shown: ResourceTools<Model, never>['written'] = async (verb, answer, { tenantId, id, signal }) => {
    const label = labelOf(name, verb);
    const mapped = answer.body.length === 0 ? null : map(recordIn(answer, label, context.profile, name));
    if (mapped !== null && 'record' in mapped && (id === null || idOf(mapped.record) === id)) return mapped.record;
    const shownId = mapped !== null && 'unusable' in mapped ? mapped.unusable.recordId : null;
    const recordId = id ?? idInLocation(answer) ?? shownId;
    const found = recordId === null ? null : await read(tenantId, recordId, signal);
    if (found !== null && 'found' in found) return found.found;
    throw unshown(label);
  };
  /** A create must not be repeated: it remains done even if the record is unreadable now. */
  return (verb, ...rest) =>
    shown(verb, ...rest).catch((error: unknown) => {
      throw verb === 'update' ? error : unshown(labelOf(name, verb), error);
    });
}

function labelOf(name: ResourceName, verb: string): string {
  return `clinic.${name}.${verb}`;
}

function compileWriterOf(profile: ClinicProfile, name: ResourceName) {
  const zoned = name === 'appointments' ? { ...profile, rowZone: new RowZone(profile) } : profile;
  const fields = profile[name].fields as FieldPaths<Shape>;
  return withTextForms(profile, name, (changed) =>
    compileWriter<Shape>(RESOURCES[name], { ...fields, ...changed } as FieldPaths<Shape>, zoned, profile[name]),
  );
}

/** Sends ids beyond 2^53 as numbers if the clinic sent them as numbers. */
function sentBack(members: JsonObject, { longNumbers }: { longNumbers: () => LongNumbers }): JsonObject {
  return withLongNumbers(members, longNumbers()) as JsonObject;
}

/** Returns the changed members, each complete. */
function changedMembers(whole: JsonObject, before: JsonObject): JsonObject {
  const changed = Object.entries(whole).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(Object.hasOwn(before, name) ? before[name] : undefined),
  );
  return Object.fromEntries(changed);
}

function idOf(record: object): string | null {
  return 'id' in record && typeof record.id === 'string' ? record.id : null;
}

/** Returns the last segment of a Location header (RFC 9110 section 10.2.2). */
function idInLocation({ headers }: HttpResponse): string | null {
  const path = headers.get('location')?.split(/[?#]/)[0];
  const last = path
    ?.split('/')
    .filter((segment) => segment !== '')
    .at(-1);
  return last === undefined ? null : decodeURIComponent(last);
}

/** Returns the error for a change of a missing record. */
export function recordGone(label: string): MirrorError {
  return clinicError('record-gone', message('clinic.record-gone', { label }));
}

function unshown(label: string, cause?: unknown): MirrorError {
  return clinicError('write-unshown', message('clinic.write-unshown', { label }), { cause });
}

/**
 * Runs an action that must not happen twice. After an ambiguous failure, its result is searched before a single second attempt.
 * @param find returns the result of the attempt, or null if the attempt had no effect; null if no search is possible
 * @throws the attempt's error; ambiguous if the outcome is unknown
 */
export async function once<Value>(
  attempt: () => Promise<Value>,
  find: (() => Promise<Value | null>) | null,
): Promise<Value> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof MirrorError) || !error.ambiguous || find === null) throw error;
    const made = await find().catch((failure: unknown) => {
      throw failure instanceof MirrorError && failure.ambiguous ? failure : error;
    });
    if (made !== null) return made;
    if (error.code === 'write-unshown') throw error;
    return attempt();
  }
}

/** Zones of agendas and locations for the calls of appointments, read only when a row or a write requires them. */
interface CallZones {
  /** Zones of the last call. */
  current(): SiteZones;
  /** Reads the zones before a write of local times. */
  beforeWrite(tenantId: string, signal: AbortSignal): Promise<void>;
  /** Wraps reads so that rows use the zones. */
  reading(calls: ResourceCalls<BookedAppointment>): ResourceCalls<BookedAppointment>;
}

/** Compiles the zones under the context's profile. */
export function createCallZones(context: ClinicContext): CallZones {
  const { profile, compiled } = context;
  const zoneCache = createZoneCache();
  let current: SiteZones = NO_SITE_ZONES;
  const agendas = createReadingCalls(context, 'agendas', compiled.of(compileAgendaRows));
  const locations = createReadingCalls(context, 'locations', compiled.of(compileLocationRows));
  const within = <Answer>(tenantId: string, signal: AbortSignal, ask: () => Promise<Answer>): Promise<Answer> => {
    const load = async () => ({
      agendas: await recordsOf(agendas.list(tenantId, [], signal)).catch(noneWithheld),
      locations: await recordsOf(locations.list(tenantId, [], signal)).catch(noneWithheld),
    });
    return askInZones({ stored: zoneCache, load, usual: profile.zone, isLocal: false }, signal, (sites) => {
      current = sites;
      return ask();
    });
  };
  return {
    current: () => current,
    async beforeWrite(tenantId, signal) {
      if (!writesLocalTimes(profile)) return;
      zoneCache.needsSites = true;
      await within(tenantId, signal, async () => {});
    },
    reading: ({ list, read }) => ({
      read: (tenantId, id, signal): Promise<Lookup<BookedAppointment>> =>
        within(tenantId, signal, () => read(tenantId, id, signal)),
      async *list(tenantId, parameters, signal) {
        const neededBefore = zoneCache.needsSites;
        const pages = list(tenantId, parameters, signal)[Symbol.asyncIterator]();
        // The first page shows whether zones are required, because a clinic writes all its times in one format.
        let first = await within(tenantId, signal, () => pages.next());
        if (zoneCache.needsSites && !neededBefore) {
          await pages.return?.();
          yield* list(tenantId, parameters, signal);
          return;
        }
        while (first.done !== true) {
          yield first.value;
          first = await pages.next();
        }
      },
    }),
  };
}

/** A separate date and time of day are local, regardless of the format of complete times. */
function writesLocalTimes({ writes, appointments: { fields } }: ClinicProfile): boolean {
  const isApart = Object.values(fields).some(([first]: readonly string[]) => first?.includes(APART) === true);
  return isApart || isLocalFormat(writes.times);
}

/** Wraps a mapper so that rows use the zones of the last call. */
export function inCurrent<Model>(
  map: (row: unknown, sites: SiteZones) => ReturnType<RowMapper<Model>>,
  sites: CallZones,
): RowMapper<Model> {
  return (row) => map(row, sites.current());
}
