import type { Lookup } from '../../model/snapshots.ts';
import type { ClinicContext } from '../http/context.ts';
import { APART, type RowMapper } from '../http/rows.ts';
import type { BookedAppointment } from '../read/appointment-rows.ts';
import { compileAgendaRows, compileLocationRows } from '../read/catalogue-rows.ts';
import { noneWithheld, recordsOf } from '../read/lists.ts';
import { askInZones, createZoneCache, NO_SITE_ZONES, type SiteZones } from '../read/place-zones.ts';
import { createReadingCalls, type ResourceCalls } from '../read/reading-calls.ts';
import { isLocalFormat } from '../read/windows.ts';
import type { ClinicProfile } from '../schema/profile.ts';

/** Zones of places for the calls of appointments: read when a row, or what is written, needs them. */
export interface CallZones {
  /** Those of the last call. */
  current(): SiteZones;
  /** Has them read before local times are written. */
  beforeWrite(tenantId: string, signal: AbortSignal): Promise<void>;
  /** Reads in the zones of places. */
  reading(calls: ResourceCalls<BookedAppointment>): ResourceCalls<BookedAppointment>;
}

/** Prepares the zones of places under the context's profile. */
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
    return askInZones({ known: zoneCache, load, usual: profile.zone, isLocal: false }, signal, (sites) => {
      current = sites;
      return ask();
    });
  };
  return {
    current: () => current,
    async beforeWrite(tenantId, signal) {
      if (!writesLocalTimes(profile)) return;
      zoneCache.needsPlaces = true;
      await within(tenantId, signal, async () => {});
    },
    reading: ({ list, read }) => ({
      read: (tenantId, id, signal): Promise<Lookup<BookedAppointment>> =>
        within(tenantId, signal, () => read(tenantId, id, signal)),
      async *list(tenantId, parameters, signal) {
        const neededBefore = zoneCache.needsPlaces;
        const pages = list(tenantId, parameters, signal)[Symbol.asyncIterator]();
        // The first page shows whether places are needed: a clinic writes all of its times alike.
        let first = await within(tenantId, signal, () => pages.next());
        if (zoneCache.needsPlaces && !neededBefore) {
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

/** A date and a time of day that come apart are local, whatever the form of whole times. */
function writesLocalTimes({ writes, appointments: { fields } }: ClinicProfile): boolean {
  const isApart = Object.values(fields).some(([first]: readonly string[]) => first?.includes(APART) === true);
  return isApart || isLocalFormat(writes.times);
}

/** Has rows read by the zones of the last call's places. */
export function inCurrent<Model>(
  map: (row: unknown, sites: SiteZones) => ReturnType<RowMapper<Model>>,
  sites: CallZones,
): RowMapper<Model> {
  return (row) => map(row, sites.current());
}
