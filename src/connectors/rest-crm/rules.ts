import type { PropertyRule } from '../fitting.ts';
import type { CrmResource } from './description.ts';
import { valueAt } from './json-paths.ts';
import { type Fields, listedName } from './preparing.ts';
import type { Scope } from './scope.ts';

/** What properties take by the description alone. */
export function rulesDescribed(resource: CrmResource | undefined): Map<string, PropertyRule> {
  return new Map(Object.entries(resource?.limits ?? {}));
}

/**
 * What the CRM tells of the mapped properties with its fields, and the description of others. Of a property within a property it tells
 * nothing: the field that is listed is another.
 */
export function rulesTold(
  scope: Scope,
  fields: Fields,
  described: ReadonlyMap<string, unknown>,
): [string, PropertyRule][] {
  const { limits } = scope.resource;
  return scope.properties.flatMap(({ name }): [string, PropertyRule][] => {
    const field = listedName(scope, fields, name) === name ? described.get(name) : undefined;
    if (field === undefined) return [];
    const at = (path: string | undefined) => (path === undefined ? undefined : valueAt(field, path));
    const longest = at(fields.longest);
    const type = String(at(fields.type) ?? '');
    const told = {
      longest: typeof longest === 'number' && longest > 0 ? longest : undefined,
      form: Object.hasOwn(fields.forms, type) ? fields.forms[type] : undefined,
      required: at(fields.required) === true,
    };
    return [[name, { ...told, ...limits[name] }]];
  });
}
