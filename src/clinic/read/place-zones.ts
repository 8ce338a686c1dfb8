import { createHash } from 'node:crypto';
import type { Agenda, Location } from '../../core/model/records.ts';
import type { Instant } from '../../core/model/time.ts';
import { ianaZone } from '../../core/model/zone-names.ts';
import { compileAll, isJsonObject, type JsonObject } from '../../described-api/paths.ts';
import { asId, compilePaths, type Mapped, type RowMapper } from '../http/rows.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { fail } from './records.ts';
import { createZone, type LocalTimeRules, type Zone } from './timestamps.ts';

/** Known zones of a clinic's agendas and locations. */
export interface SiteZones {
  /** Returns the zone of the agenda, otherwise of the location; null if both are unknown. */
  nameOf(agendaId: string | null, locationId: string | null): string | null;
  /** All known zones of locations and rows except the profile's: possible zones of a local time. */
  readonly names: ReadonlySet<string>;
  /** Identifies the zones used for rows, for caches. */
  readonly digest: string;
  /** Receives a row with local times, and the zone used for them. */
  saw?(row: JsonObject, zone: string): void;
  /** Receives any row. */
  sawRow?(row: JsonObject): void;
}

/** Maximum cached zones of rows: a country has a few. */
const MOST_ZONES = 50;

/** No zones of agendas or locations. */
export const NO_SITE_ZONES: SiteZones = { nameOf: () => null, names: new Set(), digest: '' };

/** Reads a clinic's agendas and locations. */
export type LoadSites = (
  signal: AbortSignal,
) => Promise<{ agendas: readonly Agenda[]; locations: readonly Location[] }>;

/** One process's knowledge of zones in one tenant's rows. */
export interface ZoneCache {
  /** Set after a row with a local time but no zone: from then on agendas and locations are read first. */
  needsSites: boolean;
  /** Zones contained in rows. */
  ofRows: Set<string>;
}

/** Input of a request with rows. */
export interface ZonedQuestion {
  stored: ZoneCache;
  load: LoadSites;
  usual: string;
  isLocal: boolean;
  saw?: SiteZones['saw'];
  sawRow?: SiteZones['sawRow'];
}

/** Creates an empty cache. */
export function createZoneCache(): ZoneCache {
  return { needsSites: false, ofRows: new Set() };
}

/**
 * Sends a request for appointment rows and reads them in the zones of their locations. Agendas and locations are read only if a row
 * requires them.
 * @param usual the profile's zone
 * @param isLocal whether the request contains local times: it is repeated if a row has an unexpected zone
 */
export async function askInZones<Answer>(
  { stored, load, usual, isLocal, saw, sawRow }: ZonedQuestion,
  signal: AbortSignal,
  ask: (sites: SiteZones) => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    const needed = stored.needsSites;
    const zones = needed ? zonesOf(await load(signal)) : null;
    const names = new Set([...(zones?.names ?? []), ...stored.ofRows]);
    const allowed = names.size;
    const answer = await ask({
      nameOf(agendaId, locationId) {
        if (zones === null) stored.needsSites = true;
        return zones?.nameOf(agendaId, locationId) ?? null;
      },
      names,
      digest: zones?.digest ?? '',
      saw(row, zone) {
        if (zone !== usual && !names.has(zone) && stored.ofRows.size < MOST_ZONES) {
          stored.ofRows.add(zone);
          names.add(zone);
        }
        saw?.(row, zone);
      },
      ...(sawRow !== undefined && { sawRow }),
    });
    const isAllowed = !isLocal || names.size === allowed;
    if (stored.needsSites === needed && isAllowed) return answer;
    // If agendas and locations have no other zone, the result remains valid.
    if (isAllowed && isUsual(zonesOf(await load(signal)), usual)) return answer;
  }
}

function isUsual({ reported }: StatedZones, usual: string): boolean {
  return [...reported].every((name) => name === usual);
}

interface StatedZones extends Omit<SiteZones, 'saw'> {
  /** All reported zones, unknown names included. */
  reported: ReadonlySet<string>;
}

