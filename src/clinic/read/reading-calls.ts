import type { Lookup } from '../../core/model/snapshots.ts';
import type { Instant, TimeWindow } from '../../core/model/time.ts';
import { isJsonObject } from '../../described-api/paths.ts';
import type { ClinicContext } from '../http/call.ts';
import type { RowMapper } from '../http/rows.ts';
import type { FieldPaths, RecordOf, Shape } from '../schema/fields.ts';
import { parameterWith } from '../schema/paging.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { RESOURCES, type ResourceName } from '../schema/resources.ts';
import { compileConsents } from './catalogue-rows.ts';
import { type ListPage, readCatalogue } from './lists.ts';
import { listCalls, readOne } from './reading.ts';
import { compileFullName, compileRecords, type Names } from './records.ts';
import { createZone } from './timestamps.ts';

/** A record of a list in the API. */
export type ClinicRecord<Name extends ResourceName> = RecordOf<(typeof RESOURCES)[Name]>;

/** Reads one list of the clinic (specification section 4). All functions throw MirrorError; `errors.ts` defines the responsible party. */
export interface ResourceCalls<Model> {
  /**
   * Returns the list page by page, each id once; an iteration without an error has read the complete list.
   * @param parameters query parameters except paging, with the clinic's names
   */
  list(tenantId: string, parameters: readonly [string, string][], signal: AbortSignal): AsyncIterable<ListPage<Model>>;
  /** Reads one record by its id; 404 and 410 mean `absent`. */
  read(tenantId: string, id: string, signal: AbortSignal): Promise<Lookup<Model>>;
}

/**
 * Creates a list's calls for the context's profile.
 * @param map converts its rows; default: records of the API
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

/** Returns the mapping of a list's rows to records of the API. */
export function mapperOf<Name extends ResourceName, Model = ClinicRecord<Name>>(
  { compiled }: Pick<ClinicContext, 'compiled'>,
  name: Name,
): RowMapper<Model> {
  return compiled.of(compileMapper, name) as RowMapper<Model>;
}

/** Patients include consents, which have their own reader. */
function compileMapper(profile: ClinicProfile, name: ResourceName): RowMapper<RecordOf<Shape>> {
  const { fields, words } = profile[name];
  const map = compileRecords<Shape>(RESOURCES[name], fields as FieldPaths<Shape>, profile, words);
  if (name !== 'patients') return map;
  const consentsOf = compileConsents(profile);
  const namesIn = compileFullName(profile.patients.fullName, profile);
  return (row) => {
    const mapped = map(row);
    if (!('record' in mapped) || !isJsonObject(row)) return mapped;
    const { firstName, lastName } = namesIn(row, mapped.record as unknown as Names);
    return { record: { ...mapped.record, firstName, lastName, consents: consentsOf(row) as never } as never };
  };
}

type PriceList = ClinicRecord<'priceLists'>;

/**
 * The calls of specification section 4.7. Its last two paths have the same form, so one function requests a price list by id or code; the
 * clinic tries the id first.
 */
export type PriceListCalls = ResourceCalls<PriceList>;

/** Creates the calls for the context's profile. */
export function createPriceListCalls(context: ClinicContext): PriceListCalls {
  const { list } = createReadingCalls(context, 'priceLists');
  const map = mapperOf(context, 'priceLists');
  return {
    list,
    read: (tenantId, idOrCode, signal) =>
      readOne(context, { list: 'priceLists', tenantId, id: idOrCode, signal }, map, ({ id, code }) =>
        [id, code].includes(idOrCode),
      ),
  };
}

/** Available time for a booking. */
export type Slot = ClinicRecord<'availabilities'>;

/** Requested slots: they begin in the window, in these agendas (null = any), at this location, with this doctor. */
export interface SlotQuestion {
  window: TimeWindow;
  agendaIds?: readonly string[] | null;
  locationId?: string;
  doctorId?: string;
}

/** The calls of specification section 4.5. */
export interface AvailabilityCalls {
  list(tenantId: string, question: SlotQuestion, signal: AbortSignal): AsyncIterable<ListPage<Slot>>;
  /** Returns slots with a treatment's duration, and its price in a price list. */
  listOfTreatment(
    tenantId: string,
    offer: { treatmentId: string; priceListId: string },
    question: SlotQuestion,
    signal: AbortSignal,
  ): AsyncIterable<ListPage<Slot>>;
}

/** Creates the calls for the context's profile. Slots outside the request are removed. */
export function createAvailabilityCalls(context: ClinicContext): AvailabilityCalls {
  const { profile } = context;
  const { availabilities } = profile;
  const zone = createZone(profile.zone);
  const map = mapperOf(context, 'availabilities');

  async function* slots(tenantId: string, question: SlotQuestion, signal: AbortSignal, below?: string[]) {
    const yielded = new Set<string>();
    const isNew = (slot: Slot) => {
      const key = JSON.stringify([slot.agendaId, slot.startAt]);
      return !yielded.has(key) && yielded.add(key) !== undefined;
    };
    const site = siteParameters(question, availabilities.placeFilters);
    for (const call of listCalls(availabilities, zone, question.window, question.agendaIds ?? null)) {
      const asked = { list: 'availabilities' as const, tenantId, parameters: [...call, ...site], signal };
      const route = { segments: below ?? [], operation: 'availabilities.listOfTreatment' };
      const pages = readCatalogue(context, below === undefined ? asked : { ...asked, route }, map);
      for await (const { records, ...rest } of pages) {
        yield { records: records.filter((slot) => isWanted(slot, question) && isNew(slot)), ...rest };
      }
    }
  }

  return {
    list: (tenantId, question, signal) => slots(tenantId, question, signal),
    listOfTreatment: (tenantId, { treatmentId, priceListId }, question, signal) =>
      slots(tenantId, question, signal, ['treatments', treatmentId, 'listprices', priceListId, 'availabilities']),
  };
}

function siteParameters(
  { locationId, doctorId }: SlotQuestion,
  names: { location: string | null; doctor: string | null },
): [string, string][] {
  const stated: [string | null, string | undefined][] = [
    [names.location, locationId],
    [names.doctor, doctorId],
  ];
  return stated.flatMap(([name, value]): [string, string][] =>
    name === null || value === undefined ? [] : [parameterWith(name, value)],
  );
}

function isWanted(slot: Slot, { window, agendaIds = null, locationId, doctorId }: SlotQuestion): boolean {
  const isIn = (at: Instant) => at >= window.fromAt && at < window.toAt;
  const fits = (stated: string | null, wanted: string | undefined) =>
    stated === null || wanted === undefined || stated === wanted;
  const isAgenda = agendaIds === null || agendaIds.includes(slot.agendaId);
  return isIn(slot.startAt) && isAgenda && fits(slot.locationId, locationId) && fits(slot.doctorId, doctorId);
}
