import type { Instant, TimeWindow } from '../../model/time.ts';
import type { ClinicContext } from '../http/context.ts';
import { type ListPage, readCatalogue } from './lists.ts';
import { type ClinicRecord, mapperOf } from './reading-calls.ts';
import { listCalls } from './windows.ts';
import { createZone } from './zone.ts';

/** Time that can be booked. */
export type Slot = ClinicRecord<'availabilities'>;

/** The slots that are wanted: those that begin in the window, in these agendas (null = any), at this location, of this doctor. */
export interface SlotQuestion {
  window: TimeWindow;
  agendaIds?: readonly string[] | null;
  locationId?: string;
  doctorId?: string;
}

/** The calls of specification section 4.5. */
export interface AvailabilityCalls {
  list(tenantId: string, question: SlotQuestion, signal: AbortSignal): AsyncIterable<ListPage<Slot>>;
  /** Slots as long as a treatment takes, with its price in a price list. */
  listOfTreatment(
    tenantId: string,
    offer: { treatmentId: string; priceListId: string },
    question: SlotQuestion,
    signal: AbortSignal,
  ): AsyncIterable<ListPage<Slot>>;
}

/** Prepares the calls under the context's profile. What the clinic sends beside the question is left out here. */
export function createAvailabilityCalls(context: ClinicContext): AvailabilityCalls {
  const { profile } = context;
  const { availabilities } = profile;
  const zone = createZone(profile.zone);
  const map = mapperOf(context, 'availabilities');

  async function* slots(tenantId: string, question: SlotQuestion, signal: AbortSignal, below?: string[]) {
    const given = new Set<string>();
    const isNew = (slot: Slot) => {
      const key = JSON.stringify([slot.agendaId, slot.startAt]);
      return !given.has(key) && given.add(key) !== undefined;
    };
    const site = placeParameters(question, availabilities.placeFilters);
    for (const call of listCalls(availabilities, zone, question.window, question.agendaIds ?? null)) {
      const asked = { list: 'availabilities' as const, tenantId, parameters: [...call, ...site], signal };
      const place = { segments: below ?? [], operation: 'availabilities.listOfTreatment' };
      const pages = readCatalogue(context, below === undefined ? asked : { ...asked, place }, map);
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

function placeParameters(
  { locationId, doctorId }: SlotQuestion,
  names: { location: string | null; doctor: string | null },
): [string, string][] {
  const told: [string | null, string | undefined][] = [
    [names.location, locationId],
    [names.doctor, doctorId],
  ];
  return told.flatMap(([name, value]): [string, string][] =>
    name === null || value === undefined ? [] : [[name, value]],
  );
}

function isWanted(slot: Slot, { window, agendaIds = null, locationId, doctorId }: SlotQuestion): boolean {
  const isIn = (at: Instant) => at >= window.fromAt && at < window.toAt;
  const fits = (told: string | null, wanted: string | undefined) =>
    told === null || wanted === undefined || told === wanted;
  const isAgenda = agendaIds === null || agendaIds.includes(slot.agendaId);
  return isIn(slot.startAt) && isAgenda && fits(slot.locationId, locationId) && fits(slot.doctorId, doctorId);
}
