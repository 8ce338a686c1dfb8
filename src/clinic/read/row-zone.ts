import type { Instant } from '../../model/time.ts';
import { isZone } from '../../model/zones.ts';
import { asId, compilePaths, isJsonObject, type JsonObject, type Mapped, type RowMapper } from '../http/rows.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { NO_PLACES, type PlaceZones } from './place-zones.ts';
import { fail } from './records.ts';
import { createZone, type LocalTimeRules, type Zone } from './zone.ts';

/** Makes a record of a row of appointments, in the zone of its place where the row tells none. */
export type PlacedMapper<Model> = (row: unknown, places?: PlaceZones) => Mapped<Model>;

/**
 * The zone of the row that is being read or written: the row's own, else its agenda's, else its location's, else the profile's. The zone is
 * looked for with the first local time, so that a row without one costs nothing and needs none. A row with a local time and a zone that
 * IANA does not name is set aside with the code `unknown-zone`.
 */
export class RowZone implements Zone {
  readonly #usual: string;
  readonly #nameIn: (row: JsonObject, places: PlaceZones) => string | null;
  readonly #zones = new Map<string, Zone>();
  #row: JsonObject = {};
  #places: PlaceZones = NO_PLACES;
  #current: Zone | null = null;

  constructor(profile: Pick<ClinicProfile, 'zone' | 'appointments'>) {
    this.#usual = profile.zone;
    this.#nameIn = compileNameOfZone(profile);
  }

  begin(row: unknown, places: PlaceZones): void {
    this.#row = isJsonObject(row) ? row : {};
    this.#places = places;
    this.#current = null;
  }

  /** Has a mapper read each row in its own zone. */
  within<Model>(map: RowMapper<Model>): PlacedMapper<Model> {
    return (row, places = NO_PLACES) => {
      this.begin(row, places);
      places.sawRow?.(this.#row);
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
    const name = this.#nameIn(this.#row, this.#places) ?? this.#usual;
    const known = this.#zones.get(name) ?? (isZone(name) ? createZone(name) : fail('unknown-zone', 'zone'));
    this.#zones.set(name, known);
    this.#places.saw?.(this.#row, name);
    return known;
  }
}

function compileNameOfZone({ appointments: { fields } }: Pick<ClinicProfile, 'appointments'>) {
  const [zone, agenda, location] = [fields.zone, fields.agendaId, fields.locationId].map((paths) =>
    compilePaths(paths),
  );
  return (row: JsonObject, places: PlaceZones): string | null => {
    const told = zone?.(row) ?? null;
    if (typeof told === 'string' && told.trim() !== '') return told.trim();
    if (told !== null && told !== '' && typeof told !== 'string') return fail('unknown-zone', 'zone');
    return places.nameOf(asId(agenda?.(row)), asId(location?.(row)));
  };
}
