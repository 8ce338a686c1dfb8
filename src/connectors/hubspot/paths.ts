/** Where the calls of the API begin, in the version of the settings. */
export interface Paths {
  account: string;
  /** Of contacts, meetings, deals, or a custom object by its name or its type id. */
  objects(object: string): string;
  properties(object: string): string;
  /** Of deals or a custom object. */
  pipelines(object: string): string;
  associations(from: string, to: string): string;
  /** Who gets which mails. */
  communicationPreferences: string;
}

/**
 * The paths of a version by date.
 * @see https://developers.hubspot.com/docs/developer-tooling/platform/versioning
 */
export function pathsOf(version: string): Paths {
  return {
    account: `/account-info/${version}/details`,
    objects: (object) => `/crm/objects/${version}/${object}`,
    properties: (object) => `/crm/properties/${version}/${object}`,
    pipelines: (object) => `/crm/pipelines/${version}/${object}`,
    associations: (from, to) => `/crm/associations/${version}/${from}/${to}`,
    communicationPreferences: `/communication-preferences/${version}`,
  };
}
