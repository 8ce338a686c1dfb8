import { type Choices, chooseAll, type ListOption } from '../options.ts';
import { errors } from './errors.ts';
import { valueAt } from './json-paths.ts';
import { listedName, listFields } from './preparing.ts';
import type { Scope } from './scope.ts';

/** Whether the mapping names words that may stand in lists of the CRM, and the description says where those are. */
export function hasChoices({ resource, properties }: Scope): boolean {
  return resource.fields?.options !== undefined && properties.some(({ words = [] }) => words.length > 0);
}

/**
 * What the words of the mapping stand for in the CRM's lists: pipelines, stages and every other one may be named as people see them. A property
 * without a list takes what it is given.
 * @throws MirrorError `settings`, code `option-missing`, that lists the names there are
 */
export async function readChoices(scope: Scope): Promise<Map<string, Choices>> {
  const { fields } = scope.resource;
  if (fields === undefined) return new Map();
  const listed = new Map(await listFields(scope, fields));
  return await chooseAll(
    errors,
    scope.properties,
    ({ name }) => optionsOf(listed.get(listedName(scope, fields, name)), fields.options),
    (name) => name,
  );
}

type Options = NonNullable<Scope['resource']['fields']>['options'];

function optionsOf(field: unknown, options: Options): ListOption[] {
  const list = options === undefined ? undefined : valueAt(field, options.at);
  if (options === undefined || !Array.isArray(list)) return [];
  const textAt = (one: unknown, path: string) => {
    const text = valueAt(one, path);
    return typeof text === 'string' && text !== '' ? text : null;
  };
  return list.flatMap((one): ListOption[] => {
    const value = textAt(one, options.value);
    return value === null ? [] : [{ value, label: textAt(one, options.label) ?? value }];
  });
}
