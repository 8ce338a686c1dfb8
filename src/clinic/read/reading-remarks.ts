import type { Appointment } from '../../core/model/records.ts';
import type { ReadingRemark } from '../../core/model/run-schemas.ts';
import type { Snapshot } from '../../core/model/snapshots.ts';
import { isZone } from '../../core/model/time.ts';
import { ianaOfWindows, ianaZone, usualZoneOf } from '../../core/model/zone-names.ts';
import { isJsonObject, type JsonObject, leadsIn, type PathStep, parsePath } from '../../described-api/paths.ts';
import { APART, type RowMapper } from '../http/rows.ts';
import type { Shape } from '../schema/fields.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { RESOURCES, type ResourceName } from '../schema/resources.ts';
import { compileAppointmentRows } from './appointment-rows.ts';
import { NO_SITE_ZONES } from './place-zones.ts';
import { severalValuesIn } from './several-values.ts';

/** Maximum depth of objects within a row that are searched for zones. */
const DEEPEST = 3;
/** Maximum paths, and zones of one path, in remarks. */
const MOST_REMARKED = 20;
/** Only zones of a region, and UTC, are certain to be zones: country names such as "Japan" are IANA names too. */
const ZONE = /^(?:UTC|[A-Z][A-Za-z]+(?:\/[A-Z][\w+-]*){1,2})$/;

/** Lists whose rows are inspected. */
type InspectedList = 'appointments' | 'agendas' | 'locations' | 'patients';

/** Collects zones in fields that the profile does not declare as zones, and `EST`, `MST` and `HST` in those, for one list's rows. */
export class UnreadZones {
  readonly #list: InspectedList;
  readonly #named: ReadonlySet<string>;
  readonly #found = new Map<string, { zones: Set<string>; rows: number }>();

  /** @param named the profile's zone paths for these rows */
  constructor(list: InspectedList, named: readonly string[]) {
    this.#list = list;
    this.#named = new Set(named);
  }

  /** @param used zone used to read the row */
  look(row: unknown, used: string): void {
    for (const [path, zone] of zonesIn(row)) {
      if (
        usualZoneOf(zone) === null ? this.#named.has(path) || (ianaZone(zone) ?? zone) === used : !this.#named.has(path)
      )
        continue;
      const found = this.#found.get(path) ?? { zones: new Set<string>(), rows: 0 };
      // Paths and zones are the clinic's texts, and the report stores them.
      if (this.#found.size >= MOST_REMARKED && !this.#found.has(path)) continue;
      this.#found.set(path, found);
      if (found.zones.size < MOST_REMARKED) found.zones.add(zone);
      found.rows += 1;
    }
  }

  /** Limits the counts to the number of rows, because a row may be read several times. */
  ended(rows: number): void {
    for (const found of this.#found.values()) found.rows = Math.min(found.rows, rows);
  }

  remarks(): ReadingRemark[] {
    return [...this.#found].map(([path, { zones, rows }]) => {
      const code = this.#named.has(path) ? 'zone-fixed' : 'zone-unread';
      return { code, list: this.#list, field: 'zone', path, rows, zones: [...zones].sort() };
    });
  }
}

/**
 * Collects fields whose paths lead to no member in one list's rows. A member that is empty in every row is no fault. Fields with only the
 * paths of the documented profile are excluded: they are optional.
 */
export class EmptyPaths {
  readonly #list: InspectedList;
  readonly #open: { field: string; path: string; routes: PathStep[][] }[];
  /** Rows of the last complete read; 0 before, because rows with a value may still follow. */
  #rows = 0;

  constructor(list: InspectedList, profile: ClinicProfile) {
    this.#list = list;
    const shape: Shape = RESOURCES[list];
    this.#open = Object.entries(profile[list].fields).flatMap(([field, paths]: [string, readonly string[]]) => {
      const own = paths.filter((path) => shape[field]?.paths.includes(path) === false);
      const routes = paths.flatMap((path) => path.split(APART)).map(parsePath);
      return own.length === 0 ? [] : [{ field, path: own.join(', '), routes }];
    });
  }

  look(row: JsonObject): void {
    for (let at = this.#open.length - 1; at >= 0; at -= 1) {
      if (this.#open[at]?.routes.some((route) => leadsIn(row, route))) this.#open.splice(at, 1);
    }
  }

  ended(rows: number): void {
    this.#rows = rows;
  }

  remarks(): ReadingRemark[] {
    if (this.#rows === 0) return [];
    return this.#open.map(({ field, path }) => ({
      code: 'path-empty',
      list: this.#list,
      field,
      path,
      rows: this.#rows,
    }));
  }
}

