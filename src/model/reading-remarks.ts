/**
 * What a reading of the clinic showed of its profile, without a loss:
 * - `zone-unread`: a field holds names of zones other than the one that the rows are read in, and the profile does not name the field;
 * - `path-empty`: a path of the profile found nothing in any row of a whole reading.
 */
export interface ReadingRemark {
  code: 'zone-unread' | 'path-empty';
  list: 'appointments' | 'agendas' | 'locations' | 'patients';
  /** The profile's name of the field. */
  field: string;
  /** Where it is in a row. */
  path: string;
  rows: number;
  /** Of `zone-unread`: the names that were found. */
  zones?: readonly string[];
}

/** Tells a person what a remark means, and what to set. */
export function sentenceOfRemark({ code, list, field, path, rows, zones = [] }: ReadingRemark): string {
  const counted = `${rows} ${rows === 1 ? 'row' : 'rows'}`;
  if (code === 'path-empty') {
    return `${list}.fields.${field}: the path ${path} found nothing in ${counted}; correct the path in the clinic profile`;
  }
  const named = zones.slice(0, 3).join(', ');
  return `${list}: ${path} names the zone ${named} in ${counted}, and local times are read in another one; if it is their zone, add ${path} to ${list}.fields.zone in the clinic profile`;
}
