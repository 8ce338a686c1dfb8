import type { ObjectName } from './limits.ts';

/** Where the calls of the API begin, in the version of the settings. */
export interface Paths {
  account: string;
  objects(object: ObjectName): string;
  properties(object: ObjectName): string;
  associations(from: ObjectName, to: ObjectName): string;
}

/** The paths of a version: v3, in which associations are v4, or a dated one (developers.hubspot.com, versioning). */
export function pathsOf(version: string): Paths {
  const isDated = version !== 'v3';
  const below = (part: string, numbered: string) => (isDated ? `/crm/${part}/${version}` : `/crm/${numbered}/${part}`);
  return {
    account: `/account-info/${version}/details`,
    objects: (object) => `${below('objects', 'v3')}/${object}`,
    properties: (object) => `${below('properties', 'v3')}/${object}`,
    associations: (from, to) => `${below('associations', 'v4')}/${from}/${to}`,
  };
}