/** Collects remarks about one tenant's profile from all reads of one process. */
export class RemarkCollectors {
  readonly #lists: ReadonlyMap<ResourceName, { paths: EmptyPaths; zones: UnreadZones | null }>;
  readonly #usual: string;
  readonly #appointments: ClinicProfile['appointments'];
  #severalValues: ReadingRemark[] = [];
  #ambiguousDates: ReadingRemark[] = [];

  constructor(profile: ClinicProfile) {
    const zonesOf = (list: 'appointments' | 'agendas' | 'locations') =>
      new UnreadZones(list, profile[list].fields.zone);
    this.#lists = new Map(
      (['appointments', 'agendas', 'locations', 'patients'] as const).map((list) => [
        list,
        { paths: new EmptyPaths(list, profile), zones: list === 'patients' ? null : zonesOf(list) },
      ]),
    );
    this.#usual = profile.zone;
    this.#appointments = profile.appointments;
  }

  /** Wraps a mapper so that the collectors inspect its rows. */
  countingRemarks<Model>(list: ResourceName, map: RowMapper<Model>): RowMapper<Model> {
    const collectors = this.#lists.get(list);
    if (collectors === undefined) return map;
    return (row) => {
      if (isJsonObject(row)) collectors.paths.look(row);
      collectors.zones?.look(row, this.#usual);
      return map(row);
    };
  }

  /** Inspects an appointment row with local times. @param zone used to read the times */
  sawLocal(row: JsonObject, zone: string): void {
    this.#lists.get('appointments')?.zones?.look(row, zone);
  }

  /** Inspects an appointment row for empty paths. */
  sawRow(row: JsonObject): void {
    this.#lists.get('appointments')?.paths.look(row);
  }

  /** Records a read with a proven end. */
  ended(list: ResourceName, rows: number): void {
    this.#lists.get(list)?.paths.ended(rows);
    this.#lists.get(list)?.zones?.ended(rows);
  }

  /** Counts appointments with a date of unknown order, and with further values that the profile does not use. */
  sawSnapshot({ unusable }: Snapshot<Appointment>, cut: readonly Appointment[]): void {
    this.#severalValues = severalValuesIn(cut, this.#appointments);
    const byField = Map.groupBy(
      unusable.filter(({ code }) => code === 'ambiguous-date'),
      ({ field }) => field,
    );
    this.#ambiguousDates = [...byField].map(([field, { length: rows }]) => {
      return { code: 'date-order', list: 'appointments', field, path: 'dateOrder', rows };
    });
  }

  all(): ReadingRemark[] {
    const lists = [...this.#lists.values()];
    return [
      ...this.#severalValues,
      ...this.#ambiguousDates,
      ...(usualZoneOf(this.#usual) === null ? [] : [fixedZone(this.#usual)]),
      ...lists.flatMap(({ zones }) => zones?.remarks() ?? []),
      ...lists.flatMap(({ paths }) => paths.remarks()),
    ];
  }
}

function fixedZone(zone: string): ReadingRemark {
  return { code: 'zone-fixed', list: 'appointments', field: 'zone', path: 'zone', rows: 0, zones: [zone] };
}

/** Returns remarks for appointment rows: values beyond the first, zones that the profile does not declare, and fields that no row has. */
export function remarksOf(rows: readonly unknown[], profile: ClinicProfile): ReadingRemark[] {
  const found = new UnreadZones('appointments', profile.appointments.fields.zone);
  const map = compileAppointmentRows(profile);
  const sites = { ...NO_SITE_ZONES, saw: (row: JsonObject, zone: string) => found.look(row, zone) };
  const records = rows.map((row) => map(row, sites)).flatMap((each) => ('record' in each ? [each.record] : []));
  const several = severalValuesIn(records, profile.appointments);
  return [...several, ...found.remarks(), ...emptyPathsIn('appointments', rows, profile)];
}

/** Returns the profile's fields whose paths lead to no member in the given rows of a list. */
export function emptyPathsIn(list: InspectedList, rows: readonly unknown[], profile: ClinicProfile): ReadingRemark[] {
  const paths = new EmptyPaths(list, profile);
  for (const row of rows) if (isJsonObject(row)) paths.look(row);
  paths.ended(rows.length);
  return paths.remarks();
}

function zonesIn(value: unknown, prefix = '', depth = 1): [path: string, zone: string][] {
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, one]): [string, string][] => {
    const path = `${prefix}${name}`;
    if (typeof one === 'string') return isZoneText(one) ? [[path, one]] : [];
    return depth < DEEPEST ? zonesIn(one, `${path}.`, depth + 1) : [];
  });
}

function isZoneText(text: string): boolean {
  return (ZONE.test(text) && isZone(text)) || ianaOfWindows(text) !== null || usualZoneOf(text) !== null;
}
