/** Renders the reference of the clinic profile. */
import { firstName, renderSettings, type SchemaKey } from './schema-table.ts';

/** One table per list follows these settings, which all lists share. */
const ANY_LIST = '<list>';

/**
 * Renders the settings of a profile: one heading per setting, shared settings of lists once, and the fields of each list as a table.
 * @param lists names of the clinic API's lists
 */
export function renderProfile(keys: readonly SchemaKey[], lists: readonly string[]): string {
  const shared = sharedKeys(keys, lists);
  const isList = ({ path }: SchemaKey) => lists.includes(firstName(path));
  const isField = ({ path }: SchemaKey) => /^\w+\.(fields|words)(\.|$)|\.fields\./.test(path);
  const isShared = ({ path }: SchemaKey) => shared.some((key) => key.path === relative(path));
  const general = keys.filter((key) => !isList(key) && !isField(key));
  const tables = [...new Set(keys.map(({ path }) => firstName(path)))].map((name) => {
    const own = keys.filter(({ path }) => firstName(path) === name);
    const fields = own.filter((key) => isField(key) && key.values !== '');
    const settings = lists.includes(name) ? own.filter((key) => !isField(key) && !isShared(key)) : [];
    if (fields.length === 0 && settings.length === 0) return '';
    const parts = [`### Fields of \`${name}\``, ...(fields.length === 0 ? [] : [renderFields(fields)])];
    return [
      ...parts,
      ...settings.map((key) => renderSettings([{ ...key }], 4).replace(/^#### `\w+`\n\n#+/, '####')),
    ].join('\n\n');
  });
  return [
    '## General settings',
    renderSettings(general, 3),
    '## Settings of every list',
    `\`${ANY_LIST}\` is one of ${lists.map((name) => `\`${name}\``).join(', ')}.`,
    ...shared.map((key) => heading({ ...key, path: `${ANY_LIST}.${key.path}` })),
    '## Fields and special settings of each part',
    ...tables.filter((text) => text !== ''),
  ].join('\n\n');
}

function heading(key: SchemaKey): string {
  return renderSettings([key], 2).replace(/^## `[^`]*`\n\n/, '');
}

/** Returns the settings that every list has, with paths relative to the list. */
function sharedKeys(keys: readonly SchemaKey[], lists: readonly string[]): SchemaKey[] {
  const [first = ''] = lists;
  return keys
    .filter(({ path }) => firstName(path) === first && !/^\w+\.(fields|words)\./.test(path))
    .map((key) => ({ ...key, path: relative(key.path) }))
    .filter(({ path }) => path !== 'fields' && path !== '')
    .filter(({ path }) =>
      lists.every((list) => keys.some((key) => key.path === `${list}.${path}` || path === 'words')),
    );
}

function relative(path: string): string {
  return path.slice(firstName(path).length + 1);
}

/** Renders paths of fields and translations of values without repeated descriptions. */
function renderFields(keys: readonly SchemaKey[]): string {
  const lines = keys.map(({ path, fallback }) => `| \`${path}\` | ${fallback === null ? '–' : `\`${fallback}\``} |`);
  return ['| field | default |', '|---|---|', ...lines].join('\n');
}
