import type { PropertyRule } from '../fitting.ts';
import type { CrmResource } from './description.ts';
import { valueAt } from './json-paths.ts';
import type { Scope } from './scope.ts';

/** What properties take by the description alone. */
export function rulesDescribed(resource: CrmResource | undefined): Map<string, PropertyRule> {
  return new Map(Object.entries(resource?.limits ?? {}));
}

/**
 * What the CRM tells of the mapped properties with its fields, and the description of others.
 * @param fieldOf what the CRM lists of a property itself; undefined for a part of a field, of which it tells nothing
 */
export function rulesTold(
  { properties, resource: { limits } }: Pick<Scope, 'properties' | 'resource'>,
  fields: NonNullable<CrmResource['fields']>,
  fieldOf: (name: string) => unknown,
): [string, PropertyRule][] {
  return properties.flatMap(({ name }): [string, PropertyRule][] => {
    const field = fieldOf(name);
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
