import type { CrmFile } from '../../settings/crm-schema.ts';
import { CRM_SOURCES } from '../../settings/crm-sources.ts';
import type { MappingSource } from './contract.ts';
import type { ExpressionInput } from './expressions.ts';
import { consentPaths, type FieldRules, fieldReader } from './fields.ts';
import { asProperty } from './transforms.ts';

/**
 * How the tree is made that expressions of a target read: every field that is not sensitive, and the sensitive ones that the target
 * allows. Empty fields are left out, since JSONata makes the text "null" of null. Instants are ISO 8601 in UTC.
 */
export function inputReader(
  { stream, sensitive }: Pick<CrmFile, 'stream' | 'sensitive'>,
  rules: FieldRules,
): (source: MappingSource) => ExpressionInput {
  const fields = Object.entries(CRM_SOURCES[stream])
    .filter(([path, source]) => !source.sensitive || sensitive.has(path))
    .map(([path, { kind }]) => ({ keys: path.split('.'), kind, read: fieldReader(stream, path, rules) }));
  return (source) => {
    const tree: Tree = new Map();
    for (const { keys, kind, read } of fields) put(tree, keys, asProperty(read(source), kind));
    for (const path of consentPaths(source)) {
      const name = path.slice(path.indexOf('.') + 1);
      put(tree, ['consents', name], fieldReader(stream, path, rules)(source));
    }
    return asObject(tree);
  };
}

type Tree = Map<string, unknown>;

function put(tree: Tree, [key, ...rest]: readonly string[], value: unknown): void {
  if (key === undefined || value === null) return;
  if (rest.length === 0) {
    tree.set(key, value);
    return;
  }
  const branch = tree.get(key) ?? new Map();
  if (!(branch instanceof Map)) return;
  put(branch, rest, value);
  tree.set(key, branch);
}

/** Own properties alone, whatever the names: `Object.fromEntries` defines them and never calls a setter. */
function asObject(tree: Tree): ExpressionInput {
  return Object.fromEntries([...tree].map(([key, value]) => [key, value instanceof Map ? asObject(value) : value]));
}