function zonesOf({ agendas, locations }: Awaited<ReturnType<LoadSites>>): StatedZones {
  const ofLocations = new Map(locations.flatMap(({ id, zone, unknownZone }) => pair(id, unknownZone ?? zone)));
  const ofAgendas = new Map(agendas.flatMap(({ id, zone }) => pair(id, zone ?? null)));
  const locationOf = new Map(agendas.flatMap(({ id, locationId }) => pair(id, locationId)));
  const stated = new Set([...ofLocations.values(), ...ofAgendas.values()]);
  const text = JSON.stringify([ofLocations, ofAgendas, locationOf].map((each) => [...each].sort()));
  return {
    nameOf(agendaId, locationId) {
      const own = agendaId === null ? undefined : ofAgendas.get(agendaId);
      return own ?? ofLocations.get(locationId ?? locationOf.get(agendaId ?? '') ?? '') ?? null;
    },
    reported: stated,
    names: new Set([...stated].flatMap((name) => ianaZone(name) ?? [])),
    digest: stated.size === 0 ? '' : createHash('sha256').update(text).digest('base64url'),
  };
}

function pair(id: string, value: string | null): [string, string][] {
  return value === null ? [] : [[id, value]];
}

/** Converts an appointment row, in the zone of its location if the row has none. */
export type ZonedMapper<Model> = (row: unknown, sites?: SiteZones) => Mapped<Model>;

/**
 * Zone of the current row: the zone of the row, its agenda, its location or the profile, in this order. The zone is determined at the first
 * local time: a row without local times needs no zone. A row with a local time and a zone unknown to IANA and Windows is skipped with the code
 * `unknown-zone`.
 */
export class RowZone implements Zone {
  readonly #usual: string;
  readonly #nameIn: (row: JsonObject, sites: SiteZones) => string | null;
  readonly #zones = new Map<string, Zone>();
  #row: JsonObject = {};
  #siteZones: SiteZones = NO_SITE_ZONES;
  #current: Zone | null = null;

  constructor(profile: Pick<ClinicProfile, 'zone' | 'appointments'>) {
    this.#usual = profile.zone;
    this.#nameIn = compileNameOfZone(profile);
  }

  begin(row: unknown, sites: SiteZones): void {
    this.#row = isJsonObject(row) ? row : {};
    this.#siteZones = sites;
    this.#current = null;
  }

  /** Wraps a mapper so that it reads each row in the row's zone. */
  within<Model>(map: RowMapper<Model>): ZonedMapper<Model> {
    return (row, sites = NO_SITE_ZONES) => {
      this.begin(row, sites);
      sites.sawRow?.(this.#row);
      return map(row);
    };
  }

  offsetAt(instant: Instant): number {
    return this.#zone().offsetAt(instant);
  }

  instantOf(wallMs: number, rules: LocalTimeRules): Instant | null {
    return this.#zone().instantOf(wallMs, rules);
  }

  startOfDay(dateMs: number): Instant {
    return this.#zone().startOfDay(dateMs);
  }

  #zone(): Zone {
    this.#current ??= this.#find();
    return this.#current;
  }

  #find(): Zone {
    const stated = this.#nameIn(this.#row, this.#siteZones) ?? this.#usual;
    const name = ianaZone(stated) ?? fail('unknown-zone', 'zone');
    const rowZone = this.#zones.get(name) ?? createZone(name);
    this.#zones.set(name, rowZone);
    this.#siteZones.saw?.(this.#row, name);
    return rowZone;
  }
}

function compileNameOfZone({ appointments: { fields } }: Pick<ClinicProfile, 'appointments'>) {
  const [zone, location] = [fields.zone, fields.locationId].map((paths) => compilePaths(paths));
  const agendas = compileAll(fields.agendaId);
  return (row: JsonObject, sites: SiteZones): string | null => {
    const stated = zone?.(row) ?? null;
    if (typeof stated === 'string' && stated.trim() !== '') return stated.trim();
    if (stated !== null && stated !== '' && typeof stated !== 'string') return fail('unknown-zone', 'zone');
    return sites.nameOf(asId(agendas(row)[0]), asId(location?.(row)));
  };
}
